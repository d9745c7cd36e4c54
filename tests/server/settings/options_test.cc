// The flags' defaults, and the fields that they reach.
#include "server/process/settings/options.h"

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "tests/server/settings/command_line.h"

namespace kvorum::server {
namespace {

using namespace std::chrono_literals;

// The specification's table of flags.
const std::map<std::string, std::string> kDefaults = {
    {"name", "default"},
    {"data-dir", ""},
    {"wal-dir", ""},
    {"snapshot-count", "10000"},
    {"heartbeat-interval", "100"},
    {"election-timeout", "1000"},
    {"initial-election-tick-advance", "true"},
    {"listen-peer-urls", "http://localhost:2380"},
    {"listen-client-urls", "http://localhost:2379"},
    {"listen-client-http-urls", ""},
    {"listen-metrics-urls", ""},
    {"max-wals", "5"},
    {"max-snapshots", "5"},
    {"quota-backend-bytes", "0"},
    {"max-txn-ops", "128"},
    {"max-request-bytes", "1572864"},
    {"max-concurrent-streams", "4294967295"},
    {"grpc-keepalive-min-time", "5s"},
    {"grpc-keepalive-interval", "2h0m0s"},
    {"grpc-keepalive-timeout", "20s"},
    {"memory-mlock", "false"},
    {"backend-bbolt-freelist-type", "map"},
    {"backend-batch-interval", "0s"},
    {"backend-batch-limit", "0"},
    {"socket-reuse-port", "false"},
    {"socket-reuse-address", "false"},
    {"enable-grpc-gateway", "true"},
    {"raft-read-timeout", "5s"},
    {"raft-write-timeout", "5s"},
    {"feature-gates", ""},
    {"cert-file", ""},
    {"key-file", ""},
    {"trusted-ca-file", ""},
    {"client-cert-auth", "false"},
    {"client-cert-file", ""},
    {"client-key-file", ""},
    {"client-crl-file", ""},
    {"peer-crl-file", ""},
    {"client-cert-allowed-cn", ""},  // ours
    {"client-cert-allowed-hostname", ""},
    {"auto-tls", "false"},
    {"peer-auto-tls", "false"},
    {"self-signed-cert-validity", "1"},
    {"peer-cert-file", ""},
    {"peer-key-file", ""},
    {"peer-trusted-ca-file", ""},
    {"peer-client-cert-auth", "false"},
    {"peer-client-cert-file", ""},
    {"peer-client-key-file", ""},
    {"peer-cert-allowed-cn", ""},
    {"peer-cert-allowed-hostname", ""},
    {"peer-skip-client-san-verification", "false"},
    {"cipher-suites", ""},
    {"tls-min-version", "TLS1.2"},
    {"tls-max-version", ""},
    {"cors", "*"},
    {"host-whitelist", "*"},
    {"initial-advertise-peer-urls", "http://localhost:2380"},
    {"initial-cluster", ""},  // made from name and initial-advertise-peer-urls
    {"initial-cluster-state", "new"},
    {"initial-cluster-token", "etcd-cluster"},
    {"advertise-client-urls", "http://localhost:2379"},
    {"strict-reconfig-check", "true"},
    {"pre-vote", "true"},
    {"auto-compaction-mode", "periodic"},
    {"auto-compaction-retention", "0"},
    {"discovery-srv", ""},
    {"discovery-srv-name", ""},
    {"discovery-token", ""},
    {"discovery-endpoints", ""},
    {"discovery-dial-timeout", "2s"},
    {"discovery-request-timeout", "5s"},
    {"discovery-keepalive-time", "2s"},
    {"discovery-keepalive-timeout", "6s"},
    {"discovery-insecure-transport", "true"},
    {"discovery-insecure-skip-tls-verify", "false"},
    {"discovery-cert", ""},
    {"discovery-key", ""},
    {"discovery-cacert", ""},
    {"discovery-user", ""},
    {"discovery-password", ""},
    {"discovery-fallback", "exit"},
    {"v2-deprecation", "write-only"},
    {"auth-token", "simple"},
    {"bcrypt-cost", "10"},
    {"auth-token-ttl", "300"},
    {"enable-pprof", "false"},
    {"metrics", "basic"},
    {"enable-distributed-tracing", "false"},
    {"distributed-tracing-address", "localhost:4317"},
    {"distributed-tracing-service-name", "etcd"},
    {"distributed-tracing-instance-id", ""},
    {"distributed-tracing-sampling-rate", "0"},
    {"logger", "zap"},
    {"log-outputs", "default"},
    {"log-level", "info"},
    {"log-format", "json"},
    {"enable-log-rotation", "false"},
    {"log-rotation-config-json",
     R"({"maxsize": 100, "maxage": 0, "maxbackups": 0, "localtime": false, "compress": false})"},
    {"warning-unary-request-duration", "300ms"},
    {"corrupt-check-time", "0s"},
    {"compact-hash-check-time", "1m0s"},
    {"compaction-batch-limit", "0"},
    {"compaction-sleep-interval", "0s"},
    {"watch-progress-notify-interval", "0s"},
    {"downgrade-check-time", "5s"},
    {"warning-apply-duration", "100ms"},
    {"bootstrap-defrag-threshold-megabytes", "0"},
    {"max-learners", "1"},
    {"snapshot-catchup-entries", "5000"},
    {"force-new-cluster", "false"},
    {"unsafe-no-fsync", "false"},
    {"config-file", ""},
    {"io-threads", "0"},                            // ours
    {"max-answer-memory-bytes", "0"},               // ours
    {"snapshot-rate-bytes", "0"},                   // ours
    {"max-watch-lag", "0"},                         // ours
    {"auto-defrag-threshold-percent", "0"},         // ours
    {"auto-compaction-revision-interval", "5m0s"},  // ours
    {"replica-check", "quarantine"},                // ours
    {"older-etcd-members", "refuse"},               // ours
    {"adopt-etcd-data", "false"},                   // ours
    {"archive-url", ""},                            // ours
    {"archive-interval", "1s"},                     // ours
    {"archive-base-interval", "1h0m0s"},            // ours
    {"archive-keep-for", "0s"},                     // ours
    {"archive-keep-bases", "0"},                    // ours
    {"archive-endpoint", ""},                       // ours
    {"archive-region", ""},                         // ours
    {"archive-path-style", "auto"},                 // ours
    {"archive-credentials-file", ""},               // ours
    {"archive-ca-file", ""},                        // ours
    {"archive-max-log-bytes", "4294967296"},        // ours
    {"archive-new-history", "false"},               // ours
};

// "  --name 'default'" lines of --help.
std::map<std::string, std::string> FlagsOfHelp() {
  std::map<std::string, std::string> flags;
  const std::string help = HelpText();
  for (std::size_t at = help.find("\n  --"); at != std::string::npos;
       at = help.find("\n  --", at + 1)) {
    const std::string line = help.substr(at + 5, help.find('\n', at + 1) - at - 5);
    const std::size_t space = line.find(' ');
    flags[line.substr(0, space)] = line.substr(space + 2, line.size() - space - 3);
  }
  return flags;
}

TEST(OptionsTest, EveryFlagOfTheApiLevelIsThereWithItsDefault) {
  EXPECT_EQ(FlagsOfHelp(), kDefaults);
}

TEST(OptionsTest, EveryFlagTakesItsDefaultByFlagAndByEnvironment) {
  for (const auto& [name, value] : kDefaults) {
    if (name == "listen-client-urls") continue;  // requires another flag with it
    std::string flag = "--";
    flag.append(name).append("=").append(value);
    // These two are lists, and have one name then, an empty one, as with etcd.
    if (name != "discovery-endpoints" && name != "cipher-suites") {
      EXPECT_EQ(Refusal({flag.c_str()}), "accepted") << flag;
    }
    std::string variable = "ETCD_";
    for (const char c : name) variable += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    variable += "=" + value;
    EXPECT_EQ(Refusal({}, {variable.c_str()}), "accepted") << variable;
  }
}

TEST(OptionsTest, WithoutFlagsItIsAWorkingNodeOnLocalhost) {
  const Options options = Parsed({});
  EXPECT_EQ(options.name, "default");
  EXPECT_EQ(options.data_dir, "default.etcd");
  EXPECT_EQ(options.wal_dir, "");
  EXPECT_EQ(options.snapshot_count, 10'000);
  EXPECT_EQ(options.snapshot_catchup_entries, 5'000);
  EXPECT_EQ(options.heartbeat_ms, 100);
  EXPECT_EQ(options.election_ms, 1'000);
  EXPECT_EQ(options.listen_peer_urls, "http://localhost:2380");
  EXPECT_EQ(options.listen_client_urls, "http://localhost:2379");
  EXPECT_EQ(options.max_wals, 5);
  EXPECT_EQ(options.max_snapshots, 5);
  EXPECT_EQ(options.quota_backend_bytes, 0);
  EXPECT_EQ(options.max_txn_ops, 128);
  EXPECT_EQ(options.max_request_bytes, 1'572'864);
  EXPECT_EQ(options.max_concurrent_streams, 4'294'967'295);
  EXPECT_EQ(options.grpc_keepalive_min_time, 5s);
  EXPECT_EQ(options.grpc_keepalive_interval, 2h);
  EXPECT_EQ(options.grpc_keepalive_timeout, 20s);
  EXPECT_EQ(options.backend_batch_limit, 0);
  EXPECT_EQ(options.backend_batch_interval, 0s);
  EXPECT_EQ(options.initial_advertise_peer_urls, "http://localhost:2380");
  EXPECT_EQ(options.EffectiveInitialCluster(), "default=http://localhost:2380");
  EXPECT_EQ(options.initial_cluster_state, "new");
  EXPECT_EQ(options.initial_cluster_token, "etcd-cluster");
  EXPECT_EQ(options.advertise_client_urls, "http://localhost:2379");
  EXPECT_TRUE(options.strict_reconfig_check);
  EXPECT_TRUE(options.pre_vote);
  EXPECT_EQ(options.log_outputs, std::vector<std::string>{"default"});
  EXPECT_EQ(options.log_level, "info");
  EXPECT_EQ(options.log_format, "json");
  EXPECT_EQ(options.warning_unary_request_duration, 300ms);
  EXPECT_EQ(options.warning_apply_duration, 100ms);
  EXPECT_EQ(options.compaction_batch_limit, 0);
  EXPECT_EQ(options.compaction_sleep_interval, 0s);
  EXPECT_FALSE(options.unsafe_no_fsync);
  EXPECT_EQ(options.io_threads, 0);
}

TEST(OptionsTest, EffectiveFlagsReachTheirFields) {
  const Options options = Parsed({"--name=n1",
                                  "--wal-dir=/w",
                                  "--snapshot-count=7",
                                  "--snapshot-catchup-entries=8",
                                  "--heartbeat-interval=20",
                                  "--election-timeout=300",
                                  "--listen-peer-urls=http://127.0.0.1:1",
                                  "--listen-client-urls=http://127.0.0.1:2,unix://s:3",
                                  "--advertise-client-urls=http://a.example:4",
                                  "--initial-advertise-peer-urls=http://b:5,http://c:6",
                                  "--max-wals=1",
                                  "--max-snapshots=2",
                                  "--max-txn-ops=3",
                                  "--max-request-bytes=4",
                                  "--max-concurrent-streams=5",
                                  "--grpc-keepalive-min-time=1ms",
                                  "--grpc-keepalive-interval=2m",
                                  "--grpc-keepalive-timeout=3s",
                                  "--backend-batch-limit=6",
                                  "--backend-batch-interval=7ms",
                                  "--initial-cluster-state=existing",
                                  "--initial-cluster-token=t",
                                  "--strict-reconfig-check=false",
                                  "--pre-vote=false",
                                  "--log-outputs=stderr,/tmp/x",
                                  "--log-level=warn",
                                  "--log-format=console",
                                  "--warning-unary-request-duration=1s",
                                  "--warning-apply-duration=2s",
                                  "--compaction-batch-limit=9",
                                  "--compaction-sleep-interval=10ms",
                                  "--watch-progress-notify-interval=5s",
                                  "--unsafe-no-fsync",
                                  "--io-threads=11"});
  EXPECT_EQ(options.name, "n1");
  EXPECT_EQ(options.data_dir, "n1.etcd");
  EXPECT_EQ(options.wal_dir, "/w");
  EXPECT_EQ(options.snapshot_count, 7);
  EXPECT_EQ(options.snapshot_catchup_entries, 8);
  EXPECT_EQ(options.heartbeat_ms, 20);
  EXPECT_EQ(options.election_ms, 300);
  EXPECT_EQ(options.listen_peer_urls, "http://127.0.0.1:1");
  EXPECT_EQ(options.listen_client_urls, "http://127.0.0.1:2,unix://s:3");
  EXPECT_EQ(options.advertise_client_urls, "http://a.example:4");
  EXPECT_EQ(options.EffectiveInitialCluster(), "n1=http://b:5,n1=http://c:6");
  EXPECT_EQ(options.max_wals, 1);
  EXPECT_EQ(options.max_snapshots, 2);
  EXPECT_EQ(options.max_txn_ops, 3);
  EXPECT_EQ(options.max_request_bytes, 4);
  EXPECT_EQ(options.max_concurrent_streams, 5);
  EXPECT_EQ(options.grpc_keepalive_min_time, 1ms);
  EXPECT_EQ(options.grpc_keepalive_interval, 2min);
  EXPECT_EQ(options.grpc_keepalive_timeout, 3s);
  EXPECT_EQ(options.backend_batch_limit, 6);
  EXPECT_EQ(options.backend_batch_interval, 7ms);
  EXPECT_EQ(options.initial_cluster_state, "existing");
  EXPECT_EQ(options.initial_cluster_token, "t");
  EXPECT_FALSE(options.strict_reconfig_check);
  EXPECT_FALSE(options.pre_vote);
  EXPECT_EQ(options.log_outputs, (std::vector<std::string>{"stderr", "/tmp/x"}));
  EXPECT_EQ(options.log_level, "warn");
  EXPECT_EQ(options.log_format, "console");
  EXPECT_EQ(options.warning_unary_request_duration, 1s);
  EXPECT_EQ(options.warning_apply_duration, 2s);
  EXPECT_EQ(options.compaction_batch_limit, 9);
  EXPECT_EQ(options.compaction_sleep_interval, 10ms);
  EXPECT_EQ(options.EffectiveWatchProgressInterval(), 5s);
  EXPECT_EQ(Parsed({}).EffectiveWatchProgressInterval(), 10min);
  EXPECT_EQ(Parsed({"--watch-progress-notify-interval=1ms"}).EffectiveWatchProgressInterval(),
            100ms);
  EXPECT_EQ(Parsed({"--watch-progress-notify-interval=-1s"}).EffectiveWatchProgressInterval(),
            10min);
  EXPECT_TRUE(options.unsafe_no_fsync);
  EXPECT_EQ(options.io_threads, 11);
  EXPECT_EQ(Parsed({"--initial-cluster=x=http://y:1"}).EffectiveInitialCluster(), "x=http://y:1");
  EXPECT_EQ(Parsed({"--log-level=dpanic"}).log_level, "panic");
}

TEST(OptionsTest, TheQuotaIsTwoGigabytesUnlessSet) {
  Options options;
  EXPECT_EQ(options.EffectiveQuotaBytes(), 2'147'483'648);
  EXPECT_EQ(options.ReportedQuotaBytes(), 2'147'483'648);
  options = Parsed({"--quota-backend-bytes=-1"});
  EXPECT_EQ(options.EffectiveQuotaBytes(), 0);
  EXPECT_EQ(options.ReportedQuotaBytes(), -1);
  options = Parsed({"--quota-backend-bytes=100000"});
  EXPECT_EQ(options.EffectiveQuotaBytes(), 100'000);
  EXPECT_EQ(options.ReportedQuotaBytes(), 100'000);
}

TEST(OptionsTest, ARequestMayTakeFiveSecondsAndTwoElections) {
  EXPECT_EQ(Options{}.RequestTimeout(), 7s);
  EXPECT_EQ(Parsed({"--election-timeout=500"}).RequestTimeout(), 6s);
}

}  // namespace
}  // namespace kvorum::server
