// Whole members whose disk was wiped or brought back from an older copy, under their old identity.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using std::chrono::seconds;

class LostDataMembersTest : public testing::Test {
 protected:
  void StartAll() {
    ASSERT_TRUE(cluster_.StartAll().has_value());
    leader_ = cluster_.WaitForLeader().value();
    holder_ = (leader_ + 1) % 3;
    lagging_ = (leader_ + 2) % 3;
    ASSERT_TRUE(cluster_.CatchUp());
  }
  void Write(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string key = "key" + std::to_string(++written_);
      ASSERT_TRUE(cluster_.Propose(leader_, RequestKind::kPut, PutBody(key, "v")).has_value());
    }
  }
  // Acknowledged by the leader and the holder alone, of which the leader then goes.
  void WriteWithoutTheLaggingOne(int count) {
    cluster_.Isolate(lagging_);
    Write(count);
    cluster_.RunFor(seconds(1));
    cluster_.Kill(leader_);
  }
  void ExpectNoLeader(const std::string& why) {
    cluster_.network().MendAll();
    cluster_.RunFor(seconds(30));
    EXPECT_FALSE(cluster_.Leader().has_value()) << why;
  }
  void ExpectEverythingAfterTheLeaderIsBack() {
    ASSERT_TRUE(cluster_.Start(leader_).has_value());
    ASSERT_TRUE(cluster_.WaitForLeader().has_value());
    ASSERT_TRUE(cluster_.CatchUp());
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(cluster_.member(i).Get("key" + std::to_string(written_), 0)->has_value()) << i;
    }
    EXPECT_TRUE(cluster_.RunUntil([&] { return LostData(holder_) == 0; }));
  }
  raft::Index LostData(std::size_t i) { return cluster_.replica(i).status().lost_data(); }

  SmallCluster cluster_{3, 33};
  std::size_t leader_ = 0;
  std::size_t holder_ = 0;
  std::size_t lagging_ = 0;
  int written_ = 0;
};

TEST_F(LostDataMembersTest, AnOlderCopyIsFilledAgain) {
  StartAll();
  Write(3);
  auto older = cluster_.CopyOfDisk(holder_);
  Write(10);
  ASSERT_TRUE(cluster_.CatchUp());
  cluster_.ReplaceDisk(holder_, std::move(older));
  ASSERT_TRUE(cluster_.Start(holder_).has_value());
  ASSERT_TRUE(cluster_.RunUntil(
      [&] { return cluster_.replica(holder_).status().counters().losses.value() > 0; }));
  ASSERT_TRUE(cluster_.CatchUp());
  EXPECT_TRUE(cluster_.RunUntil([&] { return LostData(holder_) == 0; }));
  EXPECT_TRUE(cluster_.member(holder_).Get("key13", 0)->has_value());
}

TEST_F(LostDataMembersTest, AWipedOneBegunAnewHelpsNobodyToLead) {
  StartAll();
  Write(3);
  WriteWithoutTheLaggingOne(20);
  cluster_.ReplaceDisk(holder_, std::make_unique<SimFileSystem>());
  ASSERT_TRUE(cluster_.Start(holder_).has_value());
  ExpectNoLeader("the lagging one would lead without what was acknowledged");
  EXPECT_NE(LostData(holder_), 0);
  ASSERT_TRUE(cluster_.Start(holder_).has_value());
  ExpectNoLeader("it remembers that over restarts");
  ASSERT_TRUE(cluster_.Start(lagging_).has_value());
  ExpectNoLeader("and so do the others");
  ExpectEverythingAfterTheLeaderIsBack();
}

TEST_F(LostDataMembersTest, AnOlderCopyHelpsNobodyToLead) {
  StartAll();
  Write(3);
  auto older = cluster_.CopyOfDisk(holder_);
  ASSERT_TRUE(cluster_.Start(holder_).has_value());
  ASSERT_TRUE(cluster_.WaitForLeader().has_value());
  leader_ = *cluster_.Leader();
  ASSERT_NE(leader_, holder_) << "another seed is needed";
  lagging_ = 3 - leader_ - holder_;
  Write(3);
  WriteWithoutTheLaggingOne(20);
  cluster_.ReplaceDisk(holder_, std::move(older));
  ASSERT_TRUE(cluster_.Start(holder_).has_value());
  ExpectNoLeader("the lagging one would lead without what was acknowledged");
  ExpectEverythingAfterTheLeaderIsBack();
}

TEST_F(LostDataMembersTest, ARestartLosesNothing) {
  StartAll();
  for (int round = 0; round < 5; ++round) {
    Write(3);
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(cluster_.Start(i).has_value());
      leader_ = cluster_.WaitForLeader().value();
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(cluster_.replica(i).status().counters().losses.value(), 0) << i;
    EXPECT_EQ(cluster_.replica(i).status().counters().peers_losses.value(), 0) << i;
  }
}

}  // namespace
}  // namespace kvorum::server
