// Automatic compaction in whole members: the leader compacts, a follower does not, and another
// leader goes on.
#include <gtest/gtest.h>

#include "base/api_errors.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class AutoCompactionCluster : public ::testing::Test {
 protected:
  void Begin(const CompactionPolicy& policy) {
    cluster_.emplace(
        3, 11, [policy](LocalMemberOptions& options) { options.housekeeping.compaction = policy; });
    ASSERT_TRUE(cluster_->StartAll().has_value());
    ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  }
  std::size_t leader() { return cluster_->Leader().value(); }
  void Put(int times) {
    for (int i = 0; i < times; ++i) {
      const auto put = cluster_->Propose(leader(), RequestKind::kPut, PutBody("k", "v"));
      ASSERT_TRUE(put.has_value()) << put.error().message;
    }
  }
  std::int64_t CompactedAt(std::size_t i) { return cluster_->member(i).store().compact_revision(); }
  bool CompactedTo(std::int64_t revision) {
    return cluster_->RunUntil(
        [&] {
          for (std::size_t i = 0; i < cluster_->size(); ++i) {
            if (cluster_->is_up(i) && CompactedAt(i) < revision) return false;
          }
          return true;
        },
        minutes(10));
  }

  std::optional<SmallCluster> cluster_;
};

TEST_F(AutoCompactionCluster, ByRevisionAllMembersCompactWhatTheirLeaderDecides) {
  Begin({.mode = CompactionPolicy::Mode::kRevision, .kept_revisions = 5});
  ASSERT_NO_FATAL_FAILURE(Put(20));
  const std::int64_t due = cluster_->member(leader()).store().revision() - 5;
  ASSERT_TRUE(CompactedTo(due));
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    EXPECT_EQ(CompactedAt(i), due);
    EXPECT_TRUE(cluster_->member(i).Get("k", due).has_value());
    EXPECT_FALSE(cluster_->member(i).Get("k", due - 1).has_value());
  }
}

TEST_F(AutoCompactionCluster, ByTimeWhatIsOlderThanThePeriodGoes) {
  Begin({.mode = CompactionPolicy::Mode::kPeriodic, .period = seconds(10)});
  ASSERT_NO_FATAL_FAILURE(Put(20));
  const std::int64_t old = cluster_->member(leader()).store().revision();
  ASSERT_TRUE(CompactedTo(old));
  ASSERT_NO_FATAL_FAILURE(Put(1));
  EXPECT_EQ(CompactedAt(leader()), old) << "younger ones stay";
}

TEST_F(AutoCompactionCluster, TheNextLeaderGoesOn) {
  Begin({.mode = CompactionPolicy::Mode::kPeriodic, .period = seconds(10)});
  ASSERT_NO_FATAL_FAILURE(Put(5));
  const std::int64_t first = cluster_->member(leader()).store().revision();
  ASSERT_TRUE(CompactedTo(first));
  cluster_->Kill(leader());
  ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  ASSERT_NO_FATAL_FAILURE(Put(5));
  ASSERT_TRUE(CompactedTo(first + 5));
}

// A client's compaction comes first.
TEST_F(AutoCompactionCluster, ARevisionThatIsCompactedAlreadyIsNoFailure) {
  Begin({.mode = CompactionPolicy::Mode::kRevision, .kept_revisions = 5});
  ASSERT_NO_FATAL_FAILURE(Put(20));
  const std::int64_t newest = cluster_->member(leader()).store().revision();
  ASSERT_TRUE(
      cluster_->Propose(leader(), RequestKind::kCompaction, CompactBody(newest)).has_value());
  cluster_->RunFor(minutes(6));
  EXPECT_EQ(CompactedAt(leader()), newest);
  ASSERT_NO_FATAL_FAILURE(Put(20));
  EXPECT_TRUE(CompactedTo(newest + 15));
}

TEST_F(AutoCompactionCluster, WithoutALeaderNothingIsCompactedAndThenItIs) {
  Begin({.mode = CompactionPolicy::Mode::kPeriodic, .period = seconds(10)});
  ASSERT_NO_FATAL_FAILURE(Put(5));
  const std::int64_t newest = cluster_->member(leader()).store().revision();
  const std::size_t left = (leader() + 1) % 3;
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    if (i != left) cluster_->Kill(i);
  }
  const std::int64_t before = CompactedAt(left);
  cluster_->RunFor(minutes(2));
  EXPECT_EQ(CompactedAt(left), before);
  for (std::size_t i = 0; i < cluster_->size(); ++i) {
    if (i == left) continue;
    ASSERT_TRUE(cluster_->Start(i).has_value());
  }
  EXPECT_TRUE(CompactedTo(newest));
}

}  // namespace
}  // namespace kvorum::server
