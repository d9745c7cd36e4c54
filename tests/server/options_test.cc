// The command line and the environment, as scripts for this kind of server write them.
#include "server/process/options.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvorum::server {
namespace {

using namespace std::chrono_literals;
using Words = std::initializer_list<const char*>;

std::expected<ParsedCommandLine, UsageError> Parse(Words arguments, Words environment = {}) {
  return ParseCommandLine(std::span(arguments.begin(), arguments.size()),
                          std::span(environment.begin(), environment.size()));
}

Options Parsed(Words arguments, Words environment = {}) {
  auto parsed = Parse(arguments, environment);
  if (!parsed.has_value()) {
    ADD_FAILURE() << parsed.error().message;
    return {};
  }
  return parsed->options;
}

// "<exit code>: <text>", or "accepted".
std::string Refusal(Words arguments, Words environment = {}) {
  const auto parsed = Parse(arguments, environment);
  if (parsed.has_value()) return "accepted";
  return std::to_string(parsed.error().exit_code) + ": " + parsed.error().message;
}

// --- defaults ----------------------------------------------------------------------------------

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
    {"auto-defrag-threshold-percent", "0"},         // ours
    {"auto-compaction-revision-interval", "5m0s"},  // ours
    {"replica-check", "quarantine"},                // ours
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
    // As lists these have one name then, an empty one, as with etcd.
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

// --- spellings ---------------------------------------------------------------------------------

TEST(OptionsTest, TakesOneOrTwoDashesAndValuesInEitherForm) {
  EXPECT_EQ(Parsed({"--name=a"}).name, "a");
  EXPECT_EQ(Parsed({"-name=a"}).name, "a");
  EXPECT_EQ(Parsed({"--name", "a"}).name, "a");
  EXPECT_EQ(Parsed({"-name", "a"}).name, "a");
  EXPECT_EQ(Parsed({"--name", "-a"}).name, "-a") << "a value may begin with a dash";
  EXPECT_EQ(Parsed({"--name=a=b"}).name, "a=b");
  EXPECT_EQ(Parsed({"--name=a", "--"}).name, "a");
}

TEST(OptionsTest, ASwitchNeedsNoValueAndTakesNoneFromTheNextArgument) {
  EXPECT_TRUE(Parsed({"--unsafe-no-fsync"}).unsafe_no_fsync);
  EXPECT_TRUE(Parsed({"--unsafe-no-fsync", "--name=a"}).unsafe_no_fsync);
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"})
    EXPECT_TRUE(Parsed({("--unsafe-no-fsync=" + std::string(yes)).c_str()}).unsafe_no_fsync) << yes;
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"})
    EXPECT_FALSE(Parsed({("--pre-vote=" + std::string(no)).c_str()}).pre_vote) << no;
  EXPECT_EQ(Refusal({"--pre-vote", "false"}), "1: \"false\" is not a valid flag");
}

TEST(OptionsTest, OfARepeatedFlagTheLastWins) {
  EXPECT_EQ(Parsed({"--name=a", "-name", "b", "--name=c"}).name, "c");
  EXPECT_TRUE(Parsed({"--pre-vote=false", "--pre-vote"}).pre_vote);
}

TEST(OptionsTest, NumbersMayHaveGosPrefixes) {
  EXPECT_EQ(Parsed({"--snapshot-count=0x10"}).snapshot_count, 16);
  EXPECT_EQ(Parsed({"--snapshot-count=0b11"}).snapshot_count, 3);
  EXPECT_EQ(Parsed({"--snapshot-count=0o17"}).snapshot_count, 15);
  EXPECT_EQ(Parsed({"--snapshot-count=18446744073709551615"}).snapshot_count,
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Parsed({"--quota-backend-bytes=-0x10"}).quota_backend_bytes, -16);
  EXPECT_EQ(Parsed({"--quota-backend-bytes=-9223372036854775808"}).quota_backend_bytes,
            std::numeric_limits<std::int64_t>::min());
}

TEST(OptionsTest, VersionAndHelpEndTheParse) {
  EXPECT_EQ(Parse({"--version"})->outcome, ParseOutcome::kVersion);
  EXPECT_EQ(Parse({"-version"})->outcome, ParseOutcome::kVersion);
  EXPECT_EQ(Parse({"--version=false"})->outcome, ParseOutcome::kRun);
  EXPECT_EQ(Parse({"-h"})->outcome, ParseOutcome::kHelp);
  EXPECT_EQ(Parse({"--help", "--no-such-flag"})->outcome, ParseOutcome::kHelp);
  EXPECT_EQ(Refusal({"--version", "--no-such-flag"}),
            "2: flag provided but not defined: -no-such-flag");
}

TEST(OptionsTest, OldFlagsAreParsedAndForgotten) {
  for (const char* flag : {"cluster-active-size", "cluster-remove-delay", "cluster-sync-interval",
                           "config", "max-result-buffer", "max-retry-attempts",
                           "peer-heartbeat-interval", "peer-election-timeout", "retry-interval",
                           "test.coverprofile", "test.outputdir", "force", "snapshot", "v", "vv"}) {
    const std::string with_dashes = std::string("--") + flag;
    EXPECT_EQ(Refusal({with_dashes.c_str()}), "accepted") << flag;
    EXPECT_EQ(Refusal({(with_dashes + "=x").c_str()}), "accepted") << flag;
    EXPECT_EQ(Refusal({with_dashes.c_str(), "x"}), "1: \"x\" is not a valid flag") << flag;
  }
}

// --- environment -------------------------------------------------------------------------------

TEST(OptionsTest, TheEnvironmentSetsWhatTheCommandLineDoesNot) {
  const Options options =
      Parsed({"--name=a"}, {"ETCD_MAX_TXN_OPS=5", "ETCD_PRE_VOTE=false", "ETCD_LOG_LEVEL=debug",
                            "ETCD_INITIAL_CLUSTER_TOKEN=t=u", "PATH=/bin", "NAME=other"});
  EXPECT_EQ(options.name, "a");
  EXPECT_EQ(options.max_txn_ops, 5);
  EXPECT_FALSE(options.pre_vote);
  EXPECT_EQ(options.log_level, "debug");
  EXPECT_EQ(options.initial_cluster_token, "t=u");
}

TEST(OptionsTest, AnEmptyVariableIsNone) {
  EXPECT_EQ(Parsed({}, {"ETCD_NAME="}).name, "default");
  EXPECT_EQ(Parsed({"--name=a"}, {"ETCD_NAME="}).name, "a");
}

TEST(OptionsTest, FlagAndVariableForOneOptionAreRefused) {
  EXPECT_EQ(Refusal({"--max-txn-ops=5"}, {"ETCD_MAX_TXN_OPS=5"}),
            "1: conflicting environment variable \"ETCD_MAX_TXN_OPS\" is shadowed by corresponding "
            "command-line flag \"--max-txn-ops\" (either unset environment variable or disable "
            "flag)");
}

TEST(OptionsTest, UnknownVariablesOnlyWarn) {
  const auto parsed = Parse({}, {"ETCD_NONSENSE=1", "ETCD_UNSUPPORTED_ARCH=arm", "ETCD_NAME"});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->warnings,
            std::vector<std::string>{"unrecognized environment variable ETCD_NONSENSE"});
}

TEST(OptionsTest, AFeatureGateWithoutEffectWarns) {
  EXPECT_EQ(
      Parse({"--feature-gates=TxnModeWriteWithSharedBuffer=false,LeaseCheckpoint=true"})->warnings,
      std::vector<std::string>{
          "feature gate TxnModeWriteWithSharedBuffer has no effect here: reads take no lock, "
          "so that none of their buffers is copied or shared"});
}

TEST(OptionsTest, FlagsThatAreDeprecatedWarn) {
  using Warnings = std::vector<std::string>;
  EXPECT_EQ(Parse({"--max-snapshots=3"})->warnings,
            Warnings{"--max-snapshots is deprecated in 3.6 and will be decommissioned in 3.8."});
  EXPECT_EQ(
      Parse({}, {"ETCD_V2_DEPRECATION=gone"})->warnings,
      Warnings{"--v2-deprecation is deprecated and scheduled for removal in v3.8. The default "
               "value is enforced, ignoring user input."});
  EXPECT_EQ(Parse({"--max-wals=3"})->warnings, Warnings{});
}

TEST(OptionsTest, AVariablesBadValueIsRefused) {
  EXPECT_EQ(Refusal({}, {"ETCD_MAX_TXN_OPS=many"}),
            "1: invalid value \"many\" for ETCD_MAX_TXN_OPS: parse error");
}

// --- refusals ----------------------------------------------------------------------------------

TEST(OptionsTest, WhatCannotBeReadEndsWithCodeTwo) {
  EXPECT_EQ(Refusal({"--no-such-flag"}), "2: flag provided but not defined: -no-such-flag");
  EXPECT_EQ(Refusal({"--discovery=x"}), "2: flag provided but not defined: -discovery");
  EXPECT_EQ(Refusal({"--name"}), "2: flag needs an argument: -name");
  EXPECT_EQ(Refusal({"---name=a"}), "2: bad flag syntax: ---name=a");
  EXPECT_EQ(Refusal({"--=a"}), "2: bad flag syntax: --=a");
  EXPECT_EQ(Refusal({"--pre-vote=maybe"}),
            "2: invalid boolean value \"maybe\" for -pre-vote: parse error");
  EXPECT_EQ(Refusal({"--enable-pprof=maybe"}),
            "2: invalid boolean value \"maybe\" for -enable-pprof: parse error");
  EXPECT_EQ(Refusal({"--grpc-keepalive-timeout=5"}),
            "2: invalid value \"5\" for flag -grpc-keepalive-timeout: parse error");
  for (const char* number : {"", "x", "1x", "-1", "+1", "+-1", "0x", "0x-1", "1.5", " 1", "08",
                             "_1", "1_", "1__0", "0_x1"}) {
    const std::string flag = "--snapshot-count=" + std::string(number);
    EXPECT_EQ(Refusal({flag.c_str()}), "2: invalid value \"" + std::string(number) +
                                           "\" for flag -snapshot-count: parse error");
  }
  EXPECT_EQ(
      Refusal({"--snapshot-count=18446744073709551616"}),
      "2: invalid value \"18446744073709551616\" for flag -snapshot-count: value out of range");
  for (const char* number : {"--1", "+-1", "-+1", "0x-1", "-", "+"}) {
    const std::string flag = "--quota-backend-bytes=" + std::string(number);
    EXPECT_EQ(Refusal({flag.c_str()}), "2: invalid value \"" + std::string(number) +
                                           "\" for flag -quota-backend-bytes: parse error");
  }
  for (const char* number : {"9223372036854775808", "-9223372036854775809"}) {
    const std::string flag = "--quota-backend-bytes=" + std::string(number);
    EXPECT_EQ(Refusal({flag.c_str()}), "2: invalid value \"" + std::string(number) +
                                           "\" for flag -quota-backend-bytes: value out of range");
  }
}

TEST(OptionsTest, NumbersAreReadAsGoReadsThem) {
  EXPECT_EQ(Parsed({"--max-txn-ops=010"}).max_txn_ops, 8);
  EXPECT_EQ(Parsed({"--max-txn-ops=0x1f"}).max_txn_ops, 31);
  EXPECT_EQ(Parsed({"--max-txn-ops=0X_1F"}).max_txn_ops, 31);
  EXPECT_EQ(Parsed({"--max-txn-ops=0b101"}).max_txn_ops, 5);
  EXPECT_EQ(Parsed({"--max-txn-ops=0o17"}).max_txn_ops, 15);
  EXPECT_EQ(Parsed({"--max-txn-ops=1_000"}).max_txn_ops, 1000);
  EXPECT_EQ(Parsed({"--quota-backend-bytes=-9223372036854775808"}).quota_backend_bytes,
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Parsed({"--quota-backend-bytes=+5"}).quota_backend_bytes, 5);
}

// A line of flag_values_table.txt: the flag (env:FLAG for its variable) and the value in quotes,
// then "taken", or the exit code and the text in quotes. In quotes, \\xNN is what does not print.
struct Row {
  std::string flag;
  std::string value;
  std::string outcome;
};
Row ParseRow(const std::string& line) {
  std::vector<std::string> texts(1);
  std::size_t quotes = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (++quotes % 2 == 0) texts.emplace_back();
    } else if (line[i] == '\\') {
      texts.back() += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else if (quotes % 2 == 1 || quotes == 4) {
      texts.back() += line[i];
    }
  }
  if (texts[2] == " taken") return {texts[0], texts[1], "accepted"};
  return {texts[0], texts[1], texts[2].substr(1, 1) + ": " + texts[2].substr(3)};
}

// The reaction of etcd 3.7.1 to each flag's good, bad and borderline values: it started, or exited.
// The table leaves out values that are decided later than the command line, and named differences.
TEST(OptionsTest, ValuesAreTakenAndRefusedAsEtcdDoes) {
  std::ifstream table(KVORUM_FLAG_VALUES_TABLE);
  std::size_t rows = 0;
  for (std::string line; std::getline(table, line); ++rows) {
    SCOPED_TRACE(line);
    const Row row = ParseRow(line);
    if (row.flag.starts_with("env:")) {
      std::string variable = "ETCD_";
      for (const char c : row.flag.substr(4))
        variable += c == '-' ? '_' : static_cast<char>(std::toupper(c));
      variable += "=" + row.value;
      EXPECT_EQ(Refusal({}, {variable.c_str()}), row.outcome);
      continue;
    }
    const std::string flag = "--" + row.flag + "=" + row.value;
    // This one asks for another.
    const char* const beside = row.flag == "listen-client-urls"
                                   ? "--advertise-client-urls=http://localhost:2379"
                                   : "--pre-vote";
    EXPECT_EQ(Refusal({beside, flag.c_str()}), row.outcome);
  }
  EXPECT_GT(rows, 600);
}

TEST(OptionsTest, ABadValueIsRefusedAlsoIfAnotherFollows) {
  EXPECT_EQ(Refusal({"--max-txn-ops=x", "--max-txn-ops=5"}),
            "2: invalid value \"x\" for flag -max-txn-ops: parse error");
  EXPECT_EQ(Refusal({"--pre-vote=x", "--help"}),
            "2: invalid boolean value \"x\" for -pre-vote: parse error");
  EXPECT_EQ(
      Parsed({"--listen-peer-urls=http://localhost:1", "--listen-peer-urls="}).listen_peer_urls,
      "http://localhost:1");
}

TEST(OptionsTest, LogsGoNowhereThatIsNotThere) {
  EXPECT_EQ(Refusal({"--log-outputs=stderr,bogus://x"}),
            "1: open sink \"bogus://x\": no sink found for scheme \"bogus\"");
  EXPECT_EQ(Refusal({"--log-outputs=systemd/journal"}), "accepted");
  EXPECT_EQ(
      Refusal({"--log-outputs=systemd/journal,stderr"}),
      "1: running with systemd/journal but other '--log-outputs' values ([\"systemd/journal\" "
      "\"stderr\"]) are configured with 'default'; override 'default' value with something "
      "else");
}

TEST(OptionsTest, RotationNeedsOneFileAndItsRules) {
  const std::string one_file =
      "1: --log-outputs requires a single file path when --log-rotate-config-json is defined";
  EXPECT_EQ(Refusal({"--enable-log-rotation"}), one_file);
  EXPECT_EQ(Refusal({"--enable-log-rotation", "--log-outputs=/a,/b"}), one_file);
  EXPECT_EQ(Refusal({"--enable-log-rotation", "--log-outputs=stderr,/tmp/a"}), "accepted");
  const auto rules = [](const std::string& json) {
    return Refusal({"--enable-log-rotation", "--log-outputs=/tmp/a",
                    ("--log-rotation-config-json=" + json).c_str()});
  };
  EXPECT_EQ(rules(R"({"maxsize": 1, "MaxAge": 2, "maxbackups": 3, "localtime": true, "x": 5})"),
            "accepted");
  EXPECT_EQ(rules("{"), "1: improperly formatted log rotation config: it is no JSON object");
  EXPECT_EQ(rules("[]"), "1: invalid log rotation config: it is no JSON object");
  EXPECT_EQ(rules(R"({"maxsize": "1"})"),
            "1: invalid log rotation config: maxsize must be a whole number without a sign");
  EXPECT_EQ(rules(R"({"maxage": -1})"),
            "1: invalid log rotation config: maxage must be a whole number without a sign");
  EXPECT_EQ(rules(R"({"compress": 1})"),
            "1: invalid log rotation config: compress must be true or false");
}

TEST(OptionsTest, SpellingsOfOneValueAreOne) {
  EXPECT_EQ(Parsed({"--log-level=INFO"}).log_level, "info");
  EXPECT_EQ(Parsed({"--log-level="}).log_level, "info");
  EXPECT_EQ(Parsed({"--log-level=dpanic"}).log_level, "panic");
  EXPECT_EQ(Parsed({"--log-format="}).log_format, "json");
  EXPECT_EQ(Parsed({"--snapshot-count=0"}).snapshot_count, 10'000);
  EXPECT_EQ(Parsed({"--max-txn-ops=0"}).max_txn_ops, 0);
}

TEST(OptionsTest, StrayArgumentsAreRefused) {
  EXPECT_EQ(Refusal({"start"}), "1: \"start\" is not a valid flag");
  EXPECT_EQ(Refusal({"--name=a", "-"}), "1: \"-\" is not a valid flag");
  EXPECT_EQ(Refusal({"--", "rest"}), "1: \"rest\" is not a valid flag");
}

TEST(OptionsTest, UrlListsAreChecked) {
  EXPECT_EQ(Refusal({"--listen-peer-urls=localhost:2380"}),
            "2: invalid value \"localhost:2380\" for flag -listen-peer-urls: URL scheme must be "
            "http, https, unix, or unixs: localhost:2380");
  EXPECT_EQ(
      Refusal({"--listen-client-urls=http://localhost", "--advertise-client-urls=http://a:1"}),
      "2: invalid value \"http://localhost\" for flag -listen-client-urls: URL address does "
      "not have the form \"host:port\": http://localhost");
  EXPECT_EQ(Refusal({"--initial-advertise-peer-urls=http://a:1/x"}),
            "2: invalid value \"http://a:1/x\" for flag -initial-advertise-peer-urls: URL must not "
            "contain a path: http://a:1/x");
  EXPECT_EQ(Parsed({"--advertise-client-urls="}).advertise_client_urls, "http://localhost:2379");
  EXPECT_EQ(Refusal({"--listen-peer-urls=http://example.com:2380"}),
            "1: expected IP in URL for binding (http://example.com:2380)");
  EXPECT_EQ(Refusal({"--listen-peer-urls=https://localhost:2380,unixs://s"}), "accepted");
  EXPECT_EQ(Refusal({"--listen-peer-urls=http://[::1]:0,http://0.0.0.0:1"}), "accepted");
  EXPECT_EQ(Refusal({"--listen-peer-urls=http://:2"}),
            "1: expected IP in URL for binding (http://:2)");
}

TEST(OptionsTest, ListeningElsewhereNeedsAnAdvertisedUrl) {
  const std::string refusal =
      "1: --advertise-client-urls is required when --listen-client-urls is set explicitly";
  EXPECT_EQ(Refusal({"--listen-client-urls=http://localhost:1"}), refusal);
  EXPECT_EQ(Refusal({}, {"ETCD_LISTEN_CLIENT_URLS=http://localhost:1"}), refusal);
  EXPECT_EQ(Refusal({"--listen-client-urls=http://localhost:1"},
                    {"ETCD_ADVERTISE_CLIENT_URLS=http://localhost:1"}),
            "accepted");
}

TEST(OptionsTest, TimesOfElectionsMustFit) {
  EXPECT_EQ(Refusal({"--heartbeat-interval=0"}), "1: --heartbeat-interval must be >0 (set to 0ms)");
  EXPECT_EQ(Refusal({"--election-timeout=0"}), "1: --election-timeout must be >0 (set to 0ms)");
  EXPECT_EQ(Refusal({"--heartbeat-interval=201"}),
            "1: --election-timeout[1000ms] should be at least as 5 times as "
            "--heartbeat-interval[201ms]");
  EXPECT_EQ(Refusal({"--heartbeat-interval=200"}), "accepted");
  // Five times this is 4, modulo 2^64.
  EXPECT_EQ(Refusal({"--heartbeat-interval=3689348814741910324"}),
            "1: --election-timeout[1000ms] should be at least as 5 times as "
            "--heartbeat-interval[3689348814741910324ms]");
  EXPECT_EQ(Refusal({"--election-timeout=50000"}), "accepted");
  EXPECT_EQ(Refusal({"--election-timeout=50001"}),
            "1: --election-timeout[50001ms] is too long, and should be set less than 50000ms");
}

// etcd starts with the first two, and never serves with the second.
TEST(OptionsTest, ValuesThatCannotServeAreRefused) {
  EXPECT_EQ(Refusal({"--name="}), "1: --name must not be empty");
  EXPECT_EQ(Refusal({"--max-request-bytes=0"}), "1: --max-request-bytes must be >0");
  EXPECT_EQ(Refusal({"--io-threads=65"}), "1: --io-threads must be <=64");
  EXPECT_EQ(Refusal({"--replica-check=never"}),
            "1: --replica-check must be off, report, alarm or quarantine");
  for (const char* action : {"off", "report", "alarm", "quarantine"})
    EXPECT_EQ(Refusal({("--replica-check=" + std::string(action)).c_str()}), "accepted");
}

TEST(OptionsTest, FlagsOfTlsBetweenMembersAreRead) {
  const Options options = Parsed(
      {"--peer-cert-file=c", "--peer-key-file=k", "--peer-client-cert-file=cc",
       "--peer-client-key-file=ck", "--peer-client-cert-auth", "--peer-trusted-ca-file=ca",
       "--peer-crl-file=crl", "--peer-cert-allowed-cn=a,b", "--peer-cert-allowed-hostname=h",
       "--peer-skip-client-san-verification", "--peer-auto-tls", "--self-signed-cert-validity=3"});
  EXPECT_EQ(options.peer_cert_file, "c");
  EXPECT_EQ(options.peer_key_file, "k");
  EXPECT_EQ(options.peer_client_cert_file, "cc");
  EXPECT_EQ(options.peer_client_key_file, "ck");
  EXPECT_TRUE(options.peer_client_cert_auth);
  EXPECT_EQ(options.peer_trusted_ca_file, "ca");
  EXPECT_EQ(options.peer_crl_file, "crl");
  EXPECT_EQ(options.peer_cert_allowed_cn, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.peer_cert_allowed_hostname, std::vector<std::string>{"h"});
  EXPECT_TRUE(options.peer_skip_client_san_verification);
  EXPECT_TRUE(options.peer_auto_tls);
  EXPECT_EQ(options.self_signed_cert_validity_years, 3);
  EXPECT_TRUE(Parsed({"--peer-client-cert-auth=false"}).peer_cert_allowed_cn.empty());
  // A list set to nothing allows nobody, as in etcd.
  EXPECT_EQ(Parsed({"--peer-cert-allowed-cn="}).peer_cert_allowed_cn, std::vector<std::string>{""});
  EXPECT_EQ(Parsed({}, {"ETCD_PEER_TRUSTED_CA_FILE=x"}).peer_trusted_ca_file, "x");
}

TEST(OptionsTest, WhatIsNotThereIsRefusedUnlessItAsksForNothing) {
  const auto refused = [](const std::string& name) {
    return "1: kvorum: --" + name + " is not supported by this version; refusing to ignore it";
  };
  for (const std::string name : {"discovery-token", "discovery-endpoints"}) {
    EXPECT_EQ(Refusal({("--" + name + "=12").c_str()}), refused(name));
  }
  EXPECT_EQ(Refusal({"--corrupt-check-time=12s"}), "accepted");
}

TEST(OptionsTest, OneWayToTheFirstMembersIsEnough) {
  EXPECT_EQ(Parsed({"--discovery-srv=example.com", "--discovery-srv-name=x"}).discovery_srv,
            "example.com");
  EXPECT_EQ(Refusal({"--discovery-srv=example.com", "--initial-cluster=default=http://h:1"}),
            "1: multiple discovery or bootstrap flags are set. Choose one of \"initial-cluster\", "
            "\"discovery-endpoints\" or \"discovery-srv\"");
  EXPECT_EQ(Refusal({"--discovery-srv-name=x"}), "1: --discovery-srv-name needs --discovery-srv");
}

TEST(OptionsTest, TlsFlagsReachTheirFields) {
  const auto parsed =
      Parse({"--cert-file=c", "--key-file=k", "--trusted-ca-file=ca", "--client-cert-auth",
             "--client-crl-file=crl", "--client-cert-allowed-hostname=a,b",
             "--cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
             "--listen-client-urls=https://localhost:1,unixs://s",
             "--advertise-client-urls=https://localhost:1"},
            {"ETCD_TLS_MAX_VERSION=TLS1.2"});
  ASSERT_TRUE(parsed.has_value());
  const Options& options = parsed->options;
  EXPECT_EQ(options.cert_file, "c");
  EXPECT_EQ(options.key_file, "k");
  EXPECT_EQ(options.trusted_ca_file, "ca");
  EXPECT_TRUE(options.client_cert_auth);
  EXPECT_EQ(options.client_crl_file, "crl");
  EXPECT_EQ(options.client_cert_allowed_hostname, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.cipher_suites,
            std::vector<std::string>{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"});
  EXPECT_EQ(options.tls_min_version, "TLS1.2");
  EXPECT_EQ(options.tls_max_version, "TLS1.2");
}

TEST(OptionsTest, TlsLimitsThatCannotBeAreRefused) {
  EXPECT_EQ(Refusal({"--tls-min-version=TLS1.1"}),
            "1: unexpected TLS version \"TLS1.1\" (must be one of: TLS1.2, TLS1.3)");
  EXPECT_EQ(Refusal({"--tls-min-version=TLS1.3", "--tls-max-version=TLS1.2"}),
            "1: min version (TLS1.3) is greater than max version (TLS1.2)");
  EXPECT_EQ(Refusal({"--cipher-suites=AES128-SHA"}),
            "1: unexpected TLS cipher suite \"AES128-SHA\"");
  EXPECT_EQ(Refusal({"--tls-min-version=TLS1.3",
                     "--cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}),
            "1: cipher suites cannot be configured when only TLS1.3 is enabled");
  EXPECT_EQ(Refusal({"--cipher-suites="}), "1: unexpected TLS cipher suite \"\"");
}

TEST(OptionsTest, AFlagWithoutEffectSaysWhyOnceItIsSet) {
  using Warnings = std::vector<std::string>;
  EXPECT_EQ(Parse({"--backend-bbolt-freelist-type=array", "--logger=zap"})->warnings,
            Warnings{"--backend-bbolt-freelist-type has no effect here: There is no bbolt, and no "
                     "list of free pages to choose."});
  EXPECT_EQ(Parse({}, {"ETCD_ENABLE_DISTRIBUTED_TRACING=true"})->warnings,
            Warnings{"--enable-distributed-tracing has no effect here: This server sends no spans "
                     "to a collector."});
  EXPECT_EQ(
      Parse({"--enable-distributed-tracing=false", "--downgrade-check-time=5000ms"})->warnings,
      Warnings{})
      << "as they are by default";
}

TEST(OptionsTest, RatesOfTracingAreCheckedOnlyWhereItIsAskedFor) {
  EXPECT_EQ(Refusal({"--distributed-tracing-sampling-rate=-1"}), "accepted");
  EXPECT_EQ(Refusal({"--enable-distributed-tracing", "--distributed-tracing-sampling-rate=-1"}),
            "1: distributed tracing configurition is not valid: (tracing sampling rate must be "
            "positive)");
  EXPECT_EQ(
      Refusal({"--enable-distributed-tracing", "--distributed-tracing-sampling-rate=1000001"}),
      "1: distributed tracing configurition is not valid: (tracing sampling rate must be less than "
      "1000000)");
}

TEST(OptionsTest, EveryFaultIsFound) {
  const Words arguments = {"--name=", "--max-txn-ops=x", "--no-such-flag",
                           "--heartbeat-interval=0"};
  const Reading reading = ReadSettings(std::span(arguments.begin(), arguments.size()), {});
  std::vector<std::string> faults;
  for (const UsageError& fault : reading.faults) faults.push_back(fault.message);
  EXPECT_EQ(faults,
            (std::vector<std::string>{"invalid value \"x\" for flag -max-txn-ops: parse error",
                                      "flag provided but not defined: -no-such-flag",
                                      "--heartbeat-interval must be >0 (set to 0ms)",
                                      "--name must not be empty"}));
}

TEST(OptionsTest, WhatHasNoSubjectHereIsAccepted) {
  EXPECT_EQ(
      Refusal({"--logger=zap", "--backend-bbolt-freelist-type=array",
               "--feature-gates=InitialCorruptCheck=true", "--enable-pprof", "--metrics=extensive",
               "--auto-compaction-mode=revision", "--v2-deprecation=gone"}),
      "accepted");
}

}  // namespace
}  // namespace kvorum::server
