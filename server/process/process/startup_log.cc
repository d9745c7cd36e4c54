#include "server/process/process/startup_log.h"

#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "api/version.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "base/text/human_bytes.h"
#include "server/process/settings/compaction_retention.h"

namespace kvorum::server {
namespace {

constexpr std::uint64_t kRecommendedQuotaBytes = std::uint64_t{8} << 30;
constexpr std::uint64_t kRecommendedRequestBytes = std::uint64_t{10} << 20;

std::string Milliseconds(std::uint64_t ms) { return FormatDuration(std::chrono::milliseconds(ms)); }

// Its name alone: a password may follow it.
std::string DiscoveryUserName(const Options& options) {
  return options.discovery_user.substr(0, options.discovery_user.find(':'));
}

std::string RetentionText(const Options& options) {
  const auto policy =
      ParseCompactionRetention(options.auto_compaction_mode, options.auto_compaction_retention);
  if (!policy.has_value()) return options.auto_compaction_retention;  // refused before
  return FormatDuration(policy->mode == CompactionPolicy::Mode::kRevision
                            ? Duration(policy->kept_revisions)
                            : policy->period);
}

// etcd's lines, word for word: operators' rules match them.
void LogQuota(const Options& options) {
  const std::int64_t bytes = options.ReportedQuotaBytes();
  if (bytes < 0) {
    KV_INFO("disabled backend quota", {"quota-size-bytes", bytes});
    return;
  }
  const auto size = static_cast<std::uint64_t>(bytes);
  if (options.quota_backend_bytes == 0) {
    KV_INFO("enabled backend quota with default value", {"quota-size-bytes", bytes},
            {"quota-size", HumanBytes(size)});
    return;
  }
  if (size > kRecommendedQuotaBytes) {
    KV_WARN("quota exceeds the maximum value", {"quota-size-bytes", bytes},
            {"quota-size", HumanBytes(size)}, {"quota-maximum-size-bytes", kRecommendedQuotaBytes},
            {"quota-maximum-size", HumanBytes(kRecommendedQuotaBytes)});
  }
  KV_INFO("enabled backend quota", {"quota-size-bytes", bytes}, {"quota-size", HumanBytes(size)});
}

void LogRequestLimit(const Options& options) {
  if (options.max_request_bytes <= kRecommendedRequestBytes) return;
  KV_WARN("exceeded recommended request limit", {"max-request-bytes", options.max_request_bytes},
          {"max-request-size", HumanBytes(options.max_request_bytes)},
          {"recommended-request-bytes", kRecommendedRequestBytes},
          {"recommended-request-size", HumanBytes(kRecommendedRequestBytes)});
}

}  // namespace

void LogStartup(const Options& options) {
  const std::string retention = RetentionText(options);
  KV_INFO("starting an etcd server", {"etcd-version", kApiVersion}, {"server", "kvorum"},
          {"max-cpu-available", std::uint64_t{std::thread::hardware_concurrency()}},
          {"name", options.name}, {"data-dir", options.data_dir}, {"wal-dir", options.wal_dir},
          {"force-new-cluster", options.force_new_cluster},
          {"heartbeat-interval", Milliseconds(options.heartbeat_ms)},
          {"election-timeout", Milliseconds(options.election_ms)},
          {"initial-election-tick-advance", options.initial_election_tick_advance},
          {"snapshot-count", options.snapshot_count}, {"max-wals", options.max_wals},
          {"max-snapshots", options.max_snapshots},
          {"snapshot-catchup-entries", options.snapshot_catchup_entries},
          {"initial-advertise-peer-urls", options.initial_advertise_peer_urls},
          {"listen-peer-urls", options.listen_peer_urls},
          {"advertise-client-urls", options.advertise_client_urls},
          {"listen-client-urls", options.listen_client_urls},
          {"initial-cluster", options.EffectiveInitialCluster()},
          {"initial-cluster-state", options.initial_cluster_state},
          {"initial-cluster-token", options.initial_cluster_token},
          {"quota-backend-bytes", options.ReportedQuotaBytes()},
          {"max-request-bytes", options.max_request_bytes},
          {"max-concurrent-streams", options.max_concurrent_streams},
          {"pre-vote", options.pre_vote}, {"feature-gates", options.feature_gates},
          {"corrupt-check-time-interval", FormatDuration(options.corrupt_check_time)},
          {"compact-check-time-interval", FormatDuration(options.compact_hash_check_time)},
          {"auto-compaction-mode", options.auto_compaction_mode},
          {"auto-compaction-retention", retention}, {"auto-compaction-interval", retention},
          {"discovery-token", options.discovery_token},
          {"discovery-endpoints", fmt::format("{}", fmt::join(options.discovery_endpoints, ","))},
          {"discovery-dial-timeout", FormatDuration(options.discovery_dial_timeout)},
          {"discovery-request-timeout", FormatDuration(options.discovery_request_timeout)},
          {"discovery-keepalive-time", FormatDuration(options.discovery_keepalive_time)},
          {"discovery-keepalive-timeout", FormatDuration(options.discovery_keepalive_timeout)},
          {"discovery-insecure-transport", options.discovery_insecure_transport},
          {"discovery-insecure-skip-tls-verify", options.discovery_insecure_skip_tls_verify},
          {"discovery-cert", options.discovery_cert}, {"discovery-key", options.discovery_key},
          {"discovery-cacert", options.discovery_cacert},
          {"discovery-user", DiscoveryUserName(options)}, {"max-learners", options.max_learners},
          {"v2-deprecation", "write-only"});  // regardless of the request, as in etcd
  LogQuota(options);
  LogRequestLimit(options);
}

}  // namespace kvorum::server
