#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/letter_case.h"
#include "base/text/duration_text.h"
#include "consul/model/api_json.h"
#include "consul/model/check_form.h"
#include "consul/model/definitions.h"
#include "consul/model/fields.h"
#include "consul/model/ids.h"

namespace kvorum::consul {
namespace {

using std::chrono::seconds;
using sync::CheckKind;

constexpr Duration kLeastInterval = seconds(1);
constexpr Duration kLeastDeregisterAfter = seconds(60);
constexpr Duration kTimeout = seconds(10);
constexpr Duration kScriptTimeout = seconds(30);
constexpr Duration kAliasInterval = seconds(1);
// No report is expected of a check in maintenance; it is critical, so nothing ends it.
constexpr Duration kMaintenanceInterval = std::chrono::days(365);
constexpr int kMostInARow = 1'000'000;

std::unexpected<Error> BadCheck(std::string text) {
  return Fail(Code::kInvalidArgument, std::move(text));
}

std::unexpected<Error> Invalid(const std::string& text) {
  return BadCheck("Invalid check: " + text);
}

// A definition as it was sent.
struct SentCheck {
  std::string id;
  std::string name;
  std::string notes;
  std::string status;
  std::string http;
  std::string tcp;
  std::string udp;
  std::string h2ping;
  std::string grpc;
  std::string alias_node;
  std::string alias_service;
  std::string method;
  std::string body;
  std::string tls_server_name;
  std::map<std::string, std::vector<std::string>> header;
  std::vector<std::string> args;
  Duration interval{};
  Duration timeout{};
  Duration ttl{};
  Duration deregister_after{};
  bool skips_verify = false;
  bool disables_redirects = false;
  bool tcp_uses_tls = false;
  bool h2ping_uses_tls = true;
  bool grpc_uses_tls = false;
  int output_max_size = 0;
  int before_passing = 0;
  int before_warning = 0;
  int before_critical = 0;
};

Result<void> ReadSentCheck(Fields& fields, SentCheck& sent) {
  KV_RETURN_IF_ERROR(fields.Read("CheckID", sent.id));
  KV_RETURN_IF_ERROR(fields.Read("ID", sent.id));
  KV_RETURN_IF_ERROR(fields.Read("Name", sent.name));
  KV_RETURN_IF_ERROR(fields.Read("Notes", sent.notes));
  KV_RETURN_IF_ERROR(fields.Read("Status", sent.status));
  KV_RETURN_IF_ERROR(fields.Read("HTTP", sent.http));
  KV_RETURN_IF_ERROR(fields.Read("TCP", sent.tcp));
  KV_RETURN_IF_ERROR(fields.Read("TCPUseTLS", sent.tcp_uses_tls));
  KV_RETURN_IF_ERROR(fields.Read("UDP", sent.udp));
  KV_RETURN_IF_ERROR(fields.Read("H2Ping", sent.h2ping));
  KV_RETURN_IF_ERROR(fields.Read("H2PingUseTLS", sent.h2ping_uses_tls));
  KV_RETURN_IF_ERROR(fields.Read("GRPC", sent.grpc));
  KV_RETURN_IF_ERROR(fields.Read("GRPCUseTLS", sent.grpc_uses_tls));
  KV_RETURN_IF_ERROR(fields.Read("AliasNode", sent.alias_node));
  KV_RETURN_IF_ERROR(fields.Read("AliasService", sent.alias_service));
  KV_RETURN_IF_ERROR(fields.Read("Method", sent.method));
  KV_RETURN_IF_ERROR(fields.Read("Body", sent.body));
  KV_RETURN_IF_ERROR(fields.Read("Header", sent.header));
  KV_RETURN_IF_ERROR(fields.Read("TLSServerName", sent.tls_server_name));
  KV_RETURN_IF_ERROR(fields.Read("TLSSkipVerify", sent.skips_verify));
  KV_RETURN_IF_ERROR(fields.Read("Interval", sent.interval));
  KV_RETURN_IF_ERROR(fields.Read("Timeout", sent.timeout));
  KV_RETURN_IF_ERROR(fields.Read("TTL", sent.ttl));
  KV_RETURN_IF_ERROR(fields.Read("DeregisterCriticalServiceAfter", sent.deregister_after));
  KV_RETURN_IF_ERROR(fields.Read("OutputMaxSize", sent.output_max_size));
  KV_RETURN_IF_ERROR(fields.Read("SuccessBeforePassing", sent.before_passing));
  KV_RETURN_IF_ERROR(fields.Read("FailuresBeforeWarning", sent.before_warning));
  KV_RETURN_IF_ERROR(fields.Read("FailuresBeforeCritical", sent.before_critical));
  // ScriptArgs counts before Args, so it is read last.
  for (const char* name : {"Args", "ScriptArgs"}) {
    const Json* const json = fields.Find(name);
    if (json == nullptr) continue;
    std::vector<std::string> words;
    KV_RETURN_IF_ERROR(fields.Read(name, words));
    if (!words.empty()) sent.args = std::move(words);
  }
  return fields.Read("DisableRedirects", sent.disables_redirects);
}

// Kinds that no prober of ours can check, by the member that makes a check one.
Result<void> RefuseOtherKinds(Fields& fields) {
  struct Kind {
    const char* member;
    std::string_view name;
  };
  static constexpr std::array<Kind, 2> kKinds = {
      {{"DockerContainerID", "docker"}, {"OSService", "os_service"}}};
  for (const Kind& kind : kKinds) {
    std::string text;
    KV_RETURN_IF_ERROR(fields.Read(kind.member, text));
    if (!text.empty())
      return Invalid(std::string(kind.name) + " checks are not supported by this agent");
  }
  // Words that only these kinds use, and that bodies may have without being one of them.
  for (const char* name : {"Shell", "ProxyHTTP", "ProxyGRPC", "Namespace", "Partition"}) {
    std::string text;
    KV_RETURN_IF_ERROR(fields.Read(name, text));
  }
  return {};
}

// The rules that the API has for what was sent, with its texts.
Result<void> ValidateSentCheck(const SentCheck& sent) {
  const bool is_probed = !sent.args.empty() || !sent.http.empty() || !sent.tcp.empty() ||
                         !sent.udp.empty() || !sent.h2ping.empty() || !sent.grpc.empty();
  const bool is_alias = !sent.alias_node.empty() || !sent.alias_service.empty();
  if (sent.interval > Duration::zero() && sent.ttl > Duration::zero())
    return Invalid("Interval and TTL cannot both be specified");
  if (is_probed && sent.interval <= Duration::zero())
    return Invalid("Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or OSService checks");
  if (is_alias && sent.interval > Duration::zero())
    return Invalid("Interval cannot be set for Alias checks");
  if (is_alias && sent.ttl > Duration::zero())
    return Invalid("TTL must be not be set for Alias checks");
  if (!is_probed && !is_alias && sent.ttl <= Duration::zero())
    return Invalid("TTL must be > 0 for TTL checks");
  if (sent.output_max_size < 0) return Invalid("MaxOutputMaxSize must be positive");
  if (sent.before_warning > sent.before_critical)
    return Invalid("FailuresBeforeWarning can't be higher than FailuresBeforeCritical");
  return {};
}

Result<void> CheckScripts(const SentCheck& sent, const DefinitionRules& rules) {
  if (sent.args.empty() || rules.scripts == Scripts::kAllowed) return {};
  if (rules.scripts == Scripts::kLocal && rules.is_file) return {};
  const std::string from = rules.scripts == Scripts::kLocal ? " from remote calls" : "";
  const std::string how = rules.scripts == Scripts::kLocal
                              ? "'enable_script_checks' to true"
                              : "'enable_script_checks' or 'enable_local_script_checks' to true";
  return BadCheck("Scripts are disabled on this agent" + from + "; to enable, configure " + how);
}

CheckKind KindOf(const SentCheck& sent) {
  if (!sent.http.empty()) return CheckKind::kHttp;
  if (sent.ttl > Duration::zero()) return CheckKind::kTtl;
  if (!sent.h2ping.empty()) return CheckKind::kH2Ping;
  if (!sent.tcp.empty()) return CheckKind::kTcp;
  if (!sent.udp.empty()) return CheckKind::kUdp;
  if (!sent.grpc.empty()) return CheckKind::kGrpc;
  return sent.args.empty() ? CheckKind::kAlias : CheckKind::kExec;
}

// NODE/ID, with encoded names; either may be empty.
Result<std::string> AliasTarget(const SentCheck& sent) {
  std::string target;
  if (!sent.alias_node.empty()) {
    KV_TRY(target, EncodeName(sent.alias_node));
  }
  target += '/';
  if (sent.alias_service.empty()) return target;
  KV_TRY(const std::string id, EncodeId(sent.alias_service));
  return target + id;
}

void UseTls(const SentCheck& sent, sync::CheckTls& tls) {
  tls.server_name = sent.tls_server_name;
  tls.skip_verify = sent.skips_verify;
}

// The definition that runs the check.
Result<sync::CheckDefinition> Definition(const SentCheck& sent,
                                         std::vector<std::string>& warnings) {
  sync::CheckDefinition definition{.id = {}, .kind = KindOf(sent)};
  switch (definition.kind) {
    case CheckKind::kHttp:
      definition.target = sent.http;
      definition.follows_redirects = !sent.disables_redirects;
      definition.method = UpperCase(sent.method);
      definition.headers = sent.header;
      definition.body = sent.body;
      if (sent.http.starts_with("https://") || definition.follows_redirects)
        UseTls(sent, definition.tls);
      break;
    case CheckKind::kTcp:
      definition.target = sent.tcp;
      definition.uses_tls = sent.tcp_uses_tls;
      break;
    case CheckKind::kUdp:
      definition.target = sent.udp;
      break;
    case CheckKind::kH2Ping:
      definition.target = sent.h2ping;
      definition.uses_tls = sent.h2ping_uses_tls;
      break;
    case CheckKind::kGrpc:
      definition.target = sent.grpc;
      definition.uses_tls = sent.grpc_uses_tls;
      break;
    case CheckKind::kAlias: {
      auto target = AliasTarget(sent);
      if (!target) return Invalid("Alias: " + target.error().message);
      definition.target = *std::move(target);
      break;
    }
    case CheckKind::kExec:
      definition.command = sent.args;
      break;
    case CheckKind::kTtl:
      break;
  }
  if (definition.uses_tls) UseTls(sent, definition.tls);
  const bool is_ttl = definition.kind == CheckKind::kTtl;
  definition.interval = is_ttl ? sent.ttl : sent.interval;
  if (definition.kind == CheckKind::kAlias) definition.interval = kAliasInterval;
  if (!is_ttl && definition.interval < kLeastInterval) {
    warnings.push_back("the interval " + FormatDuration(definition.interval) + " is raised to 1s");
    definition.interval = kLeastInterval;
  }
  definition.timeout = definition.kind == CheckKind::kExec ? kScriptTimeout : kTimeout;
  if (sent.timeout > Duration::zero()) definition.timeout = sent.timeout;
  if (sent.output_max_size > 0) {
    definition.output_max_bytes =
        std::min(static_cast<std::size_t>(sent.output_max_size), sync::kMaxOutputBytes);
  }
  definition.successes_before_passing = std::clamp(sent.before_passing, 1, kMostInARow);
  definition.failures_before_critical = std::clamp(sent.before_critical, 1, kMostInARow);
  if (sent.before_warning > 0 && sent.before_warning < sent.before_critical)
    definition.failures_before_warning = sent.before_warning;
  return definition;
}

}  // namespace

Result<std::optional<CheckForm>> ParseCheckOf(const Json& json, const CheckOwner& owner,
                                              const DefinitionRules& rules) {
  const bool is_of_service = owner.service_name.has_value();
  if (!json.is_object()) {
    return BadCheck("Request decode failed: " +
                    WrongType(is_of_service ? "Check" : "", json, "CheckDefinition").message);
  }
  Fields fields(json);
  SentCheck sent;
  CheckForm form;
  const auto read = [&]() -> Result<void> {
    KV_RETURN_IF_ERROR(ReadSentCheck(fields, sent));
    KV_RETURN_IF_ERROR(fields.Read("ServiceID", form.service_id));
    return fields.Read("Token", form.token);
  };
  if (auto done = read(); !done) return BadCheck("Request decode failed: " + done.error().message);
  // A service may be sent with an empty check, which stands for no check.
  if (is_of_service && json.empty()) return std::nullopt;
  if (!is_of_service && sent.name.empty()) return BadCheck("Missing check name");
  if (!sent.status.empty()) {
    const auto health = sync::HealthOf(sent.status);
    if (!health) {
      return BadCheck(is_of_service ? "Status for checks must 'passing', 'warning', 'critical'"
                                    : "Bad check status");
    }
    form.check.health = *health;
    form.has_status = true;
  }
  KV_RETURN_IF_ERROR(RefuseOtherKinds(fields));
  if (rules.is_file) {
    if (const auto unknown = fields.Unknown(); !unknown.empty())
      return BadCheck("invalid config key " + unknown.front());
  }
  KV_RETURN_IF_ERROR(ValidateSentCheck(sent));
  KV_RETURN_IF_ERROR(CheckScripts(sent, rules));

  CheckRecord record{.id = sent.id, .name = sent.name, .notes = sent.notes};
  if (record.id.empty()) record.id = is_of_service ? owner.default_id : sent.name;
  if (record.name.empty()) record.name = "Service '" + *owner.service_name + "' check";
  sync::CheckDefinition& definition = form.check.definition;
  KV_TRY(definition, Definition(sent, form.warnings));
  record.type = CheckTypeOf(definition.kind);
  if (definition.kind != CheckKind::kTtl && definition.kind != CheckKind::kAlias)
    record.interval = FormatDuration(definition.interval);
  if (sent.timeout > Duration::zero()) record.timeout = FormatDuration(sent.timeout);
  if (sent.deregister_after > Duration::zero())
    record.deregister_after_ns = std::max(sent.deregister_after, kLeastDeregisterAfter).count();
  auto id = EncodeName(record.id);
  if (!id) return Invalid("CheckID: " + id.error().message);
  definition.id = *std::move(id);
  definition.details = EncodeCheckDetails(record);
  return form;
}

Result<CheckForm> ParseCheck(const Json& json, const DefinitionRules& rules) {
  KV_TRY(std::optional<CheckForm> form, ParseCheckOf(json, {}, rules));
  // The bounds that the store's entries have.
  if (const auto valid = sync::ValidateEntry(sync::NodeCheck(form->check)); !valid)
    return Invalid(valid.error().message);
  return *std::move(form);
}

sync::Check MaintenanceCheck(std::string_view service_id, std::string_view reason) {
  const bool is_of_node = service_id.empty();
  const std::string_view what = is_of_node ? "node" : "service";
  CheckRecord record{.id = is_of_node ? std::string(kNodeMaintenance)
                                      : std::string(kServiceMaintenance) + std::string(service_id),
                     .name = is_of_node ? "Node Maintenance Mode" : "Service Maintenance Mode",
                     .notes = std::string(reason),
                     .type = "maintenance"};
  if (reason.empty()) {
    record.notes = "Maintenance mode is enabled for this " + std::string(what) +
                   ", but no reason was provided. This is a default message.";
  }
  sync::CheckDefinition definition{.id = EncodeName(record.id).value_or(record.id)};
  definition.interval = kMaintenanceInterval;
  definition.details = EncodeCheckDetails(record);
  return {.definition = std::move(definition)};
}

void KeepMaintenance(const sync::Entry& old, sync::Entry& entry) {
  for (const sync::Check& check : old.checks) {
    const std::string id = DecodePart(check.definition.id);
    const bool is_there = std::ranges::any_of(entry.checks, [&](const sync::Check& other) {
      return other.definition.id == check.definition.id;
    });
    if (id.starts_with(kServiceMaintenance) && !is_there) entry.checks.push_back(check);
  }
}

}  // namespace kvorum::consul
