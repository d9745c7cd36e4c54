#include "tools/utl/utl_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/text/human_bytes.h"
#include "datadir/database_status.h"
#include "mvcc/store/hash.h"
#include "tools/session/printer.h"
#include "tools/session/table.h"
#include "tools/text/json.h"

namespace kvorum::utl {
namespace {

using ctl::ExitCode;
using ctl::Outcome;
using ctl::Table;

// One number or text in each of its forms.
struct Item {
  std::string_view title;  // of the table
  std::string_view field;  // of the fields format
  std::string_view name;   // in JSON
  std::string shown;       // in table and simple format
  std::string plain;       // in the others
  bool is_text = false;
};

Outcome<void> Print(const ctl::Invocation& invocation, const std::vector<Item>& items) {
  const std::string& format = invocation.flags.String("write-out");
  std::ostream& out = invocation.world.out;
  if (format == "json") {
    ctl::JsonObject object;
    for (const Item& item : items)
      object.Add(item.name, item.is_text ? ctl::JsonString(item.plain) : item.plain);
    out << object.Finish() << '\n';
    return {};
  }
  if (format == "fields") {
    for (const Item& item : items) out << '"' << item.field << "\" : " << item.plain << '\n';
    return {};
  }
  if (format == "protobuf")
    return Fail(ExitCode::kBadFeature, "protobuf not supported as output format");
  Table table;
  table.rows.emplace_back();
  for (const Item& item : items) {
    table.header.emplace_back(item.title);
    table.rows.front().push_back(item.shown);
  }
  out << (format == "table" ? ctl::DrawTable(table) : ctl::JoinRows(table));
  return {};
}

Item NumberItem(std::string_view title, std::string_view field, std::string_view name,
                std::int64_t value) {
  const std::string text = std::to_string(value);
  return {.title = title, .field = field, .name = name, .shown = text, .plain = text};
}

Item TextItem(std::string_view title, std::string_view field, std::string_view name,
              const std::string& text) {
  return {
      .title = title, .field = field, .name = name, .shown = text, .plain = text, .is_text = true};
}

}  // namespace

Outcome<void> CheckFormat(const ctl::Invocation& invocation) {
  const auto& formats = ctl::PrinterFormats();
  if (std::ranges::find(formats, invocation.flags.String("write-out")) != formats.end()) return {};
  return Fail(ExitCode::kBadFeature, "unsupported output format");
}

Outcome<void> PrintStatus(const ctl::Invocation& invocation,
                          const datadir::DatabaseStatus& status) {
  return Print(invocation, {{.title = "hash",
                             .field = "Hash",
                             .name = "hash",
                             .shown = fmt::format("{:x}", status.hash),
                             .plain = std::to_string(status.hash)},
                            NumberItem("revision", "Revision", "revision", status.revision),
                            NumberItem("total keys", "Keys", "totalKey",
                                       static_cast<std::int64_t>(status.total_keys)),
                            {.title = "total size",
                             .field = "Size",
                             .name = "totalSize",
                             .shown = HumanBytes(status.total_size_bytes),
                             .plain = std::to_string(status.total_size_bytes)},
                            {.title = "version",
                             .field = "Version",
                             .name = "version",
                             .shown = status.version,
                             .plain = status.version,
                             .is_text = true}});
}

Outcome<void> PrintHashKv(const ctl::Invocation& invocation, const mvcc::KvHash& hash) {
  return Print(invocation,
               {NumberItem("hash", "Hash", "hash", hash.hash),
                NumberItem("hash revision", "Hash revision", "hashRevision", hash.revision),
                NumberItem("compact revision", "Compact revision", "compactRevision",
                           hash.compact_revision)});
}

Outcome<void> PrintRestored(const ctl::Invocation& invocation, const RestoredState& state) {
  return Print(invocation,
               {TextItem("history", "History", "history", state.history),
                NumberItem("index", "Index", "index", static_cast<std::int64_t>(state.index)),
                NumberItem("revision", "Revision", "revision", state.revision),
                TextItem("time", "Time", "time", state.time)});
}

}  // namespace kvorum::utl
