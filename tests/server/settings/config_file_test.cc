// The configuration file: keys, types, and what takes precedence.
#include "server/process/settings/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/text/duration_text.h"
#include "server/process/settings/config_keys.h"
#include "server/process/settings/flag_table.h"
#include "server/process/settings/options.h"
#include "server/process/settings/yaml_tree.h"
#include "tests/damage.h"
#include "tests/server/settings/command_line.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;
using WordList = std::vector<const char*>;

class ConfigFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kvorum-config-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/c.yml";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Reading Read(const std::string& text, WordList more_arguments = {}, WordList environment = {}) {
    std::ofstream(path_, std::ios::binary) << text;
    const std::string flag = "--config-file=" + path_;
    more_arguments.push_back(flag.c_str());
    return ReadSettings(more_arguments, environment);
  }

  Options Parsed(const std::string& text) {
    Reading reading = Read(text);
    for (const UsageError& fault : reading.faults) ADD_FAILURE() << fault.message;
    return reading.parsed.options;
  }

  // The faults, without the file's path.
  std::vector<std::string> Faults(const std::string& text) {
    std::vector<std::string> faults;
    for (const UsageError& fault : Read(text).faults) {
      EXPECT_EQ(fault.exit_code, 1);
      faults.push_back(fault.message.starts_with(path_) ? fault.message.substr(path_.size())
                                                        : fault.message);
    }
    return faults;
  }

  std::vector<std::string> Warnings(const std::string& text) {
    std::vector<std::string> warnings;
    for (const std::string& warning : Read(text).parsed.warnings)
      warnings.push_back(warning.starts_with(path_) ? warning.substr(path_.size()) : warning);
    return warnings;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(ConfigFileTest, ValuesReachTheirFields) {
  const Options options = Parsed(R"(# a comment
name: n1
data-dir: '/d'
snapshot-count: 7
heartbeat-interval: 20
election-timeout: 300
quota-backend-bytes: -1
pre-vote: no
grpc-keepalive-timeout: 5000000000
listen-client-urls: http://127.0.0.1:1,http://127.0.0.1:2
log-outputs: [stderr, /tmp/x]
cipher-suites:
  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
client-transport-security:
  cert-file: c
  key-file: k
  client-cert-auth: true
  trusted-ca-file: ca
  allowed-cn: [a, b]
peer-transport-security:
  cert-file: pc
  key-file: pk
  client-cert-auth: true
  trusted-ca-file: pca
  auto-tls: true
  allowed-hostname: [h]
  skip-client-san-verification: true
feature-gates: LeaseCheckpoint=true
)");
  EXPECT_EQ(options.name, "n1");
  EXPECT_EQ(options.data_dir, "/d");
  EXPECT_EQ(options.snapshot_count, 7);
  EXPECT_EQ(options.heartbeat_ms, 20);
  EXPECT_EQ(options.election_ms, 300);
  EXPECT_EQ(options.quota_backend_bytes, -1);
  EXPECT_FALSE(options.pre_vote);
  EXPECT_EQ(options.grpc_keepalive_timeout, 5s);
  EXPECT_EQ(options.listen_client_urls, "http://127.0.0.1:1,http://127.0.0.1:2");
  EXPECT_EQ(options.advertise_client_urls, "http://localhost:2379") << "needs none beside";
  EXPECT_THAT(options.log_outputs, ElementsAre("stderr", "/tmp/x"));
  EXPECT_THAT(options.cipher_suites, ElementsAre("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"));
  EXPECT_EQ(options.cert_file, "c");
  EXPECT_EQ(options.key_file, "k");
  EXPECT_TRUE(options.client_cert_auth);
  EXPECT_EQ(options.trusted_ca_file, "ca");
  EXPECT_THAT(options.client_cert_allowed_cn, ElementsAre("a", "b"));
  EXPECT_EQ(options.peer_cert_file, "pc");
  EXPECT_EQ(options.peer_key_file, "pk");
  EXPECT_TRUE(options.peer_client_cert_auth);
  EXPECT_EQ(options.peer_trusted_ca_file, "pca");
  EXPECT_TRUE(options.peer_auto_tls);
  EXPECT_THAT(options.peer_cert_allowed_hostname, ElementsAre("h"));
  EXPECT_TRUE(options.peer_skip_client_san_verification);
  EXPECT_EQ(options.feature_gates, "LeaseCheckpoint=true");
}

// Each key of the table takes its flag's default, so that no key has the wrong type.
TEST_F(ConfigFileTest, EveryKeyTakesItsDefault) {
  std::set<std::string_view> flags;
  for (const ConfigKey& key : ConfigKeys()) {
    const Flag* const flag = FindFlag(key.flag);
    if (flag == nullptr) continue;  // an old spelling, or without effect
    flags.insert(flag->name);
    std::string value(flag->default_text);
    if (key.type == ConfigType::kNanoseconds)
      value = std::to_string(ParseDuration(value).value().count());
    if (key.type == ConfigType::kString) value = "'" + value + "'";
    if (key.type == ConfigType::kStrings) value = value.empty() ? "[]" : "[" + value + "]";
    std::string text;
    std::string indent;
    for (std::size_t at = 0; at < key.section.size();) {
      const std::size_t end = std::min(key.section.find('.', at), key.section.size());
      text += indent + std::string(key.section.substr(at, end - at)) + ":\n";
      indent += "  ";
      at = end + 1;
    }
    text += indent + std::string(key.key) + ": " + value + "\n";
    EXPECT_THAT(Faults(text), IsEmpty()) << text;
    EXPECT_THAT(Warnings(text), testing::Not(testing::Contains(HasSubstr("unknown")))) << text;
  }
  for (const Flag& flag : Flags()) {
    const bool is_key = flag.name != "config-file" && flag.name != "discovery-fallback";
    EXPECT_EQ(flags.contains(flag.name), is_key) << flag.name;
  }
}

TEST_F(ConfigFileTest, FlagsAndEnvironmentDoNotCount) {
  const Reading reading =
      Read("name: a\n", {"--max-txn-ops=5", "--listen-client-urls=http://127.0.0.1:1"},
           {"ETCD_PRE_VOTE=false", "ETCD_NONSENSE=1", "ETCD_NAME=b"});
  EXPECT_THAT(reading.faults, IsEmpty());
  EXPECT_EQ(reading.parsed.options.name, "a");
  EXPECT_EQ(reading.parsed.options.max_txn_ops, 128);
  EXPECT_EQ(reading.parsed.options.listen_client_urls, "http://localhost:2379");
  EXPECT_TRUE(reading.parsed.options.pre_vote);
  EXPECT_THAT(reading.parsed.warnings, IsEmpty());
  EXPECT_EQ(reading.parsed.config_file, path_);
}

TEST_F(ConfigFileTest, FlagsThatCannotBeReadAreRefusedAlsoBesideAFile) {
  const Reading reading = Read("name: a\n", {"--no-such-flag"});
  ASSERT_EQ(reading.faults.size(), 1);
  EXPECT_EQ(reading.faults[0].exit_code, 2);
}

TEST_F(ConfigFileTest, TheFileMayBeNamedByTheEnvironment) {
  std::ofstream(path_) << "name: a\n";
  const std::string variable = "ETCD_CONFIG_FILE=" + path_;
  const WordList environment = {variable.c_str()};
  const auto parsed = ParseCommandLine({}, environment);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->options.name, "a");
}

TEST_F(ConfigFileTest, AFileThatIsNotThereIsRefused) {
  const WordList arguments = {"--config-file=/no/such/file"};
  const auto parsed = ParseCommandLine(arguments, {});
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().exit_code, 1);
  EXPECT_EQ(parsed.error().message, "open /no/such/file: no such file or directory");
}

TEST_F(ConfigFileTest, UnknownKeysAreNamedAndIgnored) {
  EXPECT_THAT(
      Warnings("nonsense: 5\nclient-transport-security:\n  cert-files: x\n"
               "discovery-fallback: proxy\nname: a\n"),
      ElementsAre(
          ":1: the unknown key \"nonsense\" is ignored",
          ":3: the unknown key \"client-transport-security.cert-files\" is ignored; did you mean "
          "\"cert-file\"?",
          ":4: the unknown key \"discovery-fallback\" is ignored"));
}

TEST_F(ConfigFileTest, KeysMayBeInCapitals) { EXPECT_EQ(Parsed("NAME: a\n").name, "a"); }

TEST_F(ConfigFileTest, NothingAfterAKeyIsItsDefault) {
  const Options options = Parsed(
      "name:\nsnapshot-count: ~\nlisten-peer-urls: ''\ncors: ''\n"
      "initial-cluster-state: ''\nlog-outputs: []\n"
      "client-transport-security:\n");
  EXPECT_EQ(options.name, "default");
  EXPECT_EQ(options.snapshot_count, 10'000);
  EXPECT_EQ(options.listen_peer_urls, "http://localhost:2380");
  EXPECT_EQ(options.initial_cluster_state, "new");
  EXPECT_THAT(options.log_outputs, ElementsAre("default"));
}

TEST_F(ConfigFileTest, AnEmptyFileIsOneOfDefaults) {
  for (const char* text : {"", "# nothing\n", "---\n", "--- \n---\nname: x\n", "{}"})
    EXPECT_EQ(Parsed(text).name, "default") << text;
}

TEST_F(ConfigFileTest, JsonIsYaml) {
  EXPECT_EQ(
      Parsed(R"({"name": "a", "peer-transport-security": {"cert-file": "x"}})").peer_cert_file,
      "x");
}

TEST_F(ConfigFileTest, NumbersAreReadAsYamlHasThem) {
  const auto count = [this](const std::string& text) {
    return Parsed("snapshot-count: " + text + "\n").snapshot_count;
  };
  EXPECT_EQ(count("0x10"), 16);
  EXPECT_EQ(count("010"), 8);
  EXPECT_EQ(count("1_000"), 1'000);
  EXPECT_EQ(count("1e3"), 1'000);
  EXPECT_EQ(count("20.0"), 20);
  EXPECT_EQ(count("18446744073709551615"), 18'446'744'073'709'551'615U);
}

TEST_F(ConfigFileTest, TypesAreStrict) {
  EXPECT_THAT(Faults("name: 5\n"), ElementsAre(":1: name must be a string, not \"5\""));
  EXPECT_THAT(Faults("name: [a]\n"), ElementsAre(":1: name must be a string, not a list"));
  EXPECT_THAT(Faults("auto-compaction-retention: 1\n"),
              ElementsAre(":1: auto-compaction-retention must be a string, not \"1\""));
  for (const char* number : {"'7'", "''", "1.5", "-1", "true", "99999999999999999999", "many"}) {
    EXPECT_THAT(Faults("snapshot-count: " + std::string(number) + "\n"),
                ElementsAre(HasSubstr("snapshot-count must be a whole number without a sign")))
        << number;
  }
  EXPECT_THAT(Faults("pre-vote: 'true'\n"),
              ElementsAre(":1: pre-vote must be true or false, not \"true\" (a string)"));
  EXPECT_THAT(Faults("\ngrpc-keepalive-timeout: 5s\n"),
              ElementsAre(":2: grpc-keepalive-timeout must be a number of nanoseconds (5000000000 "
                          "for 5s), not \"5s\" (a string)"));
  EXPECT_THAT(Faults("log-outputs: stderr\n"),
              ElementsAre(":1: log-outputs must be a list of strings, not \"stderr\" (a string)"));
  EXPECT_THAT(Faults("log-outputs: [1]\n"),
              ElementsAre(":1: log-outputs must be a list of strings, not a list"));
  EXPECT_THAT(Faults("max-concurrent-streams: 4294967296\n"), testing::SizeIs(1));
  EXPECT_THAT(Faults("peer-transport-security:\n"),
              ElementsAre(":1: peer-transport-security must be a map of settings, not nothing"));
  EXPECT_THAT(Faults("client-transport-security: 5\n"), testing::SizeIs(1));
  EXPECT_THAT(Faults("- a\n"), ElementsAre(":1: the file must be a map of settings, not a list"));
}

TEST_F(ConfigFileTest, ValuesAreCheckedAsThoseOfFlags) {
  EXPECT_THAT(Faults("listen-metrics-urls: bogus\n"),
              ElementsAre(":1: unexpected error setting up listen-metrics-urls: URL scheme must be "
                          "http, https, unix, or unixs: bogus"));
  EXPECT_THAT(Faults("feature-gates: Foo=true\n"),
              ElementsAre(HasSubstr("unrecognized feature gate: Foo")));
  EXPECT_THAT(Faults("heartbeat-interval: 5000\n"),
              ElementsAre("--election-timeout[1000ms] should be at least as 5 times as "
                          "--heartbeat-interval[5000ms]"));
  EXPECT_THAT(Faults("v2-deprecation: not-yet\n"), IsEmpty());
}

TEST_F(ConfigFileTest, EveryFaultIsFound) {
  EXPECT_THAT(Faults("name: 5\nmax-txn-ops: x\nheartbeat-interval: 0\n"), testing::SizeIs(3));
}

TEST_F(ConfigFileTest, OldSpellingsAreTaken) {
  const Reading reading = Read(
      "experimental-initial-corrupt-check: true\n"
      "experimental-watch-progress-notify-interval: 5000000000\n");
  EXPECT_THAT(reading.faults, IsEmpty());
  EXPECT_EQ(reading.parsed.options.watch_progress_notify_interval, 5s);
  EXPECT_EQ(reading.parsed.options.feature_gates, "InitialCorruptCheck=true");
}

TEST_F(ConfigFileTest, AnchorsAndMergesWork) {
  const Options options = Parsed(
      "client-transport-security: &tls\n  cert-file: c\n  key-file: k\n"
      "peer-transport-security:\n  <<: *tls\n  key-file: pk\n"
      "name: &n a\ninitial-cluster-token: *n\n");
  EXPECT_EQ(options.peer_cert_file, "c");
  EXPECT_EQ(options.peer_key_file, "pk");
  EXPECT_EQ(options.initial_cluster_token, "a");
}

// --- hostile files -------------------------------------------------------------------------------

TEST_F(ConfigFileTest, FilesThatAreNoYamlAreRefusedWithTheirLine) {
  EXPECT_THAT(Faults("name: a\nb: c: d\n"),
              ElementsAre(": line 2: mapping values are not allowed in this context"));
  EXPECT_THAT(Faults("\tname: x\n"), testing::SizeIs(1));
  EXPECT_THAT(Faults("name: *nope\n"), ElementsAre(HasSubstr("unknown anchor 'nope' referenced")));
  EXPECT_THAT(Faults("? [a]\n: b\n"), ElementsAre(HasSubstr("a key must be a word")));
  EXPECT_THAT(Faults("name: .inf\n"), testing::SizeIs(1));
  EXPECT_THAT(Faults("name: \"a\n"), testing::SizeIs(1));
  EXPECT_THAT(Faults("<<: 5\n"), testing::SizeIs(1));
  EXPECT_THAT(Faults("name: \xff\xfe\n"), testing::SizeIs(1));
}

TEST_F(ConfigFileTest, DepthIsBounded) {
  EXPECT_THAT(Faults("a: " + std::string(5'000, '[')), testing::SizeIs(1));
  EXPECT_THAT(Faults("a: " + std::string(500, '[') + std::string(500, ']')),
              ElementsAre(HasSubstr("nested more deeply")));
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    const std::string n = std::to_string(i);
    chain.append("a").append(n).append(": &a").append(n).append(" [*a");
    chain.append(std::to_string(i - 1)).append("]\n");
  }
  EXPECT_THAT(Faults(chain), ElementsAre(HasSubstr("nested more deeply")));
  EXPECT_THAT(Faults("a: &a [*a]\n"), ElementsAre(HasSubstr("unknown anchor 'a'")));
}

TEST_F(ConfigFileTest, ABombOfAliasesCostsNothing) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_THAT(Faults(bomb + "name: x\n"), IsEmpty()) << "unknown keys, whose values nobody reads";
  std::string merges = "m0: &m0 {a: 1, b: 2, c: 3}\n";
  for (int i = 1; i < 5'000; ++i) merges += "k" + std::to_string(i) + ": {<<: *m0}\n";
  EXPECT_THAT(Faults(merges), ElementsAre(HasSubstr("more values than")));
}

TEST_F(ConfigFileTest, SizeIsBounded) {
  EXPECT_THAT(Faults(std::string(kMaxConfigBytes + 1, '#')),
              ElementsAre(HasSubstr("larger than a configuration is")));
  const WordList arguments = {"--config-file=/dev/zero"};
  EXPECT_FALSE(ParseCommandLine(arguments, {}).has_value());
}

// Each byte flipped and each length cut: faults that say what is wrong and end the start, or none.
TEST_F(ConfigFileTest, DamagedFilesDoNoHarm) {
  int faulty = 0;
  int fine = 0;
  const auto read = [&](std::string_view damaged, auto...) {
    const std::vector<std::string> faults = Faults(std::string(damaged));
    ++(faults.empty() ? fine : faulty);
    for (const std::string& fault : faults) EXPECT_THAT(fault, testing::Not(IsEmpty())) << damaged;
  };
  const std::string text =
      "name: &a n1\nlog-outputs: [stderr, 'x']\nclient-transport-security:\n  cert-file: *a\n"
      "  <<: {key-file: \"k\\n\"}\nsnapshot-count: 0x1f\n";
  ForEachCut(text, read);
  ForEachFlip(text, read, kOuterBits);
  EXPECT_GT(faulty, 100);
  EXPECT_GT(fine, 10);
}

}  // namespace
}  // namespace kvorum::server
