// Changes of the members, asked for at the members of small clusters.
#include "server/services/cluster/cluster_service.h"

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

using etcdserverpb::MemberListResponse;
using etcdserverpb::MemberPromoteResponse;
using etcdserverpb::MemberRemoveResponse;
using etcdserverpb::MemberUpdateResponse;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ClusterServiceTest, AnAddedMemberIsInTheAnswerAndInEveryonesList) {
  Begin(3);
  const auto added =
      TrustingServices(Follower())
          .Call<AddResponse>(kAdd, AddBody({"http://10.0.0.9:2380", "http://10.0.0.4:2380"}));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  EXPECT_NE(added->header().cluster_id(), 0);
  EXPECT_EQ(added->header().revision(), 0);
  EXPECT_NE(added->header().raft_term(), 0);
  EXPECT_EQ(added->members_size(), 4);
  EXPECT_EQ(added->member().name(), "");
  EXPECT_THAT(added->member().peerurls(),
              ElementsAre("http://10.0.0.4:2380", "http://10.0.0.9:2380"));
  EXPECT_FALSE(added->member().islearner());
  for (std::size_t i = 0; i < 3; ++i) {
    const auto list = ServicesOf(i).Call<MemberListResponse>(kList, NumberBody(1));
    ASSERT_TRUE(list.has_value());
    EXPECT_EQ(list->members_size(), 4) << "a linearizable list knows it at once";
    EXPECT_TRUE(View(i).members.contains(raft::MemberId{added->member().id()}));
  }
}

// From the sorted URLs and the time, so that the same URLs may be added again under another id.
TEST_F(ClusterServiceTest, AnAddedMembersIdIsOfItsUrlsAndTheTime) {
  Begin(1);
  const std::int64_t now_s = cluster_->scheduler().clock().WallNanos() / 1'000'000'000;
  const auto added = ServicesOf(0).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.2:2380"}));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  EXPECT_EQ(added->member().id(), ComputeMemberId({"http://10.0.0.2:2380"}, "", now_s));
}

TEST_F(ClusterServiceTest, UrlsThatAreNoneAreRefused) {
  Begin(1);
  for (const std::vector<std::string>& urls : {std::vector<std::string>{},
                                               {"x"},
                                               {"http://a"},
                                               {"http://a:1/path"},
                                               {"ftp://a:1"},
                                               {"http://a:1/"},
                                               {"http://[::1"},
                                               {"http://%zz:5"},
                                               {"http://a b:5"},
                                               {"http://10.0.0.2:2380", ""}}) {
    const auto added = ServicesOf(0).Call<AddResponse>(kAdd, AddBody(urls));
    EXPECT_EQ(StatusOf(added), kErrMemberBadUrls.ToError()) << testing::PrintToString(urls);
    const auto updated =
        ServicesOf(0).Call<MemberUpdateResponse>(kUpdate, IdBody(cluster_->id(0), urls));
    EXPECT_EQ(StatusOf(updated), kErrMemberBadUrls.ToError()) << testing::PrintToString(urls);
  }
  EXPECT_EQ(View(0).members.size(), 1);
  EXPECT_THAT(View(0).members.begin()->second.peer_urls, ElementsAre("http://10.0.0.1:2380"));
}

// The id is made of them, as in etcd.
TEST_F(ClusterServiceTest, AnAdditionKeepsUrlsInOrderAndInOneSpelling) {
  Begin(1);
  const auto added = ServicesOf(0).Call<AddResponse>(
      kAdd, AddBody({"http://b:1", " HTTP://a: ", "unix:///s", "http://a:99999?x#y"}));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  EXPECT_THAT(added->member().peerurls(),
              ElementsAre("http://a:", "http://a:99999?x#y", "http://b:1", "unix:///s"));
}

TEST_F(ClusterServiceTest, AnUpdateKeepsUrlsAsTheyCame) {
  Begin(1);
  const auto updated = ServicesOf(0).Call<MemberUpdateResponse>(
      kUpdate, IdBody(cluster_->id(0), {"http://b:1", " HTTP://a:1 "}));
  ASSERT_TRUE(updated.has_value()) << updated.error().message;
  EXPECT_THAT(updated->members(0).peerurls(), ElementsAre("http://b:1", " HTTP://a:1 "));
}

TEST_F(ClusterServiceTest, WhatCannotBeIsRefusedAndWritesNothing) {
  Begin(3);
  const std::size_t leader = Leader();
  const raft::Index before = cluster_->replica(leader).commit_index();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(
        StatusOf(TrustingServices(i).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.2:2380"}))),
        kErrPeerUrlExist.ToError());
    EXPECT_EQ(StatusOf(TrustingServices(i).Call<MemberUpdateResponse>(
                  kUpdate, IdBody(cluster_->id(0), {"http://10.0.0.2:2380"}))),
              kErrPeerUrlExist.ToError());
    EXPECT_EQ(StatusOf(TrustingServices(i).Call<MemberUpdateResponse>(
                  kUpdate, IdBody(77, {"http://10.0.0.8:2380"}))),
              kErrMemberNotFound.ToError());
    EXPECT_EQ(StatusOf(TrustingServices(i).Call<MemberUpdateResponse>(
                  kUpdate, IdBody(77, {"no URL", "http://10.0.0.2:2380"}))),
              kErrMemberNotFound.ToError());
    EXPECT_EQ(StatusOf(TrustingServices(i).Call<MemberUpdateResponse>(
                  kUpdate, IdBody(cluster_->id(0), {"no URL", "http://10.0.0.2:2380"}))),
              kErrPeerUrlExist.ToError());
    EXPECT_EQ(StatusOf(TrustingServices(i).Call<MemberRemoveResponse>(kRemove, IdBody(77))),
              kErrMemberNotFound.ToError());
  }
  EXPECT_EQ(StatusOf(ServicesOf(leader).Call<MemberPromoteResponse>(kPromote, IdBody(77))),
            kErrMemberNotFound.ToError());
  EXPECT_EQ(
      StatusOf(ServicesOf(leader).Call<MemberPromoteResponse>(kPromote, IdBody(cluster_->id(0)))),
      kErrMemberNotLearner.ToError());
  EXPECT_EQ(cluster_->replica(leader).commit_index(), before);
}

TEST_F(ClusterServiceTest, MalformedRequestsAreRefused) {
  Begin(1);
  for (const std::string_view path : {kAdd, kRemove, kUpdate, kPromote, kList}) {
    const auto answer = ServicesOf(0).Call<MemberListResponse>(path, "\x08");
    ASSERT_FALSE(answer.has_value()) << path;
    EXPECT_EQ(answer.error().code, Code::kInternal) << path;
  }
}

TEST_F(ClusterServiceTest, AnUpdateChangesTheUrlsAndNothingElse) {
  Begin(3);
  const auto updated =
      ServicesOf(Follower())
          .Call<MemberUpdateResponse>(kUpdate, IdBody(cluster_->id(1), {"http://10.0.0.8:2380"}));
  ASSERT_TRUE(updated.has_value()) << updated.error().message;
  EXPECT_EQ(updated->members_size(), 3);
  ASSERT_TRUE(cluster_->CatchUp());
  for (std::size_t i = 0; i < 3; ++i) {
    const Member& member = View(i).members.at(cluster_->id(1));
    EXPECT_THAT(member.peer_urls, ElementsAre("http://10.0.0.8:2380"));
    EXPECT_EQ(member.name, "m1");
  }
}

// --- strict checks -----------------------------------------------------------------------------

TEST_F(ClusterServiceTest, OneThatIsNotStartedMustStartBeforeTheNextIsAdded) {
  Begin(1);
  ASSERT_TRUE(ServicesOf(0).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.2:2380"})).has_value());
  // Two voters, one of them started: nothing is committed any more, and nothing was asked of it.
  EXPECT_EQ(StatusOf(ServicesOf(0).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.3:2380"}))),
            kErrNotEnoughStarted.ToError());
}

TEST_F(ClusterServiceTest, AClusterThatIsNotWholeTakesNoNewMember) {
  Begin(3);
  const std::size_t leader = Leader();
  cluster_->Kill((leader + 1) % 3);
  EXPECT_EQ(StatusOf(ServicesOf(leader).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.4:2380"}))),
            kErrUnhealthy.ToError());
  EXPECT_EQ(StatusOf(ServicesOf(leader).Call<AddResponse>(
                kAdd, AddBody({"http://10.0.0.4:2380"}, /*is_learner=*/true))),
            kErrUnhealthy.ToError());
  ServicesOf(leader).parts().limits.strict_reconfig_check = false;
  EXPECT_EQ(
      ErrorText(ServicesOf(leader).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.4:2380"}))),
      "ok");
}

TEST_F(ClusterServiceTest, TheDeadMayBeRemovedAndTheQuorumMayNot) {
  Begin(3);
  const std::size_t leader = Leader();
  const std::size_t dead = (leader + 1) % 3;
  const std::size_t alive = (leader + 2) % 3;
  cluster_->Kill(dead);
  EXPECT_EQ(
      StatusOf(ServicesOf(leader).Call<MemberRemoveResponse>(kRemove, IdBody(cluster_->id(alive)))),
      kErrUnhealthy.ToError());
  const auto removed =
      ServicesOf(leader).Call<MemberRemoveResponse>(kRemove, IdBody(cluster_->id(dead)));
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_EQ(removed->members_size(), 2);
  EXPECT_EQ(removed->header().revision(), 0);
}

TEST_F(ClusterServiceTest, TheOnlyMemberStays) {
  Begin(1);
  EXPECT_EQ(StatusOf(ServicesOf(0).Call<MemberRemoveResponse>(kRemove, IdBody(cluster_->id(0)))),
            kErrNotEnoughStarted.ToError());
  ServicesOf(0).parts().limits.strict_reconfig_check = false;
  EXPECT_EQ(StatusOf(ServicesOf(0).Call<MemberRemoveResponse>(kRemove, IdBody(cluster_->id(0)))),
            kErrNotEnoughStarted.ToError());
  EXPECT_EQ(ErrorText(ServicesOf(0).Call<MemberListResponse>(kList, NumberBody(1))), "ok");
}

// --- learners ----------------------------------------------------------------------------------

TEST_F(ClusterServiceTest, TheLeaderIsRemovedAndTheOthersGoOn) {
  Begin(3);
  const std::size_t leader = Leader();
  const auto removed =
      ServicesOf(leader).Call<MemberRemoveResponse>(kRemove, IdBody(cluster_->id(leader)));
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_EQ(removed->members_size(), 2);
  cluster_->RunFor(std::chrono::seconds(1));
  EXPECT_THAT(removed_, ElementsAre(SmallCluster::NameOf(leader)));
  cluster_->Kill(leader);
  ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  const std::size_t other = (leader + 1) % 3;
  EXPECT_TRUE(cluster_->Propose(other, RequestKind::kPut, PutBody("key", "1")).has_value());
  const auto again = cluster_->Start(leader);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(again.error().message,
              testing::HasSubstr("the member has been permanently removed from the cluster"));
}

TEST_F(ClusterServiceTest, AMemberIsReplacedByOneWithItsUrls) {
  Begin(3);
  const std::size_t leader = Leader();
  const std::size_t victim = (leader + 1) % 3;
  cluster_->Kill(victim);
  ASSERT_TRUE(ServicesOf(leader)
                  .Call<MemberRemoveResponse>(kRemove, IdBody(cluster_->id(victim)))
                  .has_value());
  cluster_->RunFor(std::chrono::seconds(6));
  const auto added =
      ServicesOf(leader).Call<AddResponse>(kAdd, AddBody({SmallCluster::PeerUrlOf(victim)}));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  EXPECT_NE(added->member().id(), cluster_->id(victim)) << "a removed id never comes back";
}

// One change at a time is Raft's rule: the second waits at the leader for the first.
TEST_F(ClusterServiceTest, ChangesAtTheSameTimeAreMadeOneAfterTheOther) {
  Begin(3);
  MemberServices& services = ServicesOf(Leader());
  const auto first = services.Send(kAdd, AddBody({"http://10.0.0.4:2380"}));
  const auto second = services.Send(kUpdate, IdBody(cluster_->id(0), {"http://10.0.0.8:2380"}));
  ASSERT_TRUE(cluster_->RunUntil([&] { return first->has_value() && second->has_value(); },
                                 std::chrono::seconds(6)));
  EXPECT_EQ(ErrorText(**first), "ok");
  EXPECT_EQ(ErrorText(**second), "ok");
  EXPECT_EQ(View(Leader()).members.size(), 4);
}

// --- leadership --------------------------------------------------------------------------------

}  // namespace
}  // namespace kvorum::server
