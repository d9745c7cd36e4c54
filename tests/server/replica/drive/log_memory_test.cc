// The part of the log that a member holds in memory: few entries or many, while it runs and when it
// starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "raft/node.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using std::chrono::seconds;

constexpr std::size_t kKept = 10'000;
constexpr std::size_t kGrowth = 20'000;
// For entries in flight: few at a time here.
constexpr std::size_t kSlackBytes = 20'000;
constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max() / 2;

std::size_t LogBytes(SmallCluster& cluster, std::size_t member) {
  return cluster.replica(member).node().log().size_bytes();
}

std::string ValueOf(int n) { return std::to_string(n) + std::string(1000, 'x'); }

// Writes far more than a member may hold of its log; the most that one held meanwhile.
std::size_t WriteMuch(SmallCluster& cluster, std::size_t size) {
  std::size_t most = 0;
  for (int i = 0; i < 300; ++i) {
    const auto written = cluster.Propose(*cluster.Leader(), RequestKind::kPut,
                                         PutBody("key" + std::to_string(i % 7), ValueOf(i)));
    EXPECT_TRUE(written.has_value()) << written.error().message;
    for (std::size_t member = 0; member < size; ++member)
      most = std::max(most, LogBytes(cluster, member));
  }
  return most;
}

bool HasSnapshotFile(SmallCluster& cluster, std::size_t member) {
  const auto names = cluster.disk(member).List(SmallMember::kSnapDir).value();
  return std::ranges::any_of(names,
                             [](const std::string& name) { return name.ends_with(".snap"); });
}

TEST(LogMemoryTest, EveryMemberLetsGoOfItsLogByBytesToo) {
  SmallCluster cluster(3, 7, [](LocalMemberOptions& options) {
    options.replica.snapshot_count = kUnbounded;
    options.replica.snapshot_size_bytes = kGrowth;
    options.raft.catch_up_entries = kUnbounded;
    options.raft.catch_up_size_bytes = kKept;
  });
  ASSERT_TRUE(cluster.StartAll().has_value());
  ASSERT_TRUE(cluster.WaitForLeader().has_value());
  EXPECT_LT(WriteMuch(cluster, 3), kKept + kGrowth + kSlackBytes);
  ASSERT_TRUE(cluster.CatchUp());
  for (std::size_t member = 0; member < 3; ++member) {
    EXPECT_TRUE(HasSnapshotFile(cluster, member));
    EXPECT_GT(LogBytes(cluster, member), kKept / 2) << "followers that lag a little are helped";
  }
}

TEST(LogMemoryTest, AStartHoldsNoMoreOfALongLogThanItKeeps) {
  std::size_t growth = kUnbounded;
  std::size_t kept = kUnbounded;
  SmallCluster cluster(1, 7, [&](LocalMemberOptions& options) {
    options.replica.snapshot_count = kUnbounded;
    options.replica.snapshot_size_bytes = growth;
    options.raft.catch_up_size_bytes = kept;
  });
  ASSERT_TRUE(cluster.StartAll().has_value());
  ASSERT_TRUE(cluster.WaitForLeader().has_value());
  ASSERT_GT(WriteMuch(cluster, 1), std::size_t{300'000})
      << "as a version without a bound leaves it";
  cluster.RunFor(seconds(1));
  ASSERT_FALSE(HasSnapshotFile(cluster, 0));

  growth = kGrowth;
  kept = kKept;
  for (int start = 0; start < 2; ++start) {
    ASSERT_TRUE(cluster.Start(0).has_value());
    EXPECT_LT(LogBytes(cluster, 0), kKept + kSlackBytes);
    ASSERT_TRUE(cluster.WaitForLeader().has_value());
    EXPECT_LT(WriteMuch(cluster, 1), kKept + kGrowth + kSlackBytes);
    EXPECT_TRUE(HasSnapshotFile(cluster, 0)) << "so that the next start reads less";
    EXPECT_EQ(cluster.member(0).Get("key5", 0).value(), ValueOf(299));
    cluster.member(0).local_member().CheckInvariants();
    cluster.RunFor(seconds(1));
  }
}

}  // namespace
}  // namespace kvorum::server
