#include "consul/model/records.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text/duration_text.h"
#include "base/text/parse_number.h"
#include "consul/model/ids.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::consul {
namespace {

using sync::Json;

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::unexpected<Error> Wrong(std::string_view name) {
  return Fail(Code::kInvalidArgument, "\"" + std::string(name) + "\" is of another type");
}

// The readers replace `value` if the object has the member, and fail if it is of another type.
Result<void> Read(const Json& json, const char* name, std::string& value) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  if (!found->is_string()) return Wrong(name);
  value = found->get<std::string>();
  return {};
}

Result<void> Read(const Json& json, const char* name, std::int64_t& value) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  const bool is_too_large =
      found->is_number_unsigned() &&
      found->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!found->is_number_integer() || is_too_large) return Wrong(name);
  value = found->get<std::int64_t>();
  return {};
}

Result<void> Read(const Json& json, const char* name, int& value) {
  std::int64_t wide = value;
  KV_RETURN_IF_ERROR(Read(json, name, wide));
  if (!std::in_range<int>(wide)) return Wrong(name);
  value = static_cast<int>(wide);
  return {};
}

Result<void> Read(const Json& json, const char* name, bool& value) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  if (!found->is_boolean()) return Wrong(name);
  value = found->get<bool>();
  return {};
}

Result<void> Read(const Json& json, const char* name, std::vector<std::string>& value) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  if (!found->is_array()) return Wrong(name);
  for (const Json& each : *found) {
    if (!each.is_string()) return Wrong(name);
    value.push_back(each.get<std::string>());
  }
  return {};
}

Result<void> Read(const Json& json, const char* name, std::map<std::string, std::string>& value) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  if (!found->is_object()) return Wrong(name);
  for (const auto& [key, each] : found->items()) {
    if (!each.is_string()) return Wrong(name);
    value[key] = each.get<std::string>();
  }
  return {};
}

Result<void> Read(const Json& json, const char* name, std::map<std::string, TaggedAddress>& value) {
  const auto found = json.find(name);
  if (found == json.end()) return {};
  if (!found->is_object()) return Wrong(name);
  for (const auto& [key, each] : found->items()) {
    if (!each.is_object()) return Wrong(name);
    TaggedAddress& address = value[key];
    KV_RETURN_IF_ERROR(Read(each, "address", address.address));
    KV_RETURN_IF_ERROR(Read(each, "port", address.port));
  }
  return {};
}

// Sets what is not empty.
void Set(Json& json, const char* name, const std::string& value) {
  if (!value.empty()) json[name] = value;
}

void Set(Json& json, const char* name, const std::map<std::string, std::string>& value) {
  if (!value.empty()) json[name] = value;
}

Json DetailsJson(const ServiceDetails& details) {
  Json json = Json::object();
  Set(json, "kind", details.kind);
  // Always there: what is empty is an entry of our own.
  json["tags"] = details.tags;
  Set(json, "address", details.address);
  for (const auto& [name, tagged] : details.tagged_addresses)
    json["tagged_addresses"][name] = {{"address", tagged.address}, {"port", tagged.port}};
  Set(json, "meta", details.meta);
  if (details.port != 0) json["port"] = details.port;
  Set(json, "socket_path", details.socket_path);
  if (details.weight_passing != 1) json["weight_passing"] = details.weight_passing;
  if (details.weight_warning != 1) json["weight_warning"] = details.weight_warning;
  if (details.enable_tag_override) json["enable_tag_override"] = true;
  return json;
}

Json DetailsJson(const NodeDetails& details) {
  Json json = Json::object();
  Set(json, "id", details.id);
  Set(json, "address", details.address);
  Set(json, "tagged_addresses", details.tagged_addresses);
  Set(json, "meta", details.meta);
  return json;
}

Json DetailsJson(const CheckRecord& check) {
  Json json = Json::object();
  Set(json, "name", check.name);
  Set(json, "notes", check.notes);
  Set(json, "type", check.type);
  Set(json, "interval", check.interval);
  Set(json, "timeout", check.timeout);
  Json definition = Json::parse(check.definition, nullptr, /*allow_exceptions=*/false);
  if (definition.is_object() && !definition.empty()) json["definition"] = std::move(definition);
  if (check.deregister_after_ns != 0) json["deregister_after_ns"] = check.deregister_after_ns;
  return json;
}

Result<ServiceDetails> ServiceDetailsOf(const Json& json) {
  ServiceDetails details;
  KV_RETURN_IF_ERROR(Read(json, "kind", details.kind));
  KV_RETURN_IF_ERROR(Read(json, "tags", details.tags));
  KV_RETURN_IF_ERROR(Read(json, "address", details.address));
  KV_RETURN_IF_ERROR(Read(json, "tagged_addresses", details.tagged_addresses));
  KV_RETURN_IF_ERROR(Read(json, "meta", details.meta));
  KV_RETURN_IF_ERROR(Read(json, "port", details.port));
  KV_RETURN_IF_ERROR(Read(json, "socket_path", details.socket_path));
  KV_RETURN_IF_ERROR(Read(json, "weight_passing", details.weight_passing));
  KV_RETURN_IF_ERROR(Read(json, "weight_warning", details.weight_warning));
  KV_RETURN_IF_ERROR(Read(json, "enable_tag_override", details.enable_tag_override));
  return details;
}

Result<NodeDetails> NodeDetailsOf(const Json& json) {
  NodeDetails details;
  KV_RETURN_IF_ERROR(Read(json, "id", details.id));
  KV_RETURN_IF_ERROR(Read(json, "address", details.address));
  KV_RETURN_IF_ERROR(Read(json, "tagged_addresses", details.tagged_addresses));
  KV_RETURN_IF_ERROR(Read(json, "meta", details.meta));
  return details;
}

Result<CheckRecord> CheckDetailsOf(std::string_view id, const Json& json) {
  CheckRecord check{.id = std::string(id), .name = std::string(id)};
  KV_RETURN_IF_ERROR(Read(json, "name", check.name));
  KV_RETURN_IF_ERROR(Read(json, "notes", check.notes));
  KV_RETURN_IF_ERROR(Read(json, "type", check.type));
  KV_RETURN_IF_ERROR(Read(json, "interval", check.interval));
  KV_RETURN_IF_ERROR(Read(json, "timeout", check.timeout));
  KV_RETURN_IF_ERROR(Read(json, "deregister_after_ns", check.deregister_after_ns));
  if (const auto found = json.find("definition"); found != json.end()) {
    if (!found->is_object()) return Wrong("definition");
    if (!found->empty()) check.definition = Text(*found);
  }
  return check;
}

// A member that is an object; an empty one if there is none.
Result<Json> ObjectOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return Json::object();
  if (!found->is_object()) return Wrong(name);
  return *found;
}

// A name that cannot be encoded was refused where it came from; as itself it does no harm here.
std::string Encoded(std::string_view name) { return EncodeName(name).value_or(std::string(name)); }

Json ChecksJson(const std::vector<CheckRecord>& checks) {
  Json list = Json::array();
  for (const CheckRecord& check : checks) {
    list.push_back({{"id", Encoded(check.id)},
                    {"status", sync::HealthName(check.health)},
                    {"output", check.output},
                    {"details", DetailsJson(check)}});
  }
  return list;
}

Result<std::vector<CheckRecord>> ChecksOf(const Json& json) {
  std::vector<CheckRecord> checks;
  KV_TRY(const Json list, sync::ArrayOf(json, "checks"));
  for (const Json& each : list) {
    if (!each.is_object()) return Wrong("checks");
    KV_TRY(const std::string id, sync::StringOf(each, "id"));
    KV_TRY(const Json details, ObjectOf(each, "details"));
    KV_TRY(CheckRecord check, CheckDetailsOf(DecodePart(id), details));
    KV_TRY(const std::string status, sync::StringOf(each, "status"));
    KV_TRY(check.health, sync::HealthOf(status));
    KV_RETURN_IF_ERROR(Read(each, "output", check.output));
    checks.push_back(std::move(check));
  }
  return checks;
}

// 10.0.0.1:80, host:80, [::1]:80.
void TakeAddressOf(std::string_view value, ServiceDetails& details) {
  const std::size_t colon = value.rfind(':');
  if (colon == std::string_view::npos) return;
  const auto port = ParseNumber<std::uint16_t>(value.substr(colon + 1));
  std::string_view host = value.substr(0, colon);
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  constexpr std::size_t kLongestHost = 255;
  const bool is_host = !host.empty() && host.size() <= kLongestHost &&
                       (is_bracketed || !host.contains(':')) &&
                       host.find_first_of("/ []\t\n\"") == std::string_view::npos;
  if (!port.has_value() || !is_host) return;
  details.address = host;
  details.port = *port;
}

// Splits "A/B" at its only slash.
std::optional<std::pair<std::string_view, std::string_view>> Halves(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return {};
  if (text.find('/', slash + 1) != std::string_view::npos) return {};
  return std::pair(text.substr(0, slash), text.substr(slash + 1));
}

}  // namespace

std::string EncodeServiceDetails(const ServiceDetails& details) {
  return Text(DetailsJson(details));
}

std::string EncodeNodeDetails(const NodeDetails& details) { return Text(DetailsJson(details)); }

std::string EncodeCheckDetails(const CheckRecord& check) { return Text(DetailsJson(check)); }

Result<ServiceDetails> DecodeServiceDetails(std::string_view details) {
  if (details.empty()) return ServiceDetails{};
  KV_TRY(const Json json, sync::ParseObject("the details", details));
  return ServiceDetailsOf(json);
}

Result<NodeDetails> DecodeNodeDetails(std::string_view details) {
  if (details.empty()) return NodeDetails{};
  KV_TRY(const Json json, sync::ParseObject("the details", details));
  return NodeDetailsOf(json);
}

Result<CheckRecord> DecodeCheckDetails(std::string_view id, std::string_view details) {
  if (details.empty()) return CheckDetailsOf(id, Json::object());
  KV_TRY(const Json json, sync::ParseObject("the details", details));
  return CheckDetailsOf(id, json);
}

std::string_view CheckTypeOf(sync::CheckKind kind) {
  return kind == sync::CheckKind::kExec ? "script" : sync::CheckKindName(kind);
}

CheckRecord RecordOf(const sync::Check& check) {
  const sync::CheckDefinition& definition = check.definition;
  const std::string id = DecodePart(definition.id);
  auto record = DecodeCheckDetails(id, definition.details);
  if (!record) record = CheckRecord{.id = id, .name = id};
  if (definition.details.empty()) {
    record->type = CheckTypeOf(definition.kind);
    if (definition.kind != sync::CheckKind::kTtl)
      record->interval = FormatDuration(definition.interval);
  }
  record->health = check.health;
  record->output = check.output;
  return *std::move(record);
}

ServiceRecord RecordOf(std::string_view node, const sync::Entry& entry) {
  ServiceRecord record{
      .node = std::string(node), .id = DecodePart(entry.id), .name = DecodePart(entry.name)};
  if (entry.details.empty())
    TakeAddressOf(entry.value, record.details);
  else if (auto details = DecodeServiceDetails(entry.details))
    record.details = *std::move(details);
  for (const sync::Check& check : entry.checks) record.checks.push_back(RecordOf(check));
  return record;
}

std::string EncodeNode(const NodeRecord& record) {
  return Text({{"is_external", record.is_external},
               {"details", DetailsJson(record.details)},
               {"checks", ChecksJson(record.checks)}});
}

std::string EncodeService(const ServiceRecord& record) {
  return Text({{"id", EncodeId(record.id).value_or(record.id)},
               {"name", Encoded(record.name)},
               {"details", DetailsJson(record.details)},
               {"checks", ChecksJson(record.checks)}});
}

std::string EncodeSession(const SessionRecord& record) {
  return Text({{"id", record.id},
               {"name", record.name},
               {"node", record.node},
               {"lock_delay_ns", record.lock_delay_ns},
               {"behavior", record.behavior},
               {"ttl", record.ttl},
               {"node_checks", record.node_checks},
               {"service_checks", record.service_checks}});
}

Result<NodeRecord> DecodeNode(std::string_view node, std::string_view bytes) {
  KV_TRY(const Json json, sync::ParseObject("the node's record", bytes));
  NodeRecord record{.node = std::string(node)};
  KV_RETURN_IF_ERROR(Read(json, "is_external", record.is_external));
  KV_TRY(const Json details, ObjectOf(json, "details"));
  KV_TRY(record.details, NodeDetailsOf(details));
  KV_TRY(record.checks, ChecksOf(json));
  return record;
}

Result<ServiceRecord> DecodeService(std::string_view node, std::string_view id,
                                    std::string_view bytes) {
  KV_TRY(const Json json, sync::ParseObject("the service's record", bytes));
  ServiceRecord record{.node = std::string(node), .id = std::string(id), .name = {}};
  KV_TRY(const std::string name, sync::StringOf(json, "name"));
  if (name.empty()) return Fail(Code::kInvalidArgument, "\"name\" is empty");
  record.name = DecodePart(name);
  KV_TRY(const Json details, ObjectOf(json, "details"));
  KV_TRY(record.details, ServiceDetailsOf(details));
  if (details.empty()) {
    const auto value = json.find("value");
    if (value != json.end() && value->is_string())
      TakeAddressOf(value->get_ref<const std::string&>(), record.details);
  }
  KV_TRY(record.checks, ChecksOf(json));
  return record;
}

Result<SessionRecord> DecodeSession(std::string_view id, std::string_view bytes) {
  KV_TRY(const Json json, sync::ParseObject("the session's record", bytes));
  SessionRecord record{.id = std::string(id), .node = {}};
  KV_RETURN_IF_ERROR(Read(json, "name", record.name));
  KV_TRY(record.node, sync::StringOf(json, "node"));
  KV_RETURN_IF_ERROR(Read(json, "lock_delay_ns", record.lock_delay_ns));
  KV_RETURN_IF_ERROR(Read(json, "behavior", record.behavior));
  if (record.behavior != "release" && record.behavior != "delete") return Wrong("behavior");
  KV_RETURN_IF_ERROR(Read(json, "ttl", record.ttl));
  KV_RETURN_IF_ERROR(Read(json, "node_checks", record.node_checks));
  KV_RETURN_IF_ERROR(Read(json, "service_checks", record.service_checks));
  return record;
}

std::string RegistryKeys::Node(std::string_view node) const {
  return prefix_ + "node/" + Encoded(node);
}

std::string RegistryKeys::Service(std::string_view node, std::string_view id) const {
  return ServicesOf(node) + EncodeId(id).value_or(std::string(id));
}

std::string RegistryKeys::ServicesOf(std::string_view node) const {
  return prefix_ + "service/" + Encoded(node) + "/";
}

std::string RegistryKeys::Life(std::string_view node) const {
  return prefix_ + "life/" + Encoded(node);
}

std::string RegistryKeys::Session(std::string_view id) const {
  return prefix_ + "session/" + Encoded(id);
}

RegistryKeys::Parsed RegistryKeys::Parse(std::string_view key) const {
  if (!key.starts_with(prefix_)) return {};
  const auto parts = Halves(key.substr(prefix_.size()));
  if (parts.has_value()) {
    const auto& [kind, name] = *parts;
    if (kind == "node") return {.kind = Kind::kNode, .node = DecodePart(name)};
    if (kind == "life") return {.kind = Kind::kLife, .node = DecodePart(name)};
    if (kind == "session") return {.kind = Kind::kSession, .id = DecodePart(name)};
    return {};
  }
  constexpr std::string_view kServices = "service/";
  if (!key.substr(prefix_.size()).starts_with(kServices)) return {};
  const auto service = Halves(key.substr(prefix_.size() + kServices.size()));
  if (!service.has_value()) return {};
  return {.kind = Kind::kService,
          .node = DecodePart(service->first),
          .id = DecodePart(service->second)};
}

}  // namespace kvorum::consul
