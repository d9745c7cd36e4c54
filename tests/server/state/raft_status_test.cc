#include "server/state/raft_status.h"

#include <gtest/gtest.h>

namespace kvorum::server {
namespace {

TEST(RaftStatusTest, ShowsWhatWasPublishedLast) {
  RaftStatus status(7);
  EXPECT_EQ(status.applied_index(), 7u);
  EXPECT_EQ(status.leader(), raft::kNone);
  status.Publish({.commit_index = 9, .term = 3, .leader = 2});
  status.SetApplied(8);
  EXPECT_EQ(status.commit_index(), 9u);
  EXPECT_EQ(status.applied_index(), 8u);
  EXPECT_EQ(status.term(), 3u);
  EXPECT_EQ(status.leader(), 2u);
  EXPECT_EQ(status.leading_term(), 0u);
}

TEST(RaftStatusTest, SaysWhenLeadershipChanges) {
  RaftStatus status;
  EXPECT_FALSE(status.Publish({.term = 1, .leader = 2}));
  EXPECT_TRUE(status.Publish({.term = 2, .leader = 1, .is_leading = true}));
  EXPECT_EQ(status.leading_term(), 2u);
  EXPECT_FALSE(status.Publish({.commit_index = 5, .term = 2, .leader = 1, .is_leading = true}));
  EXPECT_TRUE(status.Publish({.term = 3, .leader = 1, .is_leading = true})) << "another term";
  EXPECT_TRUE(status.Publish({.term = 3}));
  EXPECT_EQ(status.leading_term(), 0u);
}

TEST(RaftStatusTest, IsLeaderlessOnlyWhenALeaderIsOverdue) {
  RaftStatus status;
  EXPECT_FALSE(status.is_leaderless()) << "an election may take its time";
  status.SetLeaderOverdue(true);
  EXPECT_TRUE(status.is_leaderless());
  status.Publish({.term = 1, .leader = 2});
  EXPECT_FALSE(status.is_leaderless());
}

TEST(RaftStatusTest, CountsWhatIsNotTaken) {
  RaftStatus status;
  status.CountRefusedMessage();
  status.CountRefusedMessage();
  status.CountRepeatedProposals(3);
  EXPECT_EQ(status.refused_messages(), 2u);
  EXPECT_EQ(status.repeated_proposals(), 3u);
}

}  // namespace
}  // namespace kvorum::server
