#include "server/process/settings/settings_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/letter_case.h"
#include "base/text/go_number.h"
#include "base/text/go_quote.h"
#include "base/words.h"
#include "server/process/settings/flag_value.h"

namespace kvorum::server {
namespace {

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

// Switches that are not settings: what to do in place of serving.
struct Instead {
  std::string_view name;
  ParseOutcome outcome;
};
constexpr Instead kInstead[] = {{"version", ParseOutcome::kVersion},
                                {"config-check", ParseOutcome::kCheck},
                                {"config-sample", ParseOutcome::kSample}};

}  // namespace

std::string EnvironmentName(std::string_view flag) {
  std::string name = "ETCD_";
  for (const char c : flag) name += c == '-' ? '_' : UpperCase(c);
  return name;
}

SettingsReader::Target SettingsReader::Find(std::string_view name) {
  Target target;
  target.flag = FindFlag(name);
  if (target.flag == nullptr) target.old = FindOldSpelling(name);
  if (target.old != nullptr && !target.old->flag.empty()) target.flag = FindFlag(target.old->flag);
  target.is_forgotten = std::ranges::find(kForgotten, name) != std::end(kForgotten);
  target.is_switch =
      target.is_forgotten || (target.flag != nullptr && IsBoolean(*target.flag)) ||
      (target.old != nullptr && (target.old->is_switch || !target.old->gate.empty()));
  return target;
}

void SettingsReader::Fault(int exit_code, std::string message) {
  reading_.faults.push_back({exit_code, std::move(message)});
}

void SettingsReader::BadArgument(std::string_view name, bool is_switch, std::string_view text,
                                 const std::string& reason) {
  Fault(2, (is_switch ? "invalid boolean value " : "invalid value ") + GoQuote(text) + " for " +
               (is_switch ? "-" : "flag -") + std::string(name) + ": " + reason);
}

ValueProblem SettingsReader::Store(const Target& target, std::string_view text,
                                   SettingSource source) {
  if (target.flag != nullptr) {
    if (auto problem = Assign(*target.flag, text, reading_.parsed.options)) return problem;
    reading_.parsed.given[std::string(target.flag->name)] = {std::string(text), source};
  } else if (target.old != nullptr && !target.old->gate.empty()) {
    if (!ParseBool(text)) return "parse error";
    old_gates_[std::string(target.old->gate)] = {std::string(text), std::string(target.old->name)};
  }
  if (target.old != nullptr) reading_.parsed.warnings.push_back(WarningOf(*target.old, text));
  return std::nullopt;
}

bool SettingsReader::ReadArguments(std::span<const char* const> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") {
      const bool terminator = argument == "--";
      if (terminator && i + 1 == arguments.size()) return true;
      Fault(1, "\"" + std::string(terminator ? arguments[i + 1] : argument) +
                   "\" is not a valid flag");
      return true;  // the rest are not flags either
    }
    auto [name, value] = Cut(argument.substr(argument[1] == '-' ? 2 : 1), '=');
    if (name.empty() || name[0] == '-') {
      Fault(2, "bad flag syntax: " + std::string(argument));
      continue;
    }
    if (name == "h" || name == "help") {
      reading_.parsed.outcome = ParseOutcome::kHelp;
      return false;
    }
    if (const auto* const instead = std::ranges::find(kInstead, name, &Instead::name);
        instead != std::end(kInstead)) {
      const auto is_asked = value ? ParseBool(*value) : Result<bool>(true);
      if (!is_asked.has_value()) {
        BadArgument(name, true, *value, "parse error");
      } else {
        reading_.parsed.outcome = *is_asked ? instead->outcome : ParseOutcome::kRun;
      }
      continue;
    }
    const Target target = Find(name);
    if (target.flag == nullptr && target.old == nullptr && !target.is_forgotten) {
      Fault(2, "flag provided but not defined: -" + std::string(name));
      continue;
    }
    if (!value && target.is_switch) value = "true";
    if (!value) {
      if (i + 1 == arguments.size()) {
        Fault(2, "flag needs an argument: -" + std::string(name));
        return true;
      }
      value = arguments[++i];
    }
    if (const auto reason = Store(target, *value, SettingSource::kFlag))
      BadArgument(name, target.is_switch, *value, *reason);
  }
  return true;
}

void SettingsReader::ReadEnvironment(std::span<const char* const> environment) {
  std::map<std::string, std::string_view> by_variable;
  for (const Flag& flag : Flags()) by_variable[EnvironmentName(flag.name)] = flag.name;
  for (const OldSpelling& old : OldSpellings()) by_variable[EnvironmentName(old.name)] = old.name;
  for (const std::string_view entry : environment) {
    if (!entry.starts_with("ETCD_")) continue;
    const auto [variable, set] = Cut(entry, '=');
    if (!set.has_value()) continue;
    const std::string name(variable);
    const std::string_view value = *set;
    const auto it = by_variable.find(name);
    if (it == by_variable.end()) {
      if (name != "ETCD_UNSUPPORTED_ARCH")
        reading_.parsed.warnings.push_back("unrecognized environment variable " + name);
      continue;
    }
    if (value.empty()) continue;
    const Target target = Find(it->second);
    const std::string_view flag = target.flag != nullptr ? target.flag->name : it->second;
    if (const auto given = reading_.parsed.given.find(flag);
        given != reading_.parsed.given.end() && given->second.source == SettingSource::kFlag) {
      Fault(1, "conflicting environment variable \"" + name +
                   "\" is shadowed by corresponding command-line flag \"--" + std::string(flag) +
                   "\" (either unset environment variable or disable flag)");
      continue;
    }
    if (const auto reason = Store(target, value, SettingSource::kEnvironment))
      Fault(1, "invalid value " + GoQuote(value) + " for " + name + ": " + *reason);
  }
}

void SettingsReader::BeginFile(std::string path) {
  reading_.parsed.options = {};
  reading_.parsed.given.clear();
  reading_.parsed.warnings.clear();
  reading_.parsed.config_file = std::move(path);
  old_gates_.clear();
}

std::string SettingsReader::Place(std::size_t line) const {
  const std::string& path = reading_.parsed.config_file;
  return line == 0 ? path + ": " : fmt::format("{}:{}: ", path, line);
}

void SettingsReader::FileFault(std::size_t line, const std::string& message) {
  Fault(1, Place(line) + message);
}

void SettingsReader::FileWarning(std::size_t line, const std::string& message) {
  reading_.parsed.warnings.push_back(Place(line) + message);
}

void SettingsReader::SetFromFile(std::string_view key, std::string_view flag, std::string_view text,
                                 std::size_t line) {
  const Target target = Find(flag);
  if (target.flag != nullptr) {
    // An empty text stands for the default where it would not be a value; the file of etcd takes
    // any stage of the v2 store, and replaces this one number.
    if (text.empty() && target.flag->check != nullptr) return;
    if (target.flag->check == CheckV2Deprecation) text = target.flag->default_text;
    if (text == "0" && target.flag->name == "self-signed-cert-validity") return;
  }
  const auto reason = Store(target, text, SettingSource::kFile);
  if (!reason.has_value()) return;
  if (target.flag != nullptr && target.flag->check == CheckUrls)
    return FileFault(line, fmt::format("unexpected error setting up {}: {}", key, *reason));
  FileFault(line, fmt::format("invalid value {} for {}: {}", GoQuote(text), key, *reason));
}

void SettingsReader::MergeOldGates() {
  std::string& gates = reading_.parsed.options.feature_gates;
  const std::string asked = gates;
  for (const auto& [gate, old] : old_gates_) {
    if (asked.find(gate) != std::string::npos) {
      Fault(1, fmt::format("--{}={} and --feature-gates ({}) are both set; keep "
                           "--feature-gates={}=true or --feature-gates={}=false alone",
                           old.spelling, old.value, asked, gate, gate));
      continue;
    }
    gates += (gates.empty() ? "" : ",") + gate + "=" + old.value;
  }
}

}  // namespace kvorum::server
