// A few whole members together: the promises of a cluster of 3 or 5, without disk faults.
#include "tests/server/replica/small_cluster.h"

#include <gtest/gtest.h>

#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using std::chrono::seconds;

TEST(SmallCluster, WritesThroughAnyMemberAreReadThroughEveryOther) {
  SmallCluster cluster(3, 1);
  ASSERT_TRUE(cluster.StartAll().has_value());
  ASSERT_TRUE(cluster.WaitForLeader().has_value());
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    const std::string value = "of " + std::to_string(i);
    ASSERT_TRUE(cluster.Propose(i, RequestKind::kPut, PutBody("key", value)).has_value());
    for (std::size_t reader = 0; reader < cluster.size(); ++reader) {
      ASSERT_TRUE(cluster.ReadIndex(reader).has_value());
      EXPECT_EQ(cluster.member(reader).Get("key", 0).value(), value);
    }
  }
}

TEST(SmallCluster, AMajorityGoesOnAndTheKilledLeaderCatchesUp) {
  SmallCluster cluster(3, 2);
  ASSERT_TRUE(cluster.StartAll().has_value());
  const std::size_t first = cluster.WaitForLeader().value();
  ASSERT_TRUE(cluster.Propose(first, RequestKind::kPut, PutBody("key", "1")).has_value());
  cluster.Kill(first);
  const std::size_t second = cluster.WaitForLeader().value();
  ASSERT_NE(second, first);
  ASSERT_TRUE(cluster.Propose(second, RequestKind::kPut, PutBody("key", "2")).has_value());
  ASSERT_TRUE(cluster.Start(first).has_value());
  ASSERT_TRUE(cluster.WaitForLeader().has_value());
  ASSERT_TRUE(cluster.ReadIndex(first).has_value());
  EXPECT_EQ(cluster.member(first).Get("key", 0).value(), "2");
}

}  // namespace
}  // namespace kvorum::server
