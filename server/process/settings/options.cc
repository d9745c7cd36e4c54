#include "server/process/settings/options.h"

#include <algorithm>
#include <optional>

#include "base/letter_case.h"
#include "base/words.h"
#include "server/process/settings/config_file.h"
#include "server/process/settings/feature_gates.h"
#include "server/process/settings/flag_table.h"
#include "server/process/settings/flag_value.h"
#include "server/process/settings/options_check.h"
#include "server/process/settings/settings_reader.h"

namespace kvorum::server {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kDefaultQuotaBytes = std::uint64_t{2} << 30;

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

// The lines that a start logs about settings that are old or have no effect.
void AddWarnings(ParsedCommandLine& parsed) {
  for (const Deprecation& deprecation : kDeprecations) {
    if (parsed.given.contains(deprecation.flag)) parsed.warnings.emplace_back(deprecation.warning);
  }
  for (const auto& [name, value] : parsed.given) {
    const Flag& flag = *FindFlag(name);
    const bool is_deprecated =
        std::ranges::find(kDeprecations, name, &Deprecation::flag) != std::end(kDeprecations);
    if (flag.support == Support::kIgnored && !is_deprecated && !value.text.empty() &&
        !EqualsDefault(flag, value.text)) {
      parsed.warnings.push_back("--" + name + " has no effect here: " + std::string(flag.help));
    }
  }
  if (const auto gates = ParseFeatureGates(parsed.options.feature_gates); gates.has_value()) {
    for (const auto& [name, reason] : gates->without_effect) {
      parsed.warnings.push_back("feature gate " + std::string(name) +
                                " has no effect here: " + std::string(reason));
    }
  }
}

// The values that stand for others.
void Complete(Options& options) {
  if (options.data_dir.empty()) options.data_dir = options.name + ".etcd";
  if (options.warning_unary_request_duration == nanoseconds(0))
    options.warning_unary_request_duration = Options().warning_unary_request_duration;
  if (options.snapshot_count == 0) options.snapshot_count = Options().snapshot_count;
  std::string& level = options.log_level;
  level = LowerCase(std::move(level));
  if (level.empty()) level = "info";
  if (level == "dpanic") level = "panic";
  if (options.log_format.empty()) options.log_format = "json";
  if (!options.discovery_endpoints.empty()) options.initial_cluster_token = options.discovery_token;
  std::ranges::sort(options.discovery_endpoints);
  const auto doubles = std::ranges::unique(options.discovery_endpoints);
  options.discovery_endpoints.erase(doubles.begin(), doubles.end());
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
  for (const std::string_view url : Split(initial_advertise_peer_urls, ',')) {
    members += (members.empty() ? "" : ",") + name + "=" + std::string(url);
  }
  return members;
}

nanoseconds Options::EffectiveWatchProgressInterval() const {
  if (watch_progress_notify_interval.count() <= 0) return std::chrono::minutes(10);
  return std::max<nanoseconds>(watch_progress_notify_interval, std::chrono::milliseconds(100));
}

namespace {

std::string ConfigFileOf(const ParsedCommandLine& parsed,
                         std::span<const char* const> environment) {
  constexpr std::string_view kVariable = "ETCD_CONFIG_FILE=";
  if (const auto given = parsed.given.find("config-file"); given != parsed.given.end()) {
    if (!given->second.text.empty()) return given->second.text;
  }
  for (const std::string_view entry : environment) {
    if (entry.starts_with(kVariable)) return std::string(entry.substr(kVariable.size()));
  }
  return {};
}

}  // namespace

Reading ReadSettings(std::span<const char* const> arguments,
                     std::span<const char* const> environment) {
  Reading reading;
  ParsedCommandLine& parsed = reading.parsed;
  SettingsReader reader(reading);
  if (!reader.ReadArguments(arguments) || parsed.outcome == ParseOutcome::kVersion ||
      parsed.outcome == ParseOutcome::kSample) {
    return reading;
  }
  if (std::string file = ConfigFileOf(parsed, environment); !file.empty()) {
    const auto text = ReadConfigText(file);
    reader.BeginFile(std::move(file));
    if (!text.has_value()) {
      reading.faults.push_back({1, text.error().message});
      return reading;
    }
    ReadConfigFile(*text, reader);
  } else {
    reader.ReadEnvironment(environment);
  }
  reader.MergeOldGates();
  for (UsageError& fault : CheckOptions(parsed.options, parsed.given))
    reading.faults.push_back(std::move(fault));
  AddWarnings(parsed);
  Complete(parsed.options);
  return reading;
}

std::string HelpText() {
  std::string text =
      "Usage:\n\n  kvorum [flags]\n    Start a kvorum server.\n\n  kvorum --version\n    Show the "
      "version.\n\n"
      "  kvorum -h | --help\n    Show this help.\n\n"
      "  kvorum --config-check [flags]\n    Show every setting with its value and where it came "
      "from, and all that is\n    wrong with them, without starting; the exit code is 1 with a "
      "fault.\n\n"
      "  kvorum --config-sample\n    Print a sample of the configuration file.\n\n"
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
    if (flag.support == Support::kIgnored) text += " (accepted, without effect)";
    text += "\n";
  }
  return text;
}

}  // namespace kvorum::server
