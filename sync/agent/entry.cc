#include "sync/agent/entry.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "base/utf8.h"
#include "sync/agent/catalog.h"

namespace kvorum::sync {
namespace {

constexpr std::array<std::string_view, 3> kHealthNames = {"passing", "warning", "critical"};
constexpr std::array<std::string_view, 4> kKindNames = {"ttl", "http", "tcp", "exec"};
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

Result<void> ValidateCheck(const CheckDefinition& check) {
  KV_RETURN_IF_ERROR(ValidateName("the check's id", check.id));
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kInvalidArgument, "check " + check.id + ": " + std::string(why));
  };
  const bool has_target = check.kind == CheckKind::kHttp || check.kind == CheckKind::kTcp;
  if (has_target == check.target.empty())
    return refuse(has_target ? "it has no target" : "its kind has no target");
  // It becomes the head of a request, in which a line end would begin another header.
  if (std::ranges::any_of(check.target, IsSpaceOrControl) ||
      std::ranges::any_of(check.tls.server_name, IsSpaceOrControl))
    return refuse("its target has a space or a control character");
  if ((check.kind == CheckKind::kExec) == check.command.empty())
    return refuse(check.command.empty() ? "it has no command" : "its kind has no command");
  const bool is_https = check.kind == CheckKind::kHttp && check.target.starts_with("https://");
  if (check.kind == CheckKind::kHttp && !is_https && !check.target.starts_with("http://"))
    return refuse("its target is not an http:// or https:// URL");
  if (!is_https && check.tls != CheckTls{})
    return refuse("it has TLS options, and its target is not an https:// URL");
  if (check.interval < kLeastInterval) return refuse("its interval is below 100 ms");
  if (check.interval > kMostInterval) return refuse("its interval is beyond 365 days");
  if (check.timeout <= Duration::zero()) return refuse("its time-out is not positive");
  if (check.timeout > kMostInterval) return refuse("its time-out is beyond 365 days");
  if (check.successes_before_passing < 1 || check.failures_before_critical < 1)
    return refuse("its thresholds are not positive");
  return {};
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

Result<void> ValidateEntry(const Entry& entry) {
  KV_RETURN_IF_ERROR(ValidateId(entry.id));
  KV_RETURN_IF_ERROR(ValidateName("the name", entry.name));
  const auto refuse = [&](const std::string& why) {
    return Fail(Code::kInvalidArgument, "entry " + entry.id + ": " + why);
  };
  if (entry.checks.size() > kMaxChecks) return refuse("it has more than 16 checks");
  std::set<std::string_view> ids;
  CatalogRecord record{.id = entry.id, .name = entry.name, .value = entry.value};
  for (const Check& check : entry.checks) {
    if (auto valid = ValidateCheck(check.definition); !valid) return refuse(valid.error().message);
    if (!ids.insert(check.definition.id).second)
      return refuse("two checks are called " + check.definition.id);
    record.checks.push_back({.id = check.definition.id});
  }
  // The value alone first: an encoding of too much takes its time.
  const bool fits =
      entry.value.size() <= kMaxRecordBytes && EncodeRecord(record).size() <= kMaxRecordBytes;
  if (!fits) return refuse("its record is larger than 262144 bytes");
  return {};
}

std::string CleanOutput(std::string_view output) {
  std::string clean;
  while (!output.empty()) {
    const Utf8Character c = ReadUtf8(output);
    output.remove_prefix(c.size_bytes);
    const bool is_kept = c.code_point >= 0x20 || c.code_point == '\n' || c.code_point == '\t';
    const std::size_t before = clean.size();
    AppendUtf8(is_kept && c.code_point != 0x7f ? c.code_point : U' ', clean);
    if (clean.size() <= kMaxOutputBytes) continue;
    clean.resize(before);
    break;
  }
  return clean;
}

}  // namespace kvorum::sync
