// The accepted values of --feature-gates.
#include "server/process/settings/feature_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string GatesRefusal(std::string_view text) {
  const auto gates = ParseFeatureGates(text);
  return gates.has_value() ? "accepted" : gates.error();
}

bool Checkpoints(std::string_view text) { return ParseFeatureGates(text)->lease_checkpoint; }

TEST(FeatureGatesTest, EveryNameOfTheApiLevelIsTaken) {
  EXPECT_EQ(GatesRefusal(""), "accepted");
  EXPECT_EQ(GatesRefusal("InitialCorruptCheck=true"), "accepted");
  EXPECT_EQ(
      GatesRefusal("StopGRPCServiceOnDefrag=true, CompactHashCheck=false,FastLeaseKeepAlive=T,"
                   "TxnModeWriteWithSharedBuffer=0,SetMemberLocalAddr=1,PriorityRequest=true,"
                   "AllAlpha=false,AllBeta=true"),
      "accepted");
}

TEST(FeatureGatesTest, OthersAreRefused) {
  EXPECT_EQ(GatesRefusal("Unheard=true"), "unrecognized feature gate: Unheard");
  EXPECT_EQ(GatesRefusal("LeaseCheckpoint"), "missing bool value for LeaseCheckpoint");
  EXPECT_EQ(GatesRefusal("LeaseCheckpoint=maybe"),
            "invalid value of LeaseCheckpoint=maybe, err: strconv.ParseBool: parsing \"maybe\": "
            "invalid syntax");
}

TEST(FeatureGatesTest, OnesThatAreSetAndDoNothingAreNamed) {
  const auto without_effect = [](std::string_view text) {
    std::vector<std::string_view> names;
    const FeatureGates gates = ParseFeatureGates(text).value();
    for (const GateWithoutEffect& gate : gates.without_effect) {
      EXPECT_NE(gate.reason, "");
      names.push_back(gate.name);
    }
    return names;
  };
  EXPECT_THAT(without_effect(""), IsEmpty());
  EXPECT_THAT(without_effect("LeaseCheckpoint=true,LeaseCheckpointPersist=true"), IsEmpty());
  EXPECT_THAT(without_effect("InitialCorruptCheck=true,CompactHashCheck=true"), IsEmpty());
  EXPECT_THAT(without_effect("SetMemberLocalAddr=false,FastLeaseKeepAlive=true"), IsEmpty())
      << "as they are by default";
  EXPECT_THAT(without_effect("FastLeaseKeepAlive=false"), ElementsAre("FastLeaseKeepAlive"));
  EXPECT_THAT(without_effect("AllAlpha=true"), IsEmpty());
  EXPECT_THAT(without_effect("AllBeta=false"),
              ElementsAre("FastLeaseKeepAlive", "TxnModeWriteWithSharedBuffer"));
}

TEST(FeatureGatesTest, CheckpointsOfLeasesAreOffUnlessAskedFor) {
  EXPECT_FALSE(Checkpoints(""));
  EXPECT_FALSE(Checkpoints("AllBeta=true"));
  EXPECT_TRUE(Checkpoints("LeaseCheckpoint=true"));
  EXPECT_TRUE(Checkpoints("AllAlpha=true"));
  EXPECT_FALSE(Checkpoints("LeaseCheckpoint=false,LeaseCheckpointPersist=false,AllAlpha=true"));
  EXPECT_TRUE(Checkpoints("LeaseCheckpointPersist=true,LeaseCheckpoint=true"));
}

}  // namespace
}  // namespace kvorum::server
