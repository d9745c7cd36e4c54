#include "server/process/startup_log.h"

#include <cstdint>
#include <string>
#include <thread>

#include "base/logging.h"
#include "server/messages/version.h"

namespace kvorum::server {
namespace {

// As Go prints a duration below a minute, which these are.
std::string Milliseconds(std::uint64_t ms) {
  if (ms < 1'000) return std::to_string(ms) + "ms";
  std::string seconds = std::to_string(ms / 1'000);
  if (const std::uint64_t rest = ms % 1'000; rest != 0) {
    std::string digits = std::to_string(1'000 + rest).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    seconds += "." + digits;
  }
  return seconds + "s";
}

}  // namespace

void LogStartup(const Options& options) {
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
          {"max-learners", options.max_learners},
          {"v2-deprecation", "write-only"});  // whatever was asked for, as there
}

}  // namespace kvorum::server
