#include "sync/agent/catalog.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sync/kernel/json_bytes.h"

namespace kvorum::sync {

Health HealthOfRecord(const CatalogRecord& record) {
  Health worst = Health::kPassing;
  for (const CheckStatus& check : record.checks) worst = std::max(worst, check.health);
  return worst;
}

std::string EncodeRecord(const CatalogRecord& record) {
  Json json = {{"id", record.id}, {"name", record.name}};
  SetBytes(json, "value", record.value);
  Json checks = Json::array();
  for (const CheckStatus& check : record.checks) {
    checks.push_back(
        {{"id", check.id}, {"status", HealthName(check.health)}, {"output", check.output}});
  }
  json["checks"] = std::move(checks);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<CatalogRecord> DecodeRecord(std::string_view bytes) {
  KV_TRY(const Json json, ParseObject("the record", bytes));
  CatalogRecord record;
  KV_TRY(record.id, StringOf(json, "id"));
  KV_TRY(record.name, StringOf(json, "name"));
  KV_RETURN_IF_ERROR(ValidateName("the id", record.id));
  KV_RETURN_IF_ERROR(ValidateName("the name", record.name));
  KV_TRY(record.value, BytesOf(json, "value"));
  KV_TRY(const Json checks, ArrayOf(json, "checks"));
  for (const Json& check : checks) {
    CheckStatus status;
    KV_TRY(status.id, StringOf(check, "id"));
    KV_TRY(const std::string health, StringOf(check, "status"));
    KV_TRY(status.health, HealthOf(health));
    KV_TRY(status.output, StringOf(check, "output"));
    record.checks.push_back(std::move(status));
  }
  return record;
}

}  // namespace kvorum::sync
