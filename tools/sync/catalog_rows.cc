#include "tools/sync/catalog_rows.h"

#include <nlohmann/json.hpp>

#include "sync/agent/entry.h"
#include "tools/text/json.h"

namespace kvorum::ctl {

std::string CatalogCell::Json() const { return is_number ? text : JsonString(text); }

std::string RowText(const CatalogRow& row) {
  std::string line;
  for (const CatalogCell& cell : row) {
    if (!line.empty()) line += '\t';
    line += sync::CleanOutput(cell.text);
  }
  return line;
}

std::string RowJson(const CatalogRow& row) {
  JsonObject object;
  for (const CatalogCell& cell : row) object.Add(cell.name, cell.Json());
  return object.Finish();
}

CatalogRow NodeRow(std::string_view node, std::string_view value) {
  return {{.name = "node", .text = std::string(node)},
          {.name = "value", .text = std::string(value)}};
}

CatalogRow ServiceRow(std::string_view name, std::int64_t instances) {
  return {{.name = "service", .text = std::string(name)},
          {.name = "instances", .text = std::to_string(instances), .is_number = true}};
}

std::string_view ServiceOf(std::string_view rest) { return rest.substr(0, rest.find('/')); }

Result<CatalogRow> InstanceRow(std::string_view rest, std::string_view record) {
  const std::size_t dot = rest.rfind('.');
  KV_TRY(const sync::CatalogRecord read, sync::DecodeRecord(record));
  if (dot == std::string_view::npos) return Fail(Code::kInvalidArgument, "its name is not NODE.ID");
  return CatalogRow{
      {.name = "node", .text = std::string(rest.substr(0, dot))},
      {.name = "id", .text = std::string(rest.substr(dot + 1))},
      {.name = "status", .text = std::string(sync::HealthName(sync::HealthOfRecord(read)))},
      {.name = "value", .text = read.value}};
}

bool IsCritical(const CatalogRow& instance) {
  return instance[2].text == sync::HealthName(sync::Health::kCritical);
}

}  // namespace kvorum::ctl
