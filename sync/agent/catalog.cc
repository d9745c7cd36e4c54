#include "sync/agent/catalog.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sync/kernel/json_bytes.h"

namespace kvorum::sync {
namespace {

std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json CheckJson(const CheckStatus& check) {
  return {{"id", check.id}, {"status", HealthName(check.health)}, {"output", check.output}};
}

Json DetailsJson(const std::string& details) {
  if (details.empty()) return Json::object();
  return ParseObject("the details", details).value_or(Json::object());
}

Json KeptChecksJson(const std::vector<KeptCheck>& checks) {
  Json json = Json::array();
  for (const KeptCheck& check : checks) {
    json.push_back(CheckJson(check.status));
    json.back()["details"] = DetailsJson(check.details);
  }
  return json;
}

}  // namespace

Health HealthOfRecord(const CatalogRecord& record) {
  Health worst = Health::kPassing;
  for (const CheckStatus& check : record.checks) worst = std::max(worst, check.health);
  return worst;
}

std::string EncodeRecord(const CatalogRecord& record) {
  Json json = {{"id", record.id}, {"name", record.name}};
  SetBytes(json, "value", record.value);
  Json checks = Json::array();
  for (const CheckStatus& check : record.checks) checks.push_back(CheckJson(check));
  json["checks"] = std::move(checks);
  return TextOf(json);
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

std::string EncodeKeptService(const KeptService& record) {
  Json json = {{"id", record.id}, {"name", record.name}};
  SetBytes(json, "value", record.value);
  json["details"] = DetailsJson(record.details);
  json["checks"] = KeptChecksJson(record.checks);
  return TextOf(json);
}

std::string EncodeKeptNode(const KeptNode& record) {
  return TextOf({{"is_external", record.is_external},
                 {"details", DetailsJson(record.details)},
                 {"checks", KeptChecksJson(record.checks)}});
}

CatalogRecord LeasedOf(const KeptService& record) {
  CatalogRecord leased{.id = record.id, .name = record.name, .value = record.value};
  for (const KeptCheck& check : record.checks) leased.checks.push_back(check.status);
  return leased;
}

}  // namespace kvorum::sync
