// Flags and variables in all the spellings that scripts use.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/server/settings/command_line.h"

namespace kvorum::server {
namespace {

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

}  // namespace
}  // namespace kvorum::server
