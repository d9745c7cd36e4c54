#include "consul/http/registration.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/duration_text.h"
#include "consul/model/durations.h"
#include "consul/model/fields.h"

namespace kvorum::consul {
namespace {

constexpr int kMaxPort = 65'535;
constexpr std::size_t kMaxChecksOfARecord = 64;
constexpr std::size_t kUuidBytes = 36;

std::unexpected<Error> Unfit(std::string text) {
  return Fail(Code::kFailedPrecondition, std::move(text));
}

Result<void> ReadPort(Fields& fields, std::string_view name, int least, int& port) {
  KV_RETURN_IF_ERROR(fields.Read(name, port));
  if (port < least || port > kMaxPort)
    return Fail(Code::kInvalidArgument, std::string(name) + " is out of range");
  return {};
}

// Nothing: absent.
Result<std::optional<Fields>> ObjectIn(Fields& fields, std::string_view name) {
  const Json* value = fields.Find(name);
  if (value == nullptr) return std::optional<Fields>();
  if (!value->is_object()) return Fail(WrongType(name, *value, "object"));
  return std::optional<Fields>(Fields(*value));
}

Result<ServiceRecord> ServiceOf(const std::string& node, Fields& fields) {
  ServiceRecord service{.node = node, .id = {}, .name = {}};
  ServiceDetails& details = service.details;
  KV_RETURN_IF_ERROR(fields.Read("ID", service.id));
  KV_RETURN_IF_ERROR(fields.Read("Service", service.name));
  KV_RETURN_IF_ERROR(fields.Read("Kind", details.kind));
  KV_RETURN_IF_ERROR(fields.Read("Tags", details.tags));
  KV_RETURN_IF_ERROR(fields.Read("Address", details.address));
  KV_RETURN_IF_ERROR(fields.Read("TaggedAddresses", details.tagged_addresses));
  KV_RETURN_IF_ERROR(fields.Read("Meta", details.meta));
  KV_RETURN_IF_ERROR(ReadPort(fields, "Port", 0, details.port));
  KV_RETURN_IF_ERROR(fields.Read("SocketPath", details.socket_path));
  KV_RETURN_IF_ERROR(fields.Read("EnableTagOverride", details.enable_tag_override));
  KV_TRY(auto weights, ObjectIn(fields, "Weights"));
  if (weights) {
    KV_RETURN_IF_ERROR(ReadPort(*weights, "Passing", 0, details.weight_passing));
    KV_RETURN_IF_ERROR(ReadPort(*weights, "Warning", 0, details.weight_warning));
  }
  if (service.id.empty()) service.id = service.name;
  if (service.name.empty()) return Unfit("Must provide service name with ID");
  if (details.address == "0.0.0.0" || details.address == "::" || details.address == "[::]")
    return Unfit("Invalid service address");
  return service;
}

// Durations as the API shows them: texts that parse, or absent.
Result<std::string> DefinitionOf(const Json& body) {
  Json definition = Json::object();
  for (auto it = body.begin(); it != body.end(); ++it) {
    const bool is_duration = it.key() == "Interval" || it.key() == "Timeout" ||
                             it.key() == "DeregisterCriticalServiceAfter";
    const bool is_empty =
        it.value().is_null() ||
        (it.value().is_string() && it.value().get_ref<const std::string&>().empty());
    if (is_empty || (!is_duration && it.key().ends_with("Duration"))) continue;
    if (is_duration) {
      KV_TRY(const Duration duration, DurationOf(it.value()));
      definition[it.key()] = FormatDuration(duration);
    } else {
      definition[it.key()] = it.value();
    }
  }
  constexpr auto kReplace = Json::error_handler_t::replace;
  return definition.empty() ? std::string() : definition.dump(-1, ' ', false, kReplace);
}

Result<RegisteredCheck> CheckOf(const std::string& node, Fields& fields) {
  RegisteredCheck registered;
  CheckRecord& check = registered.check;
  std::string its_node;
  std::string status;
  KV_RETURN_IF_ERROR(fields.Read("CheckID", check.id));
  KV_RETURN_IF_ERROR(fields.Read("Name", check.name));
  KV_RETURN_IF_ERROR(fields.Read("Notes", check.notes));
  KV_RETURN_IF_ERROR(fields.Read("Output", check.output));
  KV_RETURN_IF_ERROR(fields.Read("Type", check.type));
  KV_RETURN_IF_ERROR(fields.Read("Interval", check.interval));
  KV_RETURN_IF_ERROR(fields.Read("Timeout", check.timeout));
  KV_RETURN_IF_ERROR(fields.Read("ServiceID", registered.service_id));
  KV_RETURN_IF_ERROR(fields.Read("Node", its_node));
  KV_RETURN_IF_ERROR(fields.Read("Status", status));
  if (const Json* definition = fields.Find("Definition")) {
    if (!definition->is_object()) return Fail(WrongType("Definition", *definition, "object"));
    KV_TRY(check.definition, DefinitionOf(*definition));
  }
  if (check.id.empty()) check.id = check.name;
  if (check.name.empty()) check.name = check.id;
  if (check.id.empty()) return Unfit("Must provide CheckID or Name of a check");
  if (!its_node.empty() && its_node != node)
    return Unfit("check node \"" + its_node + "\" does not match node \"" + node + "\"");
  if (!status.empty()) {
    const auto health = sync::HealthOf(status);
    if (!health) return Unfit("Invalid check status: '" + status + "'");
    check.health = *health;
  }
  return registered;
}

Result<void> PutCheck(const CheckRecord& check, std::vector<CheckRecord>& checks) {
  const auto found = std::ranges::find(checks, check.id, &CheckRecord::id);
  if (found != checks.end()) {
    *found = check;
  } else if (checks.size() < kMaxChecksOfARecord) {
    checks.push_back(check);
  } else {
    return Fail(Code::kResourceExhausted, "too many checks of one service or node");
  }
  return {};
}

void UpdateNode(const Registration& registration, NodeRecords& records) {
  const bool is_new = !records.node.has_value();
  if (is_new) records.node = NodeRecord{.node = registration.node, .is_external = true};
  if (!is_new && registration.skips_node_update) return;
  const std::string id = records.node->details.id;
  records.node->details = registration.details;
  if (records.node->details.id.empty()) records.node->details.id = id;
}

}  // namespace

bool IsUuid(std::string_view text) {
  constexpr std::array<std::size_t, 4> kHyphens = {8, 13, 18, 23};
  if (text.size() != kUuidBytes) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_hyphen = std::ranges::find(kHyphens, i) != kHyphens.end();
    if (is_hyphen ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0)
      return false;
  }
  return true;
}

Result<Registration> ParseRegistration(const Json& body) {
  if (!body.is_object()) return Fail(WrongType("body", body, "object"));
  Fields fields(body);
  Registration registration;
  NodeDetails& details = registration.details;
  KV_RETURN_IF_ERROR(fields.Read("Node", registration.node));
  KV_RETURN_IF_ERROR(fields.Read("Datacenter", registration.datacenter));
  KV_RETURN_IF_ERROR(fields.Read("ID", details.id));
  KV_RETURN_IF_ERROR(fields.Read("Address", details.address));
  KV_RETURN_IF_ERROR(fields.Read("TaggedAddresses", details.tagged_addresses));
  KV_RETURN_IF_ERROR(fields.Read("NodeMeta", details.meta));
  KV_RETURN_IF_ERROR(fields.Read("SkipNodeUpdate", registration.skips_node_update));
  KV_TRY(auto service, ObjectIn(fields, "Service"));
  KV_TRY(auto check, ObjectIn(fields, "Check"));
  const Json* checks = fields.Find("Checks");
  if (checks != nullptr && !checks->is_array()) return Fail(WrongType("Checks", *checks, "list"));
  if (registration.node.empty()) return Unfit("Must provide node");
  if (details.address.empty() && !registration.skips_node_update)
    return Unfit("Must provide address if SkipNodeUpdate is not set");
  if (!details.id.empty() && !IsUuid(details.id))
    return Unfit("Bad node ID: \"" + details.id + "\" is not a UUID");
  if (service) {
    KV_TRY(registration.service, ServiceOf(registration.node, *service));
  }
  const auto add = [&](Fields& one) -> Result<void> {
    KV_TRY(auto registered, CheckOf(registration.node, one));
    registration.checks.push_back(std::move(registered));
    return {};
  };
  if (checks != nullptr) {
    for (const Json& one : *checks) {
      if (!one.is_object()) return Fail(WrongType("Checks", one, "object"));
      Fields members(one);
      KV_RETURN_IF_ERROR(add(members));
    }
  }
  if (check) KV_RETURN_IF_ERROR(add(*check));
  if (registration.checks.size() > kMaxChecksOfARecord)
    return Fail(Code::kResourceExhausted, "too many checks in one registration");
  return registration;
}

Result<Deregistration> ParseDeregistration(const Json& body) {
  if (!body.is_object()) return Fail(WrongType("body", body, "object"));
  Fields fields(body);
  Deregistration deregistration;
  KV_RETURN_IF_ERROR(fields.Read("Node", deregistration.node));
  KV_RETURN_IF_ERROR(fields.Read("Datacenter", deregistration.datacenter));
  KV_RETURN_IF_ERROR(fields.Read("ServiceID", deregistration.service_id));
  KV_RETURN_IF_ERROR(fields.Read("CheckID", deregistration.check_id));
  if (deregistration.node.empty()) return Unfit("Must provide node");
  return deregistration;
}

std::vector<std::string> ServicesOf(const Registration& registration) {
  std::vector<std::string> ids;
  if (registration.service) ids.push_back(registration.service->id);
  for (const RegisteredCheck& check : registration.checks) {
    if (!check.service_id.empty()) ids.push_back(check.service_id);
  }
  std::ranges::sort(ids);
  const auto doubles = std::ranges::unique(ids);
  ids.erase(doubles.begin(), doubles.end());
  return ids;
}

Result<void> Apply(const Registration& registration, bool is_alive, NodeRecords& records) {
  if (records.node && is_alive && !registration.details.id.empty() &&
      !records.node->details.id.empty() && registration.details.id != records.node->details.id)
    return Unfit("Node name " + registration.node + " is reserved by node " +
                 records.node->details.id + " with name " + registration.node + " (" +
                 records.node->details.address + ")");
  UpdateNode(registration, records);
  if (registration.service) {
    ServiceRecord& service = records.services[registration.service->id];
    std::vector<CheckRecord> checks = std::move(service.checks);
    service = *registration.service;
    service.checks = std::move(checks);
  }
  for (const RegisteredCheck& registered : registration.checks) {
    if (registered.service_id.empty()) {
      KV_RETURN_IF_ERROR(PutCheck(registered.check, records.node->checks));
      continue;
    }
    const auto service = records.services.find(registered.service_id);
    if (service == records.services.end()) return Unfit("Missing service registration");
    KV_RETURN_IF_ERROR(PutCheck(registered.check, service->second.checks));
  }
  return {};
}

bool RemoveCheck(std::vector<CheckRecord>& checks, const std::string& id) {
  return std::erase_if(checks, [&](const CheckRecord& check) { return check.id == id; }) != 0;
}

}  // namespace kvorum::consul
