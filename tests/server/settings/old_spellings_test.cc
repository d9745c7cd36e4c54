// The --experimental-* spellings of flags that etcd 3.4 to 3.6 have and 3.7 does not.
#include "server/process/settings/old_spellings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "server/process/settings/feature_gates.h"
#include "server/process/settings/flag_table.h"
#include "tests/server/settings/command_line.h"

namespace kvorum::server {
namespace {

using Warnings = std::vector<std::string>;

std::string RefusalMessage(Words arguments, Words environment = {}) {
  const auto parsed = Parse(arguments, environment);
  return parsed.has_value() ? "accepted" : parsed.error().message;
}

// The flags of 3.4.45, 3.5.33 and 3.6.14 that are --experimental-*, a key of their configuration
// files, and those of 3.5's v2 that mean nothing without it.
const std::set<std::string> kOfOldVersions = {"experimental-backend-bbolt-freelist-type",
                                              "experimental-bootstrap-defrag-threshold-megabytes",
                                              "experimental-compact-hash-check-enabled",
                                              "experimental-compact-hash-check-time",
                                              "experimental-compaction-batch-limit",
                                              "experimental-compaction-sleep-interval",
                                              "experimental-corrupt-check-time",
                                              "experimental-distributed-tracing-address",
                                              "experimental-distributed-tracing-instance-id",
                                              "experimental-distributed-tracing-sampling-rate",
                                              "experimental-distributed-tracing-service-name",
                                              "experimental-downgrade-check-time",
                                              "experimental-enable-distributed-tracing",
                                              "experimental-enable-lease-checkpoint",
                                              "experimental-enable-lease-checkpoint-persist",
                                              "experimental-enable-v2v3",
                                              "experimental-initial-corrupt-check",
                                              "experimental-max-learners",
                                              "experimental-memory-mlock",
                                              "experimental-peer-skip-client-san-verification",
                                              "experimental-snapshot-catch-up-entries",
                                              "experimental-snapshot-catchup-entries",
                                              "experimental-stop-grpc-service-on-defrag",
                                              "experimental-txn-mode-write-with-shared-buffer",
                                              "experimental-warning-apply-duration",
                                              "experimental-warning-unary-request-duration",
                                              "experimental-watch-progress-notify-interval",
                                              "enable-v2",
                                              "proxy-dial-timeout",
                                              "proxy-failure-wait",
                                              "proxy-read-timeout",
                                              "proxy-refresh-interval",
                                              "proxy-write-timeout"};

TEST(OldSpellingsTest, EveryOneIsKnownAndStandsForSomethingThatExists) {
  std::set<std::string> names;
  for (const OldSpelling& old : OldSpellings()) {
    SCOPED_TRACE(old.name);
    names.insert(std::string(old.name));
    EXPECT_EQ(FindFlag(old.name), nullptr);
    if (!old.flag.empty()) {
      EXPECT_NE(FindFlag(old.flag), nullptr);
    } else if (!old.gate.empty()) {
      EXPECT_TRUE(ParseFeatureGates(std::string(old.gate) + "=true").has_value() ||
                  old.gate == "LeaseCheckpointPersist");
    } else {
      EXPECT_NE(old.reason, "");
    }
  }
  EXPECT_EQ(names, kOfOldVersions);
}

// Manifests of kubeadm before 1.35 have these two.
TEST(OldSpellingsTest, TheirValuesReachTheFlagWithAWarning) {
  const auto parsed = Parse({"--experimental-watch-progress-notify-interval=5s"},
                            {"ETCD_EXPERIMENTAL_COMPACTION_BATCH_LIMIT=7"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->options.watch_progress_notify_interval, std::chrono::seconds(5));
  EXPECT_EQ(parsed->options.compaction_batch_limit, 7);
  EXPECT_EQ(
      parsed->warnings,
      (Warnings{"--experimental-watch-progress-notify-interval is a spelling that ended with "
                "3.7: use --watch-progress-notify-interval",
                "--experimental-compaction-batch-limit is a spelling that ended with 3.7: use "
                "--compaction-batch-limit"}));
}

TEST(OldSpellingsTest, SwitchesOfFeaturesBecomeGates) {
  const auto parsed =
      Parse({"--experimental-enable-lease-checkpoint", "--feature-gates=FastLeaseKeepAlive=true",
             "--experimental-initial-corrupt-check=true"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->options.feature_gates,
            "FastLeaseKeepAlive=true,InitialCorruptCheck=true,LeaseCheckpoint=true");
  EXPECT_EQ(parsed->warnings.at(0),
            "--experimental-enable-lease-checkpoint is a spelling that ended with 3.7: use "
            "--feature-gates=LeaseCheckpoint=true");
  EXPECT_EQ(RefusalMessage({"--experimental-initial-corrupt-check=maybe"}),
            "invalid boolean value \"maybe\" for -experimental-initial-corrupt-check: parse error");
  EXPECT_EQ(RefusalMessage({"--experimental-enable-lease-checkpoint-persist"}),
            "enabling feature gate LeaseCheckpointPersist requires enabling feature gate "
            "LeaseCheckpoint");
}

TEST(OldSpellingsTest, ASwitchAndItsGateTogetherAreRefused) {
  EXPECT_EQ(
      RefusalMessage({"--experimental-initial-corrupt-check=true",
                      "--feature-gates=InitialCorruptCheck=true"}),
      "--experimental-initial-corrupt-check=true and --feature-gates "
      "(InitialCorruptCheck=true) are both set; keep --feature-gates=InitialCorruptCheck=true "
      "or --feature-gates=InitialCorruptCheck=false alone");
}

TEST(OldSpellingsTest, AFlagAndItsOldSpellingInTheEnvironmentConflict) {
  EXPECT_EQ(RefusalMessage({"--max-learners=2"}, {"ETCD_EXPERIMENTAL_MAX_LEARNERS=3"}),
            "conflicting environment variable \"ETCD_EXPERIMENTAL_MAX_LEARNERS\" is shadowed by "
            "corresponding command-line flag \"--max-learners\" (either unset environment variable "
            "or disable flag)");
}

TEST(OldSpellingsTest, BadValuesAreRefusedUnderTheNameThatWasUsed) {
  EXPECT_EQ(RefusalMessage({"--experimental-warning-apply-duration=5"}),
            "invalid value \"5\" for flag -experimental-warning-apply-duration: parse error");
  EXPECT_EQ(RefusalMessage({}, {"ETCD_EXPERIMENTAL_WARNING_APPLY_DURATION=5"}),
            "invalid value \"5\" for ETCD_EXPERIMENTAL_WARNING_APPLY_DURATION: parse error");
}

TEST(OldSpellingsTest, OneThatStandsForNothingIsTakenWithItsValue) {
  const auto parsed = Parse({"--experimental-enable-v2v3", "/v2", "--name=a"});
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(parsed->options.name, "a");
  EXPECT_EQ(parsed->warnings,
            Warnings{"--experimental-enable-v2v3 has no effect here: there is no v2 API"});
}

// A flag that minikube gives to etcd 3.5.
TEST(OldSpellingsTest, TimesOfTheOldProxyAreTaken) {
  EXPECT_EQ(Parse({"--proxy-refresh-interval=70000"})->warnings,
            Warnings{"--proxy-refresh-interval has no effect here: there is no v2 proxy"});
  EXPECT_EQ(Parse({"--enable-v2", "--name=a"})->options.name, "a");
  EXPECT_EQ(RefusalMessage({"--proxy=on"}), "flag provided but not defined: -proxy");
}

}  // namespace
}  // namespace kvorum::server
