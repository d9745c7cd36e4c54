// --config-check: every setting with its source, every fault, and nothing touched.
#include "server/process/process/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "rpc/tls/socket.h"

namespace kvorum::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConfigCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kvorum-check-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // With ports that the kernel chooses.
  CheckReport Check(std::vector<std::string> arguments,
                    const std::vector<const char*>& environment = {}) {
    arguments.insert(arguments.begin(), {"--config-check", "--data-dir=" + folder_ + "/data",
                                         "--listen-client-urls=http://127.0.0.1:0",
                                         "--advertise-client-urls=http://127.0.0.1:1",
                                         "--listen-peer-urls=http://127.0.0.1:0"});
    std::vector<const char*> words;
    for (const std::string& argument : arguments) words.push_back(argument.c_str());
    const Reading reading = ReadSettings(words, environment);
    EXPECT_EQ(reading.parsed.outcome, ParseOutcome::kCheck);
    return CheckSettings(reading);
  }

  std::string folder_;
};

TEST_F(ConfigCheckTest, EverySettingIsShownWithItsSource) {
  const CheckReport report =
      Check({"--name=n1", "--raft-write-timeout=6s", "--discovery-password=secret",
             "--initial-cluster=n1=http://localhost:2380"},
            {"ETCD_MAX_TXN_OPS=5"});
  EXPECT_EQ(report.exit_code, 0) << report.text;
  EXPECT_THAT(
      report.text,
      AllOf(HasSubstr("  name = n1  [flag]\n"),
            HasSubstr("  max-txn-ops = 5  [environment (ETCD_MAX_TXN_OPS)]\n"),
            HasSubstr("  max-wals = 5  [default]\n"),
            HasSubstr("  raft-write-timeout = 6s  [flag, accepted without effect]\n"),
            HasSubstr("  data-dir = " + folder_ + "/data  [flag]\n"), HasSubstr("\nwarnings:\n"),
            HasSubstr("  - --raft-write-timeout has no effect here: "),
            HasSubstr("\nThe configuration is valid.\n"), Not(HasSubstr("secret"))));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/data"));
}

TEST_F(ConfigCheckTest, CredentialsInAnArchivesUrlAreRefusedAndNotShown) {
  const CheckReport report = Check({"--archive-url=s3://key:secret@bucket/kv"});
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_THAT(report.text, HasSubstr("@bucket/kv  [flag]"));
  EXPECT_THAT(report.text, HasSubstr("credentials do not belong into an archive's URL"));
  EXPECT_THAT(report.text, Not(HasSubstr("secret")));
}

TEST_F(ConfigCheckTest, TheFileIsASource) {
  std::ofstream(folder_ + "/c.yml") << "name: a\nmax-txn-ops: 7\ndata-dir: " << folder_ << "/data\n"
                                    << "listen-client-urls: http://127.0.0.1:0\n"
                                    << "listen-peer-urls: http://127.0.0.1:0\n"
                                    << "nonsense: 1\n";
  const CheckReport report = Check({"--config-file=" + folder_ + "/c.yml"});
  EXPECT_EQ(report.exit_code, 0) << report.text;
  EXPECT_THAT(report.text, AllOf(HasSubstr("  max-txn-ops = 7  [file (" + folder_ + "/c.yml)]\n"),
                                 HasSubstr("the unknown key \"nonsense\" is ignored")));
}

TEST_F(ConfigCheckTest, EveryFaultIsNamed) {
  const CheckReport report = Check({"--max-txn-ops=x", "--no-such-flag", "--heartbeat-interval=0"});
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_THAT(report.text, HasSubstr("\nfaults:\n"
                                     "  - invalid value \"x\" for flag -max-txn-ops: parse error\n"
                                     "  - flag provided but not defined: -no-such-flag\n"
                                     "  - --heartbeat-interval must be >0 (set to 0ms)\n"
                                     "\n3 faults.\n"));
}

TEST_F(ConfigCheckTest, FilesAreReadAndFoldersLookedAt) {
  std::ofstream(folder_ + "/file") << "";
  const CheckReport report =
      Check({"--cert-file=/no/cert", "--key-file=/no/key", "--wal-dir=" + folder_ + "/file/wal",
             "--log-outputs=" + folder_ + "/file/log"});
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_THAT(report.text, AllOf(HasSubstr("/no/cert"), HasSubstr("--wal-dir: "),
                                 HasSubstr("--log-outputs " + folder_ + "/file/log: ")));
}

TEST_F(ConfigCheckTest, AnAddressThatIsTakenIsAFault) {
  const auto taken = rpc::ListenSocket::Tcp("127.0.0.1", 0);
  ASSERT_TRUE(taken.has_value());
  ASSERT_TRUE(taken->Listen().has_value());
  const CheckReport report = Check({"--listen-metrics-urls=http://" + taken->address()});
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_THAT(report.text, HasSubstr("--listen-metrics-urls http://" + taken->address() +
                                     ": listen tcp " + taken->address()));
}

TEST_F(ConfigCheckTest, TheFirstStartIsChecked) {
  EXPECT_THAT(Check({"--name=a", "--initial-cluster=b=http://localhost:2380"}).text,
              HasSubstr("couldn't find local name \"a\" in the initial cluster configuration"));
  const CheckReport other = Check({"--name=a", "--initial-cluster=a=http://localhost:99"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.text, HasSubstr("--initial-advertise-peer-urls: "));
  EXPECT_EQ(Check({"--name=a", "--initial-cluster=a=http://127.0.0.1:99",
                   "--initial-advertise-peer-urls=http://localhost:99"})
                .exit_code,
            0)
      << "the start compares what they resolve to";
  std::filesystem::create_directories(folder_ + "/data/member/snap");
  std::ofstream(folder_ + "/data/member/snap/db") << "";
  EXPECT_EQ(Check({"--name=a", "--initial-cluster=b=http://localhost:2380"}).exit_code, 0)
      << "later ones go by the data";
}

}  // namespace
}  // namespace kvorum::server
