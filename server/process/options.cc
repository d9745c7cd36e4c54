#include "server/process/options.h"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "base/duration_text.h"
#include "base/go_number.h"
#include "base/go_quote.h"
#include "base/letter_case.h"
#include "base/words.h"
#include "server/process/feature_gates.h"
#include "server/process/flag_table.h"
#include "server/process/options_check.h"

namespace kvorum::server {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kDefaultQuotaBytes = std::uint64_t{2} << 30;

// Old flags that scripts still pass; parsed and ignored. All are switches: a value is part of the
// same word.
constexpr std::string_view kForgotten[] = {"cluster-active-size",
                                           "cluster-remove-delay",
                                           "cluster-sync-interval",
                                           "config",
                                           "force",
                                           "max-result-buffer",
                                           "max-retry-attempts",
                                           "peer-heartbeat-interval",
                                           "peer-election-timeout",
                                           "retry-interval",
                                           "snapshot",
                                           "v",
                                           "vv",
                                           "test.coverprofile",
                                           "test.outputdir"};

// Flags whose use causes a warning, in etcd's words.
struct Deprecation {
  std::string_view flag;
  std::string_view warning;
};
constexpr Deprecation kDeprecations[] = {
    {"max-snapshots", "--max-snapshots is deprecated in 3.6 and will be decommissioned in 3.8."},
    {"v2-deprecation",
     "--v2-deprecation is deprecated and scheduled for removal in v3.8. The default value is "
     "enforced, ignoring user input."}};

std::string EnvironmentName(std::string_view flag) {
  std::string name = "ETCD_";
  for (const char c : flag) name += c == '-' ? '_' : UpperCase(c);
  return name;
}

std::vector<std::string> SplitCommas(std::string_view text) {
  const auto parts = Split(text, ',');
  return {parts.begin(), parts.end()};
}

// Stores the text in the flag's field; returns the reason if it does not fit.
ValueProblem Assign(const Flag& flag, std::string_view text, Options& options) {
  if (flag.check != nullptr) {
    if (auto problem = flag.check(text)) return problem;
  }
  if (flag.check == CheckUrls && text.empty()) return std::nullopt;
  const auto store = [&](auto field, auto parsed) -> ValueProblem {
    if (!parsed.has_value()) return NumberProblem(parsed.error());
    options.*field = *parsed;
    return std::nullopt;
  };
  return std::visit(
      [&](auto field) -> ValueProblem {
        using T = decltype(field);
        if constexpr (std::is_same_v<T, Text>) {
          if (field.boolean && !ParseBool(text)) return "parse error";
        } else if constexpr (std::is_same_v<T, std::string Options::*>) {
          options.*field = text;
        } else if constexpr (std::is_same_v<T, std::uint64_t Options::*>) {
          return store(field, ParseUint(text, 0));
        } else if constexpr (std::is_same_v<T, std::int64_t Options::*>) {
          return store(field, ParseInt(text, 0));
        } else if constexpr (std::is_same_v<T, bool Options::*>) {
          return store(field, ParseBool(text));
        } else if constexpr (std::is_same_v<T, nanoseconds Options::*>) {
          return store(field, ParseDuration(text));
        } else {
          options.*field = SplitCommas(text);
        }
        return std::nullopt;
      },
      flag.field);
}

// A value equal to the default, however it is written, requires no missing feature; neither does an
// empty one.
bool EqualsDefault(const Flag& flag, std::string_view text) {
  if (text == flag.default_text) return true;
  if (IsBoolean(flag)) return ParseBool(text) == ParseBool(flag.default_text);
  const auto as_duration = ParseDuration(text);
  const auto default_duration = ParseDuration(flag.default_text);
  return as_duration && default_duration && *as_duration == *default_duration;
}

std::optional<UsageError> Refuse(const Flag& flag, std::string_view text) {
  if (flag.support != Support::kNotYet || text.empty() || EqualsDefault(flag, text))
    return std::nullopt;
  return UsageError{1, "kvorum: --" + std::string(flag.name) +
                           " is not supported by this version; refusing to ignore it"};
}

UsageError BadValue(std::string_view name, bool is_boolean, std::string_view text,
                    const std::string& reason) {
  return {2, (is_boolean ? "invalid boolean value " : "invalid value ") + GoQuote(text) + " for " +
                 (is_boolean ? "-" : "flag -") + std::string(name) + ": " + reason};
}

// Each value is checked in its turn, also one that a later one replaces.
std::optional<UsageError> ReadArguments(std::span<const char* const> arguments, GivenFlags& given,
                                        ParsedCommandLine& parsed) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") {
      const bool terminator = argument == "--";
      if (terminator && i + 1 == arguments.size()) return std::nullopt;
      return UsageError{1, "\"" + std::string(terminator ? arguments[i + 1] : argument) +
                               "\" is not a valid flag"};
    }
    auto [name, value] = Cut(argument.substr(argument[1] == '-' ? 2 : 1), '=');
    if (name.empty() || name[0] == '-')
      return UsageError{2, "bad flag syntax: " + std::string(argument)};
    if (name == "h" || name == "help") {
      parsed.outcome = ParseOutcome::kHelp;
      return std::nullopt;
    }
    if (name == "version") {
      const auto is_asked = value ? ParseBool(*value) : Result<bool>(true);
      if (!is_asked.has_value()) return BadValue(name, true, *value, "parse error");
      parsed.outcome = *is_asked ? ParseOutcome::kVersion : ParseOutcome::kRun;
      continue;
    }
    const Flag* flag = FindFlag(name);
    const bool forgotten = std::ranges::find(kForgotten, name) != std::end(kForgotten);
    if (flag == nullptr && !forgotten) {
      return UsageError{2, "flag provided but not defined: -" + std::string(name)};
    }
    const bool is_switch = forgotten || IsBoolean(*flag);
    if (!value && is_switch) value = "true";
    if (!value) {
      if (i + 1 == arguments.size())
        return UsageError{2, "flag needs an argument: -" + std::string(name)};
      value = arguments[++i];
    }
    if (flag == nullptr) continue;
    if (const auto reason = Assign(*flag, *value, parsed.options))
      return BadValue(flag->name, IsBoolean(*flag), *value, *reason);
    given[flag->name] = *value;
  }
  return std::nullopt;
}

std::optional<UsageError> ReadEnvironment(std::span<const char* const> environment,
                                          GivenFlags& given, ParsedCommandLine& parsed) {
  std::map<std::string, const Flag*> by_name;
  for (const Flag& flag : Flags()) by_name[EnvironmentName(flag.name)] = &flag;
  for (const std::string_view entry : environment) {
    if (!entry.starts_with("ETCD_")) continue;
    const auto [variable, set] = Cut(entry, '=');
    if (!set.has_value()) continue;
    const std::string name(variable);
    const std::string_view value = *set;
    const auto it = by_name.find(name);
    if (it == by_name.end()) {
      if (name != "ETCD_UNSUPPORTED_ARCH")
        parsed.warnings.push_back("unrecognized environment variable " + name);
      continue;
    }
    if (value.empty()) continue;
    if (given.contains(it->second->name)) {
      return UsageError{1, "conflicting environment variable \"" + name +
                               "\" is shadowed by corresponding command-line flag \"--" +
                               std::string(it->second->name) +
                               "\" (either unset environment variable or disable flag)"};
    }
    if (const auto reason = Assign(*it->second, value, parsed.options)) {
      return UsageError{1, "invalid value " + GoQuote(value) + " for " + name + ": " + *reason};
    }
    given[it->second->name] = value;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t Options::EffectiveQuotaBytes() const {
  if (quota_backend_bytes < 0) return 0;
  return quota_backend_bytes == 0 ? kDefaultQuotaBytes
                                  : static_cast<std::uint64_t>(quota_backend_bytes);
}

std::int64_t Options::ReportedQuotaBytes() const {
  return quota_backend_bytes < 0 ? quota_backend_bytes
                                 : static_cast<std::int64_t>(EffectiveQuotaBytes());
}

std::chrono::milliseconds Options::RequestTimeout() const {
  return std::chrono::seconds(5) + 2 * std::chrono::milliseconds(election_ms);
}

std::int64_t Options::MinLeaseTtlSeconds() const {
  const std::uint64_t min_ms = 3 * (election_ms / heartbeat_ms) / 2 * heartbeat_ms;
  return static_cast<std::int64_t>((min_ms + 999) / 1000);
}

std::string Options::EffectiveInitialCluster() const {
  if (!initial_cluster.empty()) return initial_cluster;
  std::string members;
  for (const std::string& url : SplitCommas(initial_advertise_peer_urls)) {
    members += (members.empty() ? "" : ",") + name + "=" + url;
  }
  return members;
}

nanoseconds Options::EffectiveWatchProgressInterval() const {
  if (watch_progress_notify_interval.count() <= 0) return std::chrono::minutes(10);
  return std::max<nanoseconds>(watch_progress_notify_interval, std::chrono::milliseconds(100));
}

std::expected<ParsedCommandLine, UsageError> ParseCommandLine(
    std::span<const char* const> arguments, std::span<const char* const> environment) {
  ParsedCommandLine parsed;
  GivenFlags given;
  if (auto error = ReadArguments(arguments, given, parsed)) return std::unexpected(*error);
  if (parsed.outcome != ParseOutcome::kRun) return parsed;
  if (auto error = ReadEnvironment(environment, given, parsed)) return std::unexpected(*error);
  for (const auto& [name, text] : given) {
    if (auto error = Refuse(*FindFlag(name), text)) return std::unexpected(*error);
  }
  if (auto error = CheckOptions(parsed.options, given)) return std::unexpected(*error);
  for (const Deprecation& deprecation : kDeprecations) {
    if (given.contains(deprecation.flag)) parsed.warnings.emplace_back(deprecation.warning);
  }
  const FeatureGates gates = ParseFeatureGates(parsed.options.feature_gates).value();  // checked
  for (const std::string_view gate : gates.without_effect)
    parsed.warnings.push_back("feature gate " + std::string(gate) +
                              " has no effect in this server");
  if (parsed.options.data_dir.empty()) parsed.options.data_dir = parsed.options.name + ".etcd";
  if (parsed.options.snapshot_count == 0) parsed.options.snapshot_count = Options().snapshot_count;
  std::string& level = parsed.options.log_level;
  level = LowerCase(std::move(level));
  if (level.empty()) level = "info";
  if (level == "dpanic") level = "panic";
  if (parsed.options.log_format.empty()) parsed.options.log_format = "json";
  return parsed;
}

std::string HelpText() {
  std::string text =
      "Usage:\n\n  kvorum [flags]\n    Start a kvorum server.\n\n  kvorum --version\n    Show the "
      "version.\n\n"
      "  kvorum -h | --help\n    Show this help.\n\n"
      "Every flag can be set by an environment variable: ETCD_ and its name in capitals, '-' as "
      "'_'.\n";
  std::string_view section;
  for (const Flag& flag : Flags()) {
    if (flag.section != section) {
      section = flag.section;
      text += "\n" + std::string(section) + ":\n";
    }
    text += "  --" + std::string(flag.name) + " '" + std::string(flag.default_text) + "'\n    " +
            std::string(flag.help);
    if (flag.support == Support::kIgnored) text += " (accepted, without effect in this version)";
    if (flag.support == Support::kNotYet)
      text += " (not in this version: other values than the default are refused)";
    text += "\n";
  }
  return text;
}

}  // namespace kvorum::server
