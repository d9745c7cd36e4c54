// The content of the small buckets; only what a member can have written is accepted.
#include "server/state/replicated_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::server {
namespace {

using mvcc::Bucket;

class ReplicatedStateTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fs_.MakeDirectories("/data").has_value());
    backend_ = mvcc::OpenMemoryBackend(fs_, "/data/db").value();
  }
  void Put(Bucket bucket, std::string_view key, std::string_view value) {
    mvcc::WriteBatch batch;
    batch.changes.Put(bucket, key, value);
    ASSERT_TRUE(backend_->Commit(batch).has_value());
  }
  Result<ReplicatedState> Load() {
    auto reader = backend_->NewReader();
    return LoadReplicatedState(**reader);
  }

  SimFileSystem fs_;
  std::unique_ptr<mvcc::Backend> backend_;
};

TEST_F(ReplicatedStateTest, HoldsMembersRemovedOnesAndTheVersion) {
  Put(Bucket::kMembers, "2a", R"({"id":42,"peerURLs":["http://localhost:1"],"name":"m"})");
  Put(Bucket::kMembersRemoved, "8e9e05c52164694d", "removed");
  Put(Bucket::kCluster, "clusterVersion", "3.7.0");
  Put(Bucket::kCluster, "downgrade", R"({"target-version":"3.6.0","enabled":true})");
  const auto state = Load();
  ASSERT_TRUE(state.has_value()) << state.error().message;
  EXPECT_EQ(state->members.downgrade, (DowngradeInfo{.enabled = true, .target_version = "3.6.0"}));
  EXPECT_EQ(state->members.members.at(42).name, "m");
  EXPECT_TRUE(state->members.removed.contains(raft::MemberId{0x8e9e05c52164694d}));
  EXPECT_EQ(state->members.removed.size(), 1u);
  EXPECT_EQ(state->members.cluster_version, "3.7.0");
}

TEST_F(ReplicatedStateTest, ARemovedMemberThatIsNoIdIsDamage) {
  Put(Bucket::kMembersRemoved, "12xyz", "removed");
  const auto state = Load();
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().code, Code::kDataLoss);
  EXPECT_EQ(state.error().message,
            "the database names a removed member \"12xyz\", which is not a member ID");
}

TEST_F(ReplicatedStateTest, ADowngradeThatIsNoObjectIsDamage) {
  for (const char* json : {"", "[]", R"({"enabled":1})", R"({"target-version":3})"}) {
    Put(Bucket::kCluster, "downgrade", json);
    EXPECT_EQ(Load().error().code, Code::kDataLoss) << json;
  }
  Put(Bucket::kCluster, "downgrade", "{}");
  EXPECT_EQ(Load()->members.downgrade, DowngradeInfo{});
}

TEST_F(ReplicatedStateTest, AMemberWhoseRecordIsNoneIsDamage) {
  Put(Bucket::kMembers, "2a", "{}");
  EXPECT_EQ(Load().error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace kvorum::server
