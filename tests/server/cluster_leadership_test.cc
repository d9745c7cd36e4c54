// Leadership that is moved, handed over or lost, in small clusters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "server/call/member_patches.h"
#include "server/services/cluster/promote_forwarder.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/cluster_service_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

TEST_F(ClusterServiceTest, LeadershipIsMoved) {
  Begin(3);
  const std::size_t leader = Leader();
  const std::size_t next = (leader + 1) % 3;
  using etcdserverpb::MoveLeaderResponse;
  EXPECT_EQ(
      StatusOf(ServicesOf(next).Call<MoveLeaderResponse>(kMoveLeader, IdBody(cluster_->id(next)))),
      kErrNotLeader.ToError());
  EXPECT_EQ(StatusOf(ServicesOf(leader).Call<MoveLeaderResponse>(kMoveLeader, IdBody(77))),
            kErrBadLeaderTransferee.ToError());
  const auto moved =
      ServicesOf(leader).Call<MoveLeaderResponse>(kMoveLeader, IdBody(cluster_->id(next)));
  ASSERT_TRUE(moved.has_value()) << moved.error().message;
  EXPECT_FALSE(moved->has_header());
  EXPECT_EQ(Leader(), next);
}

TEST_F(ClusterServiceTest, LeadershipThatCannotBeMovedIsSaidInTime) {
  Begin(3);
  const std::size_t leader = Leader();
  const std::size_t next = (leader + 1) % 3;
  cluster_->Kill(next);
  EXPECT_EQ(StatusOf(ServicesOf(leader).Call<etcdserverpb::MoveLeaderResponse>(
                kMoveLeader, IdBody(cluster_->id(next)))),
            kErrTimeoutLeaderTransfer.ToError());
  EXPECT_EQ(Leader(), leader);
}

TEST_F(ClusterServiceTest, AStoppingLeaderHandsOver) {
  Begin(3);
  const std::size_t leader = Leader();
  const TimePoint before = cluster_->scheduler().clock().Now();
  bool done = false;
  cluster_->replica(leader).GiveUpLeadership(std::chrono::milliseconds(500), [&] { done = true; });
  const auto put = ServicesOf(leader).Send(kPutPath, PutBody("key", "in between"));
  ASSERT_TRUE(cluster_->RunUntil([&] { return done; }));
  EXPECT_LT(cluster_->scheduler().clock().Now() - before, std::chrono::milliseconds(100));
  EXPECT_NE(cluster_->replica(leader).leader(), cluster_->id(leader));
  EXPECT_NE(cluster_->replica(leader).leader(), raft::kNone);
  ASSERT_TRUE(cluster_->RunUntil([&] { return put->has_value(); }));
  EXPECT_EQ(ErrorText(**put), "ok") << "it went to the next leader";
}

TEST_F(ClusterServiceTest, AStoppingLeaderWithoutASuccessorDoesNotWaitForEver) {
  Begin(3);
  const std::size_t leader = Leader();
  for (std::size_t i = 0; i < 3; ++i) {
    if (i != leader) cluster_->Kill(i);
  }
  const TimePoint before = cluster_->scheduler().clock().Now();
  bool done = false;
  cluster_->replica(leader).GiveUpLeadership(std::chrono::milliseconds(500), [&] { done = true; });
  ASSERT_TRUE(cluster_->RunUntil([&] { return done; }));
  EXPECT_LE(cluster_->scheduler().clock().Now() - before, std::chrono::milliseconds(600));
}

TEST_F(ClusterServiceTest, AFollowerAndALoneMemberHaveNothingToHandOver) {
  Begin(3);
  bool done = false;
  cluster_->replica(Follower()).GiveUpLeadership(std::chrono::hours(1), [&] { done = true; });
  EXPECT_TRUE(cluster_->RunUntil([&] { return done; }, std::chrono::milliseconds(1)));
}

// --- time-outs ---------------------------------------------------------------------------------

TEST_F(ClusterServiceTest, WhoIsCutOffIsToldThatTheConnectionMayBeLost) {
  Begin(3);
  const std::size_t leader = Leader();
  const std::size_t follower = (leader + 1) % 3;
  // It follows on, and its forwarded proposals get lost.
  cluster_->network().Cut(cluster_->id(follower), cluster_->id(leader));
  cluster_->network().Cut(cluster_->id(follower), cluster_->id((leader + 2) % 3));
  const auto put = cluster_->Propose(follower, RequestKind::kPut, PutBody("k", "v"));
  EXPECT_THAT(ErrorText(put), testing::StartsWith("etcdserver: request timed out"));
}

TEST_F(ClusterServiceTest, ALeaderWithoutAQuorumLosesWhatItHadTaken) {
  Begin(3);
  const std::size_t leader = Leader();
  for (std::size_t i = 0; i < 3; ++i) {
    if (i != leader) cluster_->Kill(i);
  }
  const auto put = cluster_->Propose(leader, RequestKind::kPut, PutBody("k", "v"));
  EXPECT_EQ(ErrorText(put), kErrTimeout.message) << "there is no leader at all by then";
}

}  // namespace
}  // namespace kvorum::server
