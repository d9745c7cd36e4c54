#include "server/options.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <variant>

#include "base/duration_text.h"
#include "server/flag_table.h"
#include "server/options_check.h"

namespace kvorum::server {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kDefaultQuotaBytes = std::uint64_t{2} << 30;

// Names of old flags that scripts still pass; parsed and forgotten.
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
constexpr std::string_view kForgottenSwitches[] = {"force", "snapshot", "v", "vv"};

std::string EnvironmentName(std::string_view flag) {
  std::string name = "ETCD_";
  for (const char c : flag)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::optional<bool> ParseBool(std::string_view text) {
  static constexpr std::string_view kTrue[] = {"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::string_view kFalse[] = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, text) != std::end(kTrue)) return true;
  if (std::ranges::find(kFalse, text) != std::end(kFalse)) return false;
  return std::nullopt;
}

// Decimal, or with Go's 0x, 0o, 0b prefixes.
template <class Integer>
std::optional<Integer> ParseInteger(std::string_view text) {
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text.front() == '-';
    if (negative && std::is_unsigned_v<Integer>) return std::nullopt;
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0') {
    const char prefix = static_cast<char>(std::tolower(static_cast<unsigned char>(text[1])));
    if (prefix == 'x') base = 16;
    if (prefix == 'o') base = 8;
    if (prefix == 'b') base = 2;
    if (base != 10) text.remove_prefix(2);
  }
  if (text.starts_with('-')) return std::nullopt;  // a second sign
  std::string digits(text);
  if (negative) digits.insert(digits.begin(), '-');
  Integer value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size() || text.empty())
    return std::nullopt;
  return value;
}

std::vector<std::string> SplitCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

// Puts the text into the flag's field; the reason if it does not fit.
std::optional<std::string> Assign(const Flag& flag, std::string_view text, Options& options) {
  const auto assign = [&]<class T>(T Options::* field,
                                   std::optional<T> value) -> std::optional<std::string> {
    if (!value.has_value()) return "parse error";
    options.*field = std::move(*value);
    return std::nullopt;
  };
  return std::visit(
      [&](auto field) -> std::optional<std::string> {
        using T = decltype(field);
        if constexpr (std::is_same_v<T, Text>) {
          if (field.boolean && !ParseBool(text)) return "parse error";
          return std::nullopt;
        } else if constexpr (std::is_same_v<T, std::string Options::*>) {
          return assign(field, std::optional(std::string(text)));
        } else if constexpr (std::is_same_v<T, std::uint64_t Options::*>) {
          return assign(field, ParseInteger<std::uint64_t>(text));
        } else if constexpr (std::is_same_v<T, std::int64_t Options::*>) {
          return assign(field, ParseInteger<std::int64_t>(text));
        } else if constexpr (std::is_same_v<T, bool Options::*>) {
          return assign(field, ParseBool(text));
        } else if constexpr (std::is_same_v<T, nanoseconds Options::*>) {
          const auto duration = ParseDuration(text);
          return assign(field, duration ? std::optional(*duration) : std::nullopt);
        } else {
          return assign(field, std::optional(SplitCommas(text)));
        }
      },
      flag.field);
}

// A value equal to the default, whatever its spelling, asks for nothing that is not there.
bool EqualsDefault(const Flag& flag, std::string_view text) {
  if (text == flag.default_text) return true;
  if (IsBoolean(flag)) return ParseBool(text) == ParseBool(flag.default_text);
  const auto as_duration = ParseDuration(text);
  const auto default_duration = ParseDuration(flag.default_text);
  return as_duration && default_duration && *as_duration == *default_duration;
}

std::optional<UsageError> Refuse(const Flag& flag, std::string_view text) {
  if (flag.support != Support::kNotYet || EqualsDefault(flag, text)) return std::nullopt;
  return UsageError{1, "kvorum: --" + std::string(flag.name) +
                           " is not supported by this version; refusing to ignore it"};
}

UsageError BadValue(const Flag& flag, std::string_view text, const std::string& reason) {
  return {2, (IsBoolean(flag) ? "invalid boolean value \"" : "invalid value \"") +
                 std::string(text) + "\" for " + (IsBoolean(flag) ? "-" : "flag -") +
                 std::string(flag.name) + ": " + reason};
}

std::optional<UsageError> ReadArguments(std::span<const char* const> arguments, GivenFlags& given,
                                        ParseOutcome& outcome) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") {
      const bool terminator = argument == "--";
      if (terminator && i + 1 == arguments.size()) return std::nullopt;
      return UsageError{1, "\"" + std::string(terminator ? arguments[i + 1] : argument) +
                               "\" is not a valid flag"};
    }
    std::string_view name = argument.substr(argument[1] == '-' ? 2 : 1);
    std::optional<std::string_view> value;
    if (const std::size_t equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    if (name.empty() || name[0] == '-')
      return UsageError{2, "bad flag syntax: " + std::string(argument)};
    if (name == "h" || name == "help") {
      outcome = ParseOutcome::kHelp;
      return std::nullopt;
    }
    if (name == "version") {
      if (!value || ParseBool(*value) == true) outcome = ParseOutcome::kVersion;
      continue;
    }
    const Flag* flag = FindFlag(name);
    const bool forgotten = std::ranges::find(kForgotten, name) != std::end(kForgotten);
    if (flag == nullptr && !forgotten) {
      return UsageError{2, "flag provided but not defined: -" + std::string(name)};
    }
    const bool boolean = flag != nullptr ? IsBoolean(*flag)
                                         : std::ranges::find(kForgottenSwitches, name) !=
                                               std::end(kForgottenSwitches);
    if (!value && boolean) value = "true";
    if (!value) {
      if (i + 1 == arguments.size())
        return UsageError{2, "flag needs an argument: -" + std::string(name)};
      value = arguments[++i];
    }
    if (flag != nullptr) given[flag->name] = *value;
  }
  return std::nullopt;
}

std::optional<UsageError> ReadEnvironment(std::span<const char* const> environment,
                                          GivenFlags& given, std::vector<std::string>& warnings) {
  std::map<std::string, const Flag*> by_name;
  for (const Flag& flag : Flags()) by_name[EnvironmentName(flag.name)] = &flag;
  for (const std::string_view entry : environment) {
    if (!entry.starts_with("ETCD_")) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(entry.substr(0, equals));
    const std::string_view value = entry.substr(equals + 1);
    const auto it = by_name.find(name);
    if (it == by_name.end()) {
      if (name != "ETCD_UNSUPPORTED_ARCH")
        warnings.push_back("unrecognized environment variable " + name);
      continue;
    }
    if (value.empty()) continue;
    if (given.contains(it->second->name)) {
      return UsageError{1, "conflicting environment variable \"" + name +
                               "\" is shadowed by corresponding command-line flag \"--" +
                               std::string(it->second->name) +
                               "\" (either unset environment variable or disable flag)"};
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
  if (auto error = ReadArguments(arguments, given, parsed.outcome)) return std::unexpected(*error);
  if (parsed.outcome != ParseOutcome::kRun) return parsed;
  // A value that the command line itself got wrong is told before the environment is looked at.
  const auto assign_all = [&]() -> std::optional<UsageError> {
    for (const auto& [name, text] : given) {
      const Flag& flag = *FindFlag(name);
      if (const auto reason = Assign(flag, text, parsed.options))
        return BadValue(flag, text, *reason);
      if (auto error = Refuse(flag, text)) return error;
    }
    return std::nullopt;
  };
  if (auto error = assign_all()) return std::unexpected(*error);
  if (auto error = ReadEnvironment(environment, given, parsed.warnings))
    return std::unexpected(*error);
  if (auto error = assign_all()) return std::unexpected(*error);
  if (auto error = CheckOptions(parsed.options, given)) return std::unexpected(*error);
  if (parsed.options.data_dir.empty()) parsed.options.data_dir = parsed.options.name + ".etcd";
  if (parsed.options.log_level == "dpanic") parsed.options.log_level = "panic";
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
