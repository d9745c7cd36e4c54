// The time of the log's next snapshot, and the compaction of the log after it.
#include "server/replica/drive/log_snapshots.h"

#include <gtest/gtest.h>

#include "tests/server/replica/replica_node.h"

namespace kvorum::server {
namespace {

constexpr LogSnapshots::Limits kByNumber{.entries = 10, .size_bytes = 1 << 20};

TEST(LogSnapshotsTest, OneIsDueAfterSoManyDurableEntries) {
  const auto node = MakeNode({1, 2}, 30);
  LogSnapshots snapshots(*node, 5, kByNumber);
  snapshots.Durable(14);
  EXPECT_FALSE(snapshots.Begin().has_value());
  snapshots.Durable(15);
  const auto begun = snapshots.Begin();
  ASSERT_TRUE(begun.has_value());
  EXPECT_EQ(begun->index, 15u);
  EXPECT_EQ(begun->term, 1u);
  EXPECT_EQ(begun->conf_state.voters, (std::vector<raft::MemberId>{1, 2}));
}

TEST(LogSnapshotsTest, OneIsDueAfterSoManyBytesToo) {
  const auto node = MakeNode({1}, 4, 1000);
  LogSnapshots snapshots(*node, 0, {.entries = 100, .size_bytes = 4000});
  EXPECT_FALSE(snapshots.Begin().has_value()) << "nothing is durable";
  snapshots.Durable(1);
  EXPECT_TRUE(snapshots.Begin().has_value());
}

TEST(LogSnapshotsTest, ThereIsOneAtATime) {
  const auto node = MakeNode({1}, 30);
  LogSnapshots snapshots(*node, 0, kByNumber);
  snapshots.Durable(10);
  EXPECT_TRUE(snapshots.Begin().has_value());
  snapshots.Durable(30);
  EXPECT_FALSE(snapshots.Begin().has_value());
  snapshots.Ended(0);
  EXPECT_TRUE(snapshots.Begin().has_value()) << "one that could not be made ends, too";
}

TEST(LogSnapshotsTest, ItsConfigurationIsThatOfItsIndex) {
  const auto node = MakeNode({1}, 40);
  LogSnapshots snapshots(*node, 0, kByNumber);
  snapshots.ConfChanged(12, {.voters = {1, 2}});
  snapshots.ConfChanged(20, {.voters = {1, 2, 3}});
  snapshots.Durable(19);
  EXPECT_EQ(snapshots.Begin()->conf_state.voters.size(), 2u);
  snapshots.Ended(19);
  snapshots.Durable(40);
  EXPECT_EQ(snapshots.Begin()->conf_state.voters.size(), 3u);
}

TEST(LogSnapshotsTest, ALeadersSnapshotTakesTheirPlace) {
  const auto node = MakeNode({1}, 40);
  LogSnapshots snapshots(*node, 0, kByNumber);
  snapshots.ConfChanged(12, {.voters = {1, 2}});
  snapshots.Installed({.conf_state = {.voters = {1, 2, 3}}, .index = 25, .term = 1});
  snapshots.Durable(34);
  EXPECT_FALSE(snapshots.Begin().has_value());
  snapshots.Durable(35);
  EXPECT_EQ(snapshots.Begin()->conf_state.voters.size(), 3u);
}

TEST(LogSnapshotsTest, TheLogIsCompactedBehindOneThatIsDone) {
  const auto node = MakeNode({1}, 40);
  LogSnapshots snapshots(*node, 0, kByNumber);
  snapshots.Durable(20);
  ASSERT_TRUE(snapshots.Begin().has_value());
  EXPECT_EQ(node->log().first_index(), 1u);
  snapshots.Ended(20);
  EXPECT_EQ(node->log().first_index(), 21u);
}

TEST(LogSnapshotsTest, FollowersThatGetASnapshotKeepTheLogUntilTheyHaveIt) {
  const auto node = MakeNode({1}, 40);
  LogSnapshots snapshots(*node, 0, kByNumber);
  snapshots.SendBegun(2, 15);
  snapshots.Durable(30);
  ASSERT_TRUE(snapshots.Begin().has_value());
  snapshots.Ended(30);
  EXPECT_EQ(node->log().first_index(), 16u);
  snapshots.SendEnded(2, false, {2});
  snapshots.Tick({3}, 0, true);
  EXPECT_EQ(node->log().first_index(), 31u) << "asked again with each tick until all is done";
}

}  // namespace
}  // namespace kvorum::server
