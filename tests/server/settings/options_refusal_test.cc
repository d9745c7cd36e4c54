// Values that the server refuses, or takes with a word of warning, as etcd does.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/server/settings/command_line.h"

namespace kvorum::server {
namespace {

using namespace std::chrono_literals;

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
  // A list set to nothing allows no client, as in etcd.
  EXPECT_EQ(Parsed({"--peer-cert-allowed-cn="}).peer_cert_allowed_cn, std::vector<std::string>{""});
  EXPECT_EQ(Parsed({}, {"ETCD_PEER_TRUSTED_CA_FILE=x"}).peer_trusted_ca_file, "x");
}

TEST(OptionsTest, DiscoveryNeedsATokenAndEndpoints) {
  const std::string both = "1: both --discovery-token and --discovery-endpoints must be set";
  EXPECT_EQ(Refusal({"--discovery-token=12"}), both);
  EXPECT_EQ(Refusal({"--discovery-endpoints=h:1"}), both);
  EXPECT_EQ(Refusal({"--discovery-token=12", "--discovery-endpoints=h:1, "}),
            "1: --discovery-endpoints must not contain empty endpoints");
  const Options options = Parsed({"--discovery-token=12", "--discovery-endpoints=h:2,h:1,h:2"});
  EXPECT_EQ(options.discovery_endpoints, (std::vector<std::string>{"h:1", "h:2"}));
  EXPECT_EQ(options.initial_cluster_token, "12");
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
            Warnings{"--backend-bbolt-freelist-type has no effect here: The database is LMDB, "
                     "which has no bbolt freelist."});
  EXPECT_EQ(
      Parse({}, {"ETCD_SOCKET_REUSE_ADDRESS=true"})->warnings,
      Warnings{"--socket-reuse-address has no effect here: Listeners always set SO_REUSEADDR."});
  EXPECT_EQ(Parse({"--socket-reuse-address=false", "--downgrade-check-time=5000ms"})->warnings,
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

TEST(OptionsTest, AnArchivesSettingsAreCheckedWhereOneIsAskedFor) {
  EXPECT_EQ(Refusal({"--archive-interval=1ms", "--archive-path-style=x"}), "accepted");
  EXPECT_EQ(Refusal({"--archive-url=file:///backup/kv", "--archive-interval=100ms",
                     "--archive-base-interval=24h", "--archive-keep-for=720h"}),
            "accepted");
  EXPECT_EQ(Refusal({"--archive-url=s3://bucket/prefix", "--archive-endpoint=http://h:9000",
                     "--archive-region=eu-1", "--archive-path-style=path"}),
            "accepted");
  const auto refusal = [](const char* url, const char* flag) { return Refusal({url, flag}); };
  EXPECT_EQ(refusal("--archive-url=backup", "--name=n"),
            "1: --archive-url: an archive's URL is file:///path or s3://bucket/prefix");
  EXPECT_EQ(refusal("--archive-url=s3://key:secret@bucket", "--name=n"),
            "1: --archive-url: credentials do not belong into an archive's URL");
  constexpr const char* kFolder = "--archive-url=file:///backup";
  EXPECT_EQ(refusal(kFolder, "--archive-interval=99ms"), "1: --archive-interval must be >=100ms");
  EXPECT_EQ(refusal(kFolder, "--archive-interval=soon"),
            "2: invalid value \"soon\" for flag -archive-interval: parse error");
  EXPECT_EQ(refusal(kFolder, "--archive-base-interval=0s"),
            "1: --archive-base-interval must be >=1s");
  EXPECT_EQ(refusal(kFolder, "--archive-keep-for=-1s"), "1: --archive-keep-for must be >=0");
  EXPECT_EQ(refusal(kFolder, "--archive-max-log-bytes=1000"),
            "1: --archive-max-log-bytes must be >=67108864");
  EXPECT_EQ(refusal(kFolder, "--archive-region=eu-1"),
            "1: --archive-region needs an --archive-url of s3://bucket/prefix");
  constexpr const char* kBucket = "--archive-url=s3://bucket";
  EXPECT_EQ(refusal(kBucket, "--archive-path-style=both"),
            "1: --archive-path-style must be auto, path or virtual");
  EXPECT_EQ(refusal(kBucket, "--archive-endpoint=localhost"),
            "1: --archive-endpoint or --archive-region: the endpoint is not of the form "
            "https://host:port");
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
