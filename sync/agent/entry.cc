#include "sync/agent/entry.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/utf8.h"
#include "sync/agent/catalog.h"
#include "sync/kernel/json_bytes.h"
#include "sync/kernel/json_depth.h"

namespace kvorum::sync {
namespace {

constexpr std::array<std::string_view, 3> kHealthNames = {"passing", "warning", "critical"};
constexpr std::array<std::string_view, 8> kKindNames = {"ttl", "http",  "tcp",    "exec",
                                                        "udp", "alias", "h2ping", "grpc"};
constexpr Duration kLeastInterval = std::chrono::milliseconds(100);
// Times are sums of the clock's and these.
constexpr Duration kMostInterval = std::chrono::days(365);

template <class Value>
Result<Value> ValueNamed(std::span<const std::string_view> names, std::string_view what,
                         std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    return Fail(Code::kInvalidArgument,
                std::string(what) + " \"" + CleanOutput(name) + "\" is unknown");
  return static_cast<Value>(found - names.begin());
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool IsSpaceOrControl(char c) { return c == ' ' || IsControl(c); }

// RFC 9110, 5.6.2.
bool IsToken(std::string_view text) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kSigns.contains(c);
  });
}

// Why not; they become the head of a request.
std::string_view WhyNotSent(const CheckDefinition& check) {
  if (!check.method.empty() && !IsToken(check.method)) return "its method is not a word";
  for (const auto& [name, values] : check.headers) {
    if (!IsToken(name)) return "the name of a header is not a word";
    const bool is_spoiled = std::ranges::any_of(values, [](const std::string& value) {
      return std::ranges::any_of(value, [](char c) { return c != '\t' && IsControl(c); });
    });
    if (is_spoiled) return "a header has a control character";
  }
  return {};
}

Result<void> ValidateCheck(const CheckDefinition& check) {
  KV_RETURN_IF_ERROR(ValidateName("the check's id", check.id));
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kInvalidArgument, "check " + check.id + ": " + std::string(why));
  };
  const bool has_target = check.kind != CheckKind::kTtl && check.kind != CheckKind::kExec;
  if (has_target == check.target.empty())
    return refuse(has_target ? "it has no target" : "its kind has no target");
  // It becomes the head of a request, in which a line end would begin another header. An alias has
  // names, which may have spaces.
  const bool is_spoiled = check.kind == CheckKind::kAlias
                              ? std::ranges::any_of(check.target, IsControl)
                              : std::ranges::any_of(check.target, IsSpaceOrControl);
  if (is_spoiled || std::ranges::any_of(check.tls.server_name, IsSpaceOrControl))
    return refuse("its target has a space or a control character");
  if ((check.kind == CheckKind::kExec) == check.command.empty())
    return refuse(check.command.empty() ? "it has no command" : "its kind has no command");
  const bool is_https = check.kind == CheckKind::kHttp && check.target.starts_with("https://");
  if (check.kind == CheckKind::kHttp && !is_https && !check.target.starts_with("http://"))
    return refuse("its target is not an http:// or https:// URL");
  const bool may_use_tls = check.kind == CheckKind::kTcp || check.kind == CheckKind::kH2Ping ||
                           check.kind == CheckKind::kGrpc;
  if (check.uses_tls && !may_use_tls) return refuse("its kind does not use TLS");
  if (check.follows_redirects && check.kind != CheckKind::kHttp)
    return refuse("its kind has no redirects to follow");
  // A redirect may lead to https://.
  if (!is_https && !check.uses_tls && !check.follows_redirects && check.tls != CheckTls{})
    return refuse("it has TLS options, and its target is not an https:// URL");
  if (check.kind == CheckKind::kAlias && std::ranges::count(check.target, '/') != 1)
    return refuse("its target is not NODE/ID");
  const bool has_request = !check.method.empty() || !check.headers.empty() || !check.body.empty();
  if (has_request && check.kind != CheckKind::kHttp)
    return refuse("its kind has no method, headers or body");
  if (const std::string_view why = WhyNotSent(check); !why.empty()) return refuse(why);
  if (check.interval < kLeastInterval) return refuse("its interval is below 100 ms");
  if (check.interval > kMostInterval) return refuse("its interval is beyond 365 days");
  if (check.timeout <= Duration::zero()) return refuse("its time-out is not positive");
  if (check.timeout > kMostInterval) return refuse("its time-out is beyond 365 days");
  if (check.successes_before_passing < 1 || check.failures_before_critical < 1)
    return refuse("its thresholds are not positive");
  if (check.failures_before_warning < 0 ||
      check.failures_before_warning > check.failures_before_critical)
    return refuse("its failures before a warning are negative or more than those before critical");
  if (const auto valid = ValidateDetails("it", check.details); !valid)
    return refuse(valid.error().message);
  return {};
}

std::size_t RequestBytes(const CheckDefinition& check) {
  std::size_t bytes = check.body.size() + check.target.size();
  for (const auto& [name, values] : check.headers) {
    for (const std::string& value : values) bytes += name.size() + value.size();
  }
  return bytes;
}

Result<void> ValidateIdOf(const Entry& entry) {
  if (entry.kind == EntryKind::kService) {
    KV_RETURN_IF_ERROR(ValidateId(entry.id));
    return ValidateName("the name", entry.name);
  }
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kInvalidArgument, "entry " + CleanOutput(entry.id) + ": " + std::string(why));
  };
  if (entry.checks.size() != 1) return refuse("a check of the node is one check");
  if (entry.id != NodeCheckId(entry.checks.front().definition.id))
    return refuse("its id is not a dot and its check's id");
  if (!entry.name.empty() || !entry.value.empty() || !entry.details.empty())
    return refuse("a check of the node has no name, value or details");
  return ValidateName("the id", entry.id);
}

}  // namespace

std::string_view HealthName(Health health) {
  return kHealthNames[static_cast<std::size_t>(health)];
}

Result<Health> HealthOf(std::string_view name) {
  return ValueNamed<Health>(kHealthNames, "status", name);
}

std::string_view CheckKindName(CheckKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

Result<CheckKind> CheckKindOf(std::string_view name) {
  return ValueNamed<CheckKind>(kKindNames, "check kind", name);
}

Result<void> ValidateName(std::string_view what, std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kInvalidArgument, std::string(what) + " " + std::string(why));
  };
  if (name.empty()) return refuse("is empty");
  if (name.size() > kMaxNameBytes) return refuse("is longer than 255 bytes");
  if (name.contains('/')) return refuse("contains a slash");
  if (std::ranges::any_of(name, IsControl)) return refuse("contains a control character");
  if (!IsValidUtf8(name)) return refuse("is not UTF-8");
  return {};
}

Result<void> ValidateId(std::string_view id) {
  KV_RETURN_IF_ERROR(ValidateName("the id", id));
  if (id.contains('.')) return Fail(Code::kInvalidArgument, "the id contains a dot");
  return {};
}

Result<void> ValidateDetails(std::string_view what, std::string_view details) {
  if (details.empty()) return {};
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kInvalidArgument, std::string(what) + " " + std::string(why));
  };
  if (details.size() > kMaxRecordBytes) return refuse("has details of more than 262144 bytes");
  if (JsonDepth(details) > kMaxDetailsDepth)
    return refuse("has details that are nested too deeply");
  if (!ParseObject("", details)) return refuse("has details that are not a JSON object");
  return {};
}

Result<void> ValidateEntry(const Entry& entry) {
  KV_RETURN_IF_ERROR(ValidateIdOf(entry));
  const auto refuse = [&](const std::string& why) {
    return Fail(Code::kInvalidArgument, "entry " + entry.id + ": " + why);
  };
  if (entry.checks.size() > kMaxChecks) return refuse("it has more than 64 checks");
  if (const auto valid = ValidateDetails("it", entry.details); !valid)
    return refuse(valid.error().message);
  if (entry.token.size() > kMaxTokenBytes || std::ranges::any_of(entry.token, IsControl))
    return refuse("its token is longer than 8192 bytes or has a control character");
  std::set<std::string_view> ids;
  KeptService kept{
      .id = entry.id, .name = entry.name, .value = entry.value, .details = entry.details};
  std::size_t size_bytes = entry.value.size() + entry.details.size();
  for (const Check& check : entry.checks) {
    if (auto valid = ValidateCheck(check.definition); !valid) return refuse(valid.error().message);
    if (!ids.insert(check.definition.id).second)
      return refuse("two checks are called " + check.definition.id);
    size_bytes += check.definition.details.size() + RequestBytes(check.definition);
    kept.checks.push_back(
        {.status = {.id = check.definition.id}, .details = check.definition.details});
  }
  // The parts alone first: an encoding of too much takes its time.
  const bool fits = size_bytes <= kMaxRecordBytes &&
                    EncodeRecord(LeasedOf(kept)).size() <= kMaxRecordBytes &&
                    EncodeKeptService(kept).size() <= 2 * kMaxRecordBytes;
  if (!fits) return refuse("its record is larger than 262144 bytes");
  return {};
}

std::string NodeCheckId(std::string_view check) { return std::string(".").append(check); }

Entry NodeCheck(Check check) {
  Entry entry{.id = NodeCheckId(check.definition.id), .name = {}, .value = {}};
  entry.checks.push_back(std::move(check));
  entry.kind = EntryKind::kNode;
  return entry;
}

std::size_t OutputRoom(std::size_t checks) {
  return checks == 0 ? kMaxCutOutputBytes : std::min(kMaxCutOutputBytes, kMaxOutputsBytes / checks);
}

std::string CleanOutput(std::string_view output, std::size_t max_bytes) {
  std::string clean;
  while (!output.empty()) {
    const Utf8Character c = ReadUtf8(output);
    output.remove_prefix(c.size_bytes);
    const bool is_kept = c.code_point >= 0x20 || c.code_point == '\n' || c.code_point == '\t';
    const std::size_t before = clean.size();
    AppendUtf8(is_kept && c.code_point != 0x7f ? c.code_point : U' ', clean);
    if (clean.size() <= max_bytes) continue;
    clean.resize(before);
    break;
  }
  return clean;
}

}  // namespace kvorum::sync
