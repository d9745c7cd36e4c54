#include "api/downgrade.h"

#include <nlohmann/json.hpp>

#include "api/tables.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kDowngradeActions[] = {"VALIDATE", "ENABLE", "CANCEL"};
constexpr auto kDowngradeRequest =
    Describe<DowngradeRequest, Enum<1, &DowngradeRequest::action, kDowngradeActions, "action">,
             Text<2, &DowngradeRequest::version, "version">>("etcdserverpb.DowngradeRequest");
struct Answer {
  ResponseHeader header;
  std::string_view version;
};
constexpr auto kAnswer =
    Describe<Answer, Nested<1, &Answer::header, kResponseHeader, "header">,
             Text<2, &Answer::version, "version">>("etcdserverpb.DowngradeResponse");
constexpr auto kEntry =
    Describe<DowngradeInfo, Field<1, &DowngradeInfo::enabled, "enabled", kShown>,
             UncheckedText<2, &DowngradeInfo::target_version, "ver", kShown>>(
        "membershippb.DowngradeInfoSetRequest");

constexpr const wire::Table* kDowngradeTables[] = {&kDowngradeInfo, &kDowngradeRequest, &kAnswer,
                                                   &kEntry};

Error MalformedDowngradeInfo() {
  return {Code::kDataLoss, "the database's state of a downgrade is malformed"};
}

}  // namespace

constexpr wire::Message<DowngradeInfo> kDowngradeInfo =
    Describe<DowngradeInfo, Field<1, &DowngradeInfo::enabled, "enabled">,
             Text<2, &DowngradeInfo::target_version, "targetVersion">>(
        "etcdserverpb.DowngradeInfo");

MessageTables DowngradeTables() { return kDowngradeTables; }

Result<DowngradeRequest> DecodeDowngradeRequest(std::string_view bytes) {
  return wire::DecodeRequest(kDowngradeRequest, bytes);
}

SharedBytes EncodeDowngradeResponse(const ResponseHeader& header,
                                    std::string_view cluster_version) {
  return wire::EncodeShared(
      kAnswer,
      {.header = header, .version = cluster_version.substr(0, cluster_version.rfind('.'))});
}

std::string EncodeDowngradeEntry(const DowngradeInfo& info) { return wire::Encode(kEntry, info); }

Result<DowngradeInfo> DecodeDowngradeEntry(std::string_view bytes) {
  DowngradeInfo info;
  if (wire::Decode(kEntry, bytes, info) != wire::Decoded::kOk)
    return Fail(Code::kDataLoss, "a log entry's downgrade is malformed");
  if (!info.enabled) info.target_version.clear();
  return info;
}

std::string EncodeDowngradeJson(const DowngradeInfo& info) {
  const nlohmann::ordered_json json = {{"target-version", info.target_version},
                                       {"enabled", info.enabled}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<DowngradeInfo> DecodeDowngradeJson(std::string_view json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return std::unexpected(MalformedDowngradeInfo());
  DowngradeInfo info;
  if (const auto found = parsed.find("enabled"); found != parsed.end()) {
    if (!found->is_boolean()) return std::unexpected(MalformedDowngradeInfo());
    info.enabled = found->get<bool>();
  }
  if (const auto found = parsed.find("target-version"); found != parsed.end()) {
    if (!found->is_string()) return std::unexpected(MalformedDowngradeInfo());
    info.target_version = found->get<std::string>();
  }
  return info;
}

}  // namespace kvorum::server
