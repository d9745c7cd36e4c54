#include "server/process/settings/options_check.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/store/open_store.h"
#include "archive/store/s3_place.h"
#include "base/letter_case.h"
#include "base/net/url.h"
#include "base/text/duration_text.h"
#include "base/text/go_quote.h"
#include "base/words.h"
#include "rpc/tls/tls_context.h"
#include "server/integrity/older_members.h"
#include "server/integrity/replica_check.h"
#include "server/process/settings/compaction_retention.h"
#include "server/process/settings/feature_gates.h"
#include "server/process/settings/log_settings.h"

namespace kvorum::server {
namespace {

Result<void> CheckTls(const Options& options) {
  KV_TRY(const rpc::TlsVersion min_version, rpc::ParseTlsVersion(options.tls_min_version));
  KV_TRY(const rpc::TlsVersion max_version, rpc::ParseTlsVersion(options.tls_max_version));
  return rpc::CheckTlsLimits(min_version, max_version, options.cipher_suites);
}

// In etcd's order of checks; each returns the reason or nothing.

std::optional<std::string> FallbackProblem(const Options& options, const GivenFlags&) {
  if (options.discovery_fallback != "proxy") return std::nullopt;
  return "v2 proxy is deprecated, and --discovery-fallback can't be configured as \"proxy\"";
}

std::optional<std::string> LoggingProblem(const Options& options, const GivenFlags&) {
  if (options.logger == "capnslog") return "--logger=capnslog is removed in v3.5";
  if (options.logger != "zap") return "unknown logger option " + GoQuote(options.logger);
  const auto& outputs = options.log_outputs;
  const auto is_default = [](const std::string& output) { return output == "default"; };
  if (std::ranges::any_of(outputs, is_default) && !std::ranges::all_of(outputs, is_default))
    return "multi logoutput for \"default\" is not supported yet";
  for (const std::string& output : outputs) {
    if (output == "systemd/journal" && outputs.size() > 1) {
      std::string all;
      for (const std::string& each : outputs) all += (all.empty() ? "" : " ") + GoQuote(each);
      return "running with systemd/journal but other '--log-outputs' values ([" + all +
             "]) are configured with 'default'; override 'default' value with something else";
    }
    if (const std::size_t scheme = output.find("://"); scheme != std::string::npos) {
      return "open sink " + GoQuote(output) + ": no sink found for scheme " +
             GoQuote(output.substr(0, scheme));
    }
  }
  if (options.log_rotation) {
    if (const auto fit = CheckRotatedOutputs(outputs); !fit.has_value()) return fit.error().message;
    if (const auto rules = ParseLogRotation(options.log_rotation_rules); !rules.has_value())
      return rules.error().message;
  }
  if (!options.log_format.empty() && options.log_format != "json" &&
      options.log_format != "console") {
    return "unknown log format: " + options.log_format + ", supported values json, console";
  }
  return std::nullopt;
}

std::optional<std::string> LogLevelProblem(const Options& options, const GivenFlags&) {
  static constexpr std::string_view kLevels[] = {"",      "debug", "info",   "warn",
                                                 "error", "panic", "dpanic", "fatal"};
  if (std::ranges::find(kLevels, LowerCase(options.log_level)) != std::end(kLevels))
    return std::nullopt;
  return "unrecognized level: " + GoQuote(options.log_level);
}

std::optional<std::string> BindProblem(const std::string& list) {
  const auto urls = ParseUrls(list);
  if (!urls.has_value()) return urls.error().message;
  for (const Url& url : *urls) {
    if (!url.unix_socket() && !url.IsIpOrLocalhost())
      return "expected IP in URL for binding (" + url.text() + ")";
  }
  return std::nullopt;
}

std::optional<std::string> AdvertiseProblem(std::string_view flag, const std::string& list,
                                            std::string_view form) {
  const auto urls = ParseUrls(list);
  if (!urls.has_value()) return urls.error().message;
  std::string all;
  for (const Url& url : *urls) all += (all.empty() ? "" : ",") + url.text();
  for (const Url& url : *urls) {
    if (!url.unix_socket() && url.host().empty()) {
      return "--" + std::string(flag) + " " + GoQuote(all) + " must be " + std::string(form) +
             " (unexpected empty host (" + url.text() + "))";
    }
  }
  return std::nullopt;
}

std::optional<std::string> ListenPeerProblem(const Options& options, const GivenFlags&) {
  return BindProblem(options.listen_peer_urls);
}

std::optional<std::string> ListenClientProblem(const Options& options, const GivenFlags&) {
  if (auto problem = BindProblem(options.listen_client_urls)) return problem;
  if (options.listen_client_http_urls.empty()) return std::nullopt;
  return BindProblem(options.listen_client_http_urls);
}

std::optional<std::string> AdvertisePeerProblem(const Options& options, const GivenFlags&) {
  return AdvertiseProblem("initial-advertise-peer-urls", options.initial_advertise_peer_urls,
                          "\"host:port\"");
}

std::optional<std::string> AdvertiseClientProblem(const Options& options, const GivenFlags& given) {
  // The default does not apply together with a flag of listening URLs.
  if (!given.contains("advertise-client-urls")) return std::nullopt;
  return AdvertiseProblem("advertise-client-urls", options.advertise_client_urls,
                          "in the format \"host:port\", \"unix:/path/to/socket\" or "
                          "\"unixs:/path/to/socket\"");
}

std::optional<std::string> DiscoveryProblem(const Options& options, const GivenFlags&) {
  const auto& endpoints = options.discovery_endpoints;
  const int ways = (options.initial_cluster.empty() ? 0 : 1) +
                   (options.discovery_srv.empty() ? 0 : 1) + (endpoints.empty() ? 0 : 1);
  if (ways > 1) {
    return "multiple discovery or bootstrap flags are set. Choose one of \"initial-cluster\", "
           "\"discovery-endpoints\" or \"discovery-srv\"";
  }
  if (options.discovery_srv.empty() && !options.discovery_srv_name.empty())
    return "--discovery-srv-name needs --discovery-srv";
  if (options.discovery_token.empty() != endpoints.empty())
    return "both --discovery-token and --discovery-endpoints must be set";
  if (std::ranges::any_of(endpoints, [](const auto& each) { return Trim(each).empty(); }))
    return "--discovery-endpoints must not contain empty endpoints";
  return std::nullopt;
}

std::optional<std::string> TimeProblem(const Options& options, const GivenFlags&) {
  if (options.heartbeat_ms == 0) return "--heartbeat-interval must be >0 (set to 0ms)";
  if (options.election_ms == 0) return "--election-timeout must be >0 (set to 0ms)";
  if (options.heartbeat_ms > options.election_ms / 5) {
    return "--election-timeout[" + std::to_string(options.election_ms) +
           "ms] should be at least as 5 times as --heartbeat-interval[" +
           std::to_string(options.heartbeat_ms) + "ms]";
  }
  if (options.election_ms > 50'000) {
    return "--election-timeout[" + std::to_string(options.election_ms) +
           "ms] is too long, and should be set less than 50000ms";
  }
  return std::nullopt;
}

std::optional<std::string> MissingAdvertiseProblem(const Options&, const GivenFlags& given) {
  const auto listens = given.find("listen-client-urls");
  // With a file the default remains.
  if (listens == given.end() || listens->second.source == SettingSource::kFile ||
      given.contains("advertise-client-urls")) {
    return std::nullopt;
  }
  return "--advertise-client-urls is required when --listen-client-urls is set explicitly";
}

std::optional<std::string> CompactionModeProblem(const Options& options, const GivenFlags&) {
  if (options.auto_compaction_mode.empty()) return "undefined auto-compaction-mode";
  if (options.auto_compaction_mode != "periodic" && options.auto_compaction_mode != "revision")
    return "unknown auto-compaction-mode " + GoQuote(options.auto_compaction_mode);
  return std::nullopt;
}

std::optional<std::string> TracingProblem(const Options& options, const GivenFlags&) {
  constexpr std::int64_t kMostPerMillion = 1'000'000;
  if (!options.distributed_tracing) return std::nullopt;
  if (options.tracing_sampling_rate < 0)
    return "distributed tracing configurition is not valid: (tracing sampling rate must be "
           "positive)";
  if (options.tracing_sampling_rate > kMostPerMillion) {
    return "distributed tracing configurition is not valid: (tracing sampling rate must be less "
           "than " +
           std::to_string(kMostPerMillion) + ")";
  }
  return std::nullopt;
}

std::optional<std::string> GatesProblem(const Options& options, const GivenFlags&) {
  const auto gates = ParseFeatureGates(options.feature_gates);
  if (!gates.has_value()) return gates.error();
  if (gates->lease_checkpoint_persist && !gates->lease_checkpoint) {
    return "enabling feature gate LeaseCheckpointPersist requires enabling feature gate "
           "LeaseCheckpoint";
  }
  return std::nullopt;
}

std::optional<std::string> HashCheckProblem(const Options& options, const GivenFlags&) {
  if (options.compact_hash_check_time > std::chrono::nanoseconds(0)) return std::nullopt;
  return "--compact-hash-check-time must be >0 (set to " +
         FormatDuration(options.compact_hash_check_time) + ")";
}

std::optional<std::string> TlsProblem(const Options& options, const GivenFlags&) {
  if (const auto tls = CheckTls(options); !tls.has_value()) return tls.error().message;
  return std::nullopt;
}

std::optional<std::string> RetentionProblem(const Options& options, const GivenFlags&) {
  const auto policy =
      ParseCompactionRetention(options.auto_compaction_mode, options.auto_compaction_retention);
  if (!policy.has_value()) return policy.error().message;
  return std::nullopt;
}

std::optional<std::string> LearnersProblem(const Options& options, const GivenFlags&) {
  if (options.max_learners < 0) return "membership: too many learner members in cluster";
  return std::nullopt;
}

// Settings with which etcd starts, though it cannot serve, and our own flags.

std::optional<std::string> NameProblem(const Options& options, const GivenFlags&) {
  if (options.name.empty()) return "--name must not be empty";
  return std::nullopt;
}

std::optional<std::string> RequestBytesProblem(const Options& options, const GivenFlags&) {
  if (options.max_request_bytes == 0) return "--max-request-bytes must be >0";
  return std::nullopt;
}

std::optional<std::string> IoThreadsProblem(const Options& options, const GivenFlags&) {
  if (options.io_threads > 64) return "--io-threads must be <=64";
  if (!ParseReplicaCheckAction(options.replica_check).has_value())
    return "--replica-check must be off, report, alarm or quarantine";
  if (!ParseOlderMembersAction(options.older_etcd_members).has_value())
    return "--older-etcd-members must be refuse or warn";
  return std::nullopt;
}

std::optional<std::string> SnapshotRateProblem(const Options& options, const GivenFlags&) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;  // a chunk a second
  if (options.snapshot_rate_bytes == 0 || options.snapshot_rate_bytes >= kLeast)
    return std::nullopt;
  return "--snapshot-rate-bytes must be 0 or at least " + std::to_string(kLeast);
}

std::optional<std::string> CompactionIntervalProblem(const Options& options, const GivenFlags&) {
  if (options.auto_compaction_revision_interval <= std::chrono::nanoseconds(0))
    return "--auto-compaction-revision-interval must be >0";
  return std::nullopt;
}

std::optional<std::string> DefragProblem(const Options& options, const GivenFlags&) {
  if (options.auto_defrag_threshold_percent > 99)
    return "--auto-defrag-threshold-percent must be <=99";
  return std::nullopt;
}

std::optional<std::string> ArchiveStoreProblem(const Options& options) {
  if (const auto url = archive::CheckStoreUrl(options.archive_url); !url.has_value())
    return "--archive-url: " + url.error().text;
  const auto style = archive::ParseBucketStyle(options.archive_path_style);
  if (!style.has_value()) return "--archive-path-style must be auto, path or virtual";
  if (!options.archive_url.starts_with("s3://")) {
    const std::pair<std::string_view, const std::string&> of_buckets[] = {
        {"endpoint", options.archive_endpoint},
        {"region", options.archive_region},
        {"credentials-file", options.archive_credentials_file},
        {"ca-file", options.archive_ca_file}};
    for (const auto& [flag, value] : of_buckets) {
      if (!value.empty())
        return "--archive-" + std::string(flag) + " needs an --archive-url of s3://bucket/prefix";
    }
    return std::nullopt;
  }
  const auto place = archive::FindS3Place({.bucket = "bucket",
                                           .endpoint = options.archive_endpoint,
                                           .region = options.archive_region,
                                           .style = *style},
                                          [](const char*) { return std::nullopt; });
  if (!place.has_value()) return "--archive-endpoint or --archive-region: " + place.error().text;
  return std::nullopt;
}

std::optional<std::string> ArchiveProblem(const Options& options, const GivenFlags&) {
  constexpr std::chrono::nanoseconds kLeastInterval = std::chrono::milliseconds(100);
  constexpr std::chrono::nanoseconds kLeastBaseInterval = std::chrono::seconds(1);
  constexpr std::uint64_t kLeastLogBytes = std::uint64_t{64} << 20;  // a segment's
  if (options.archive_url.empty()) return std::nullopt;
  if (auto problem = ArchiveStoreProblem(options)) return problem;
  if (options.archive_interval < kLeastInterval)
    return "--archive-interval must be >=" + FormatDuration(kLeastInterval);
  if (options.archive_base_interval < kLeastBaseInterval)
    return "--archive-base-interval must be >=" + FormatDuration(kLeastBaseInterval);
  if (options.archive_keep_for < std::chrono::nanoseconds(0))
    return "--archive-keep-for must be >=0";
  if (options.archive_max_log_bytes < kLeastLogBytes)
    return "--archive-max-log-bytes must be >=" + std::to_string(kLeastLogBytes);
  return std::nullopt;
}

using Check = std::optional<std::string> (*)(const Options&, const GivenFlags&);

// In etcd's order.
constexpr Check kChecks[] = {FallbackProblem,
                             LoggingProblem,
                             LogLevelProblem,
                             ListenPeerProblem,
                             ListenClientProblem,
                             AdvertisePeerProblem,
                             AdvertiseClientProblem,
                             DiscoveryProblem,
                             TimeProblem,
                             MissingAdvertiseProblem,
                             CompactionModeProblem,
                             TracingProblem,
                             GatesProblem,
                             HashCheckProblem,
                             TlsProblem,
                             RetentionProblem,
                             LearnersProblem,
                             NameProblem,
                             RequestBytesProblem,
                             IoThreadsProblem,
                             SnapshotRateProblem,
                             CompactionIntervalProblem,
                             DefragProblem,
                             ArchiveProblem};

}  // namespace

std::vector<UsageError> CheckOptions(const Options& options, const GivenFlags& given) {
  std::vector<UsageError> faults;
  for (const Check check : kChecks) {
    if (auto problem = check(options, given))
      faults.push_back({check == LogLevelProblem ? 2 : 1, *std::move(problem)});
  }
  return faults;
}

}  // namespace kvorum::server
