#include "consul/model/definitions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "consul/model/api_json.h"
#include "consul/model/check_form.h"
#include "consul/model/fields.h"
#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

constexpr std::size_t kMostPairs = 64;
constexpr std::size_t kMostKeyBytes = 128;
constexpr std::size_t kMostValueBytes = 512;
constexpr int kMostWeight = 65'535;

std::unexpected<Error> BadService(std::string text) {
  return Fail(Code::kInvalidArgument, std::move(text));
}

Error DecodeFailed(const Error& error) {
  return {.code = Code::kInvalidArgument, .message = "Request decode failed: " + error.message};
}

struct SentService {
  std::string id;
  std::string name;
  std::string token;
  ServiceDetails details;
  std::vector<const Json*> checks;
};

Result<void> ReadWeights(Fields& fields, ServiceDetails& details) {
  const Json* const json = fields.Find("Weights");
  if (json == nullptr) return {};
  if (!json->is_object()) return Fail(WrongType("Weights", *json, "Weights"));
  Fields weights(*json);
  KV_RETURN_IF_ERROR(weights.Read("Passing", details.weight_passing));
  return weights.Read("Warning", details.weight_warning);
}

Result<void> ReadChecks(Fields& fields, std::vector<const Json*>& checks) {
  if (const Json* const check = fields.Find("Check"); check != nullptr) checks.push_back(check);
  const Json* const list = fields.Find("Checks");
  if (list == nullptr) return {};
  if (!list->is_array()) return Fail(WrongType("Checks", *list, "CheckTypes"));
  for (const Json& each : *list) {
    if (!each.is_null()) checks.push_back(&each);
  }
  return {};
}

Result<void> ReadSentService(Fields& fields, SentService& sent) {
  ServiceDetails& details = sent.details;
  KV_RETURN_IF_ERROR(fields.Read("ID", sent.id));
  KV_RETURN_IF_ERROR(fields.Read("Name", sent.name));
  KV_RETURN_IF_ERROR(fields.Read("Token", sent.token));
  KV_RETURN_IF_ERROR(fields.Read("Kind", details.kind));
  KV_RETURN_IF_ERROR(fields.Read("Tags", details.tags));
  KV_RETURN_IF_ERROR(fields.Read("Address", details.address));
  KV_RETURN_IF_ERROR(fields.Read("TaggedAddresses", details.tagged_addresses));
  KV_RETURN_IF_ERROR(fields.Read("Meta", details.meta));
  KV_RETURN_IF_ERROR(fields.Read("Port", details.port));
  KV_RETURN_IF_ERROR(fields.Read("SocketPath", details.socket_path));
  KV_RETURN_IF_ERROR(fields.Read("EnableTagOverride", details.enable_tag_override));
  KV_RETURN_IF_ERROR(ReadWeights(fields, details));
  for (const char* name : {"Namespace", "Partition"}) {
    std::string ignored;
    KV_RETURN_IF_ERROR(fields.Read(name, ignored));
  }
  return ReadChecks(fields, sent.checks);
}

bool IsUsed(const Json* json) { return json != nullptr && !(json->is_object() && json->empty()); }

// Members that only a mesh has are refused.
Result<void> RefuseMesh(Fields& fields, const std::string& kind) {
  if (!kind.empty())
    return BadService("Validation failed: services of kind '" + kind +
                      "' are not supported: " + "this agent has no service mesh");
  if (IsUsed(fields.Find("Proxy")))
    return BadService("Validation failed: Proxy is not supported: this agent has no service mesh");
  const Json* const connect = fields.Find("Connect");
  if (!IsUsed(connect)) return {};
  if (!connect->is_object())
    return Fail(DecodeFailed(WrongType("Connect", *connect, "ServiceConnect")));
  Fields parts(*connect);
  bool is_native = false;
  if (auto read = parts.Read("Native", is_native); !read) return Fail(DecodeFailed(read.error()));
  if (parts.Find("SidecarService") != nullptr) {
    return BadService(
        "Invalid SidecarService: sidecars are not supported: this agent has no service mesh");
  }
  if (is_native) {
    return BadService(
        "Validation failed: Connect.Native is not supported: this agent has no service mesh");
  }
  return {};
}

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

std::string_view PairFault(std::string_view key, std::string_view value) {
  if (key.empty()) return "Key cannot be blank";
  if (!std::ranges::all_of(key, IsKeyCharacter)) return "Key contains invalid characters";
  if (key.size() > kMostKeyBytes) return "Key is too long (limit: 128 characters)";
  if (key.starts_with("consul-")) return "Key prefix 'consul-' is reserved for internal use";
  if (value.size() > kMostValueBytes) return "Value is too long (limit: 512 characters)";
  return "";
}

// Adds the tags that an address of one kind has beside those that were sent.
void FillTaggedAddresses(ServiceDetails& details) {
  const int version = IpVersion(details.address);
  if (version == 0) return;
  for (const std::string net : {"lan_ipv", "wan_ipv"}) {
    details.tagged_addresses.try_emplace(
        net + std::to_string(version),
        TaggedAddress{.address = details.address, .port = details.port});
  }
}

Result<void> AddChecks(const SentService& sent, const DefinitionRules& rules, ServiceForm& form) {
  const bool is_only = sent.checks.size() == 1;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < sent.checks.size(); ++i) {
    const std::string id = "service:" + sent.id + (is_only ? "" : ":" + std::to_string(i + 1));
    KV_TRY(std::optional<CheckForm> check,
           ParseCheckOf(*sent.checks[i], {.service_name = sent.name, .default_id = id}, rules));
    if (!check.has_value()) continue;
    std::ranges::move(check->warnings, std::back_inserter(form.warnings));
    // The last of two checks with one id counts.
    if (!ids.insert(check->check.definition.id).second) {
      std::erase_if(form.entry.checks, [&](const sync::Check& old) {
        return old.definition.id == check->check.definition.id;
      });
    }
    form.entry.checks.push_back(std::move(check->check));
  }
  return {};
}

}  // namespace

Result<void> ValidateMeta(const std::map<std::string, std::string>& meta) {
  if (meta.size() > kMostPairs)
    return BadService("Node metadata cannot contain more than 64 key/value pairs");
  for (const auto& [key, value] : meta) {
    const std::string_view fault = PairFault(key, value);
    if (fault.empty()) continue;
    std::string text = "Couldn't load metadata pair ('";
    text.append(key).append("', '").append(value).append("'): ").append(fault);
    return BadService(std::move(text));
  }
  return {};
}

Result<void> ValidateWeights(const ServiceDetails& details) {
  if (details.weight_passing < 1) return BadService("Passing must be greater than 0");
  if (details.weight_warning < 0) return BadService("Warning must be greater or equal than 0");
  if (details.weight_passing > kMostWeight || details.weight_warning > kMostWeight)
    return BadService("DNS Weight must be between 0 and 65535");
  return {};
}

bool IsAnyAddress(std::string_view address) {
  return address == "0.0.0.0" || address == "::" || address == "[::]";
}

std::string ValueOf(const ServiceDetails& details, std::string_view node_address) {
  std::string address = details.address.empty() ? std::string(node_address) : details.address;
  if (address.empty() || details.port == 0) return address;
  const bool is_v6 = IpVersion(address) == 6;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(details.port);
}

namespace {

// Members that only these have, of a definition in a file.
Result<void> RefuseUnknown(Fields& fields) {
  const auto refuse = [](const std::string& in, const Json& json,
                         std::initializer_list<const char*> known) -> Result<void> {
    Fields parts(json);
    for (const char* const name : known) static_cast<void>(parts.Find(name));
    if (const auto unknown = parts.Unknown(); !unknown.empty())
      return BadService("invalid config key " + in + unknown.front());
    return {};
  };
  if (const auto unknown = fields.Unknown(); !unknown.empty())
    return BadService("invalid config key " + unknown.front());
  if (const Json* const weights = fields.Find("Weights"); weights != nullptr)
    KV_RETURN_IF_ERROR(refuse("weights.", *weights, {"Passing", "Warning"}));
  const Json* const addresses = fields.Find("TaggedAddresses");
  if (addresses == nullptr) return {};
  for (const auto& [tag, address] : addresses->items())
    KV_RETURN_IF_ERROR(refuse("tagged_addresses." + tag + ".", address, {"Address", "Port"}));
  return {};
}

}  // namespace

Result<ServiceForm> ParseService(const Json& json, const DefinitionRules& rules) {
  if (!json.is_object()) return Fail(DecodeFailed(WrongType("", json, "ServiceDefinition")));
  Fields fields(json);
  SentService sent;
  if (auto read = ReadSentService(fields, sent); !read) return Fail(DecodeFailed(read.error()));
  ServiceDetails& details = sent.details;
  if (sent.name.empty()) return BadService("Missing service name");
  if (sent.id.empty()) sent.id = sent.name;
  if (IsAnyAddress(details.address)) return BadService("Invalid service address");
  if (auto valid = ValidateWeights(details); !valid)
    return BadService("Invalid Weights: " + valid.error().message);
  if (auto valid = ValidateMeta(details.meta); !valid)
    return BadService("Invalid Service Meta: " + valid.error().message);
  KV_RETURN_IF_ERROR(RefuseMesh(fields, details.kind));
  if (rules.is_file) KV_RETURN_IF_ERROR(RefuseUnknown(fields));
  ServiceForm form;
  KV_RETURN_IF_ERROR(AddChecks(sent, rules, form));
  FillTaggedAddresses(details);
  auto id = EncodeId(sent.id);
  auto name = EncodeName(sent.name);
  if (!id || !name)
    return BadService("Validation failed: " + (id ? name.error() : id.error()).message);
  form.entry.id = *std::move(id);
  form.entry.name = *std::move(name);
  form.entry.value = ValueOf(details, rules.node_address);
  form.entry.details = EncodeServiceDetails(details);
  form.entry.token = sent.token;
  if (auto valid = sync::ValidateEntry(form.entry); !valid)
    return BadService("Validation failed: " + valid.error().message);
  return form;
}

bool IsDefinitionFile(const Json& json) {
  if (!json.is_object()) return false;
  Fields fields(json);
  return std::ranges::any_of(std::to_array({"Service", "Services", "Check", "Checks"}),
                             [&](const char* name) {
                               const Json* const found = fields.Find(name);
                               return found != nullptr && found->is_structured();
                             }) &&
         fields.Find("ID") == nullptr && fields.Find("Name") == nullptr;
}

namespace {

// The members of "service" and "services", or of "check" and "checks".
Result<std::vector<const Json*>> Listed(Fields& fields, const char* one, const char* many) {
  std::vector<const Json*> listed;
  if (const Json* const json = fields.Find(one); json != nullptr) listed.push_back(json);
  const Json* const list = fields.Find(many);
  if (list == nullptr) return listed;
  if (!list->is_array()) return Fail(WrongType(many, *list, "a list"));
  for (const Json& each : *list) listed.push_back(&each);
  return listed;
}

Result<void> Attach(CheckForm form, DefinitionFile& file) {
  std::ranges::move(form.warnings, std::back_inserter(file.warnings));
  if (form.service_id.empty()) {
    sync::Entry entry = sync::NodeCheck(std::move(form.check));
    entry.token = std::move(form.token);
    file.entries.push_back(std::move(entry));
    return {};
  }
  const auto service = std::ranges::find_if(file.entries, [&](const sync::Entry& entry) {
    return entry.kind == sync::EntryKind::kService && DecodePart(entry.id) == form.service_id;
  });
  if (service == file.entries.end())
    return BadService("ServiceID \"" + form.service_id + "\" does not exist");
  service->checks.push_back(std::move(form.check));
  return sync::ValidateEntry(*service);
}

}  // namespace

Result<DefinitionFile> ParseDefinitionFile(std::string_view text, DefinitionRules rules) {
  rules.is_file = true;
  KV_TRY(const Json json, ParseBody(text));
  if (!json.is_object()) return BadService("the file is not a JSON object");
  Fields fields(json);
  KV_TRY(const auto services, Listed(fields, "Service", "Services"));
  KV_TRY(const auto checks, Listed(fields, "Check", "Checks"));
  if (const auto unknown = fields.Unknown(); !unknown.empty())
    return BadService("invalid config key " + unknown.front());
  DefinitionFile file;
  for (const Json* const each : services) {
    KV_TRY(ServiceForm form, ParseService(*each, rules));
    std::ranges::move(form.warnings, std::back_inserter(file.warnings));
    file.entries.push_back(std::move(form.entry));
  }
  for (const Json* const each : checks) {
    KV_TRY(CheckForm form, ParseCheck(*each, rules));
    KV_RETURN_IF_ERROR(Attach(std::move(form), file));
  }
  std::set<std::string> ids;
  for (const sync::Entry& entry : file.entries) {
    if (!ids.insert(entry.id).second)
      return BadService("the id " + DecodePart(entry.id) + " stands twice");
  }
  return file;
}

}  // namespace kvorum::consul
