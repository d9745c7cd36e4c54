// Learners, added, updated and promoted at the members of small clusters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
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
using etcdserverpb::MemberUpdateResponse;
using testing::HasSubstr;
using testing::Not;

// Both are asked for before either is in the log: the one that is applied second is one too many.
TEST_F(ClusterServiceTest, LearnersThatAreAddedAtTheSameTimeStayWithinTheLimit) {
  Begin(3);
  const auto one = TrustingServices(Leader()).Send(kAdd, AddBody({"http://10.0.0.4:2380"}, true));
  // A change that reaches the leader while another is not applied there is dropped and times out,
  // as in etcd. This one comes a little later.
  cluster_->RunFor(std::chrono::microseconds(100));
  const auto two = TrustingServices(Follower()).Send(kAdd, AddBody({"http://10.0.0.5:2380"}, true));
  ASSERT_TRUE(cluster_->RunUntil([&] { return one->has_value() && two->has_value(); }));
  const auto& refused = (*one)->has_value() ? *two : *one;
  EXPECT_NE((*one)->has_value(), (*two)->has_value());
  EXPECT_EQ(StatusOf(*refused), kErrTooManyLearners.ToError());
  ASSERT_TRUE(cluster_->CatchUp());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(View(i).members.size(), 4);
}

TEST_F(ClusterServiceTest, ALearnerIsNotUpdatedBesideAMemberThatWouldTakeItForAVoter) {
  Begin(3);
  MemberServices& services = TrustingServices(Leader());
  const auto added =
      services.Call<AddResponse>(kAdd, AddBody({"http://10.0.0.9:2380"}, /*is_learner=*/true));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  const raft::MemberId learner{added->member().id()};
  MemberPatches& patches = services.parts().patches;
  const auto update = [&](raft::MemberId id, const char* url) {
    return StatusOf(services.Call<MemberUpdateResponse>(kUpdate, IdBody(id, {url})));
  };
  patches.lose_learners = true;
  EXPECT_EQ(update(learner, "http://10.0.0.8:2380"), kErrLearnerIsLost.ToError());
  EXPECT_EQ(update(cluster_->id(1), "http://10.0.0.7:2380").code, Code::kOk) << "a voter";
  patches.lose_learners = false;
  EXPECT_EQ(update(learner, "http://10.0.0.8:2380").code, Code::kOk);
}

// An etcd before 3.7 goes by the entry, and this member may not know yet that there is one.
TEST_F(ClusterServiceTest, TheEntryOfAnUpdateTellsOlderMembersThatItIsALearner) {
  Begin(3);
  std::string written;
  cluster_->network().SetFilter([&](raft::Message& message) {
    for (const raft::Entry& entry : message.entries) {
      if (entry.type == raft::EntryType::kConfChange)
        written = raft::DecodeConfChange(entry.data).value().context.view();
    }
    return false;
  });
  MemberServices& services = TrustingServices(Leader());
  const auto added =
      services.Call<AddResponse>(kAdd, AddBody({"http://10.0.0.9:2380"}, /*is_learner=*/true));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  const raft::MemberId learner{added->member().id()};
  const auto update = [&](raft::MemberId id, const char* url) {
    const auto answer = services.Call<MemberUpdateResponse>(kUpdate, IdBody(id, {url}));
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
    return written;
  };
  constexpr const char* kFlag = "\"isLearner\":true";
  EXPECT_THAT(update(learner, "http://10.0.0.8:2380"), HasSubstr(kFlag));
  EXPECT_THAT(update(cluster_->id(1), "http://10.0.0.7:2380"), Not(HasSubstr(kFlag)));
  EXPECT_TRUE(View(1).members.at(learner).is_learner);
  EXPECT_FALSE(View(1).members.at(cluster_->id(1)).is_learner);
  ASSERT_TRUE(cluster_->Propose(0, RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0"))
                  .has_value());
  ASSERT_TRUE(cluster_->CatchUp());
  EXPECT_THAT(update(learner, "http://10.0.0.6:2380"), Not(HasSubstr(kFlag))) << "as etcd 3.7";
}

TEST_F(ClusterServiceTest, ALearnerJoinsCatchesUpAndIsPromoted) {
  Begin(3);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        cluster_->Propose(0, RequestKind::kPut, PutBody("key", std::to_string(i))).has_value());
  }
  const std::size_t leader = Leader();
  const auto added =
      ServicesOf(leader).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.4:2380"}, true));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  EXPECT_TRUE(added->member().islearner());
  const raft::MemberId id{added->member().id()};
  EXPECT_EQ(
      StatusOf(ServicesOf(leader).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.5:2380"}, true))),
      kErrTooManyLearners.ToError());
  EXPECT_EQ(StatusOf(ServicesOf(leader).Call<MemberPromoteResponse>(kPromote, IdBody(id))),
            kErrLearnerNotReady.ToError());

  const std::size_t learner = StartAdded(*added);
  ASSERT_TRUE(cluster_->CatchUp());
  EXPECT_EQ(cluster_->member(learner).Get("key", 0).value(), "4");
  EXPECT_EQ(cluster_->replica(learner).leader(), cluster_->id(leader));
  cluster_->RunFor(std::chrono::seconds(1));  // the leader hears how far it is
  const auto promoted = ServicesOf(leader).Call<MemberPromoteResponse>(kPromote, IdBody(id));
  ASSERT_TRUE(promoted.has_value()) << promoted.error().message;
  EXPECT_EQ(promoted->members_size(), 4);
  ASSERT_TRUE(cluster_->CatchUp());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FALSE(View(i).members.at(id).is_learner);
  EXPECT_EQ(StatusOf(ServicesOf(leader).Call<MemberPromoteResponse>(kPromote, IdBody(id))),
            kErrMemberNotLearner.ToError());

  // Its vote counts: it and two of the three others are a quorum of four.
  cluster_->Kill(leader);
  const auto next = cluster_->WaitForLeader();
  ASSERT_TRUE(next.has_value());
  EXPECT_TRUE(cluster_->Propose(learner, RequestKind::kPut, PutBody("key", "5")).has_value());
}

// Answers a promotion as the test says, one after another, and anything else with a list of
// members.
struct ScriptedPeers final : PeerRequester {
  void AskAll(std::string_view method, const std::vector<std::string>& urls, std::string_view,
              Duration timeout, const Take& take) override {
    if (method == "GET") {
      take(urls[0], PeerAnswer{.status = 200, .cluster_id = "abc", .body = members});
      return;
    }
    timeouts.push_back(timeout);
    take(urls[0], answers.at(timeouts.size() - 1));
  }
  std::string Resolve(const std::string& url) override { return url; }

  std::vector<Result<PeerAnswer>> answers;
  std::string members;
  std::vector<Duration> timeouts;
};

// A leader that hangs may have promoted it before the request was repeated.
TEST_F(ClusterServiceTest, APromotionIsRepeatedWhereTheLeaderDoesNotAnswer) {
  Begin(3);
  const auto added =
      ServicesOf(Leader()).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.4:2380"}, true));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  ASSERT_TRUE(cluster_->CatchUp());
  const raft::MemberId id{added->member().id()};
  const std::size_t follower = Follower();
  const PeerAnswer not_learner{.status = 412,
                               .cluster_id = "abc",
                               .body = "membership: can only promote a learner member\n"};
  ScriptedPeers peers;
  MembershipView promoted = View(follower);
  promoted.members.at(id).is_learner = false;
  peers.members = EncodeMembersJson(promoted);
  PromoteForwarder forwarder(cluster_->member(follower).lanes().io(), peers,
                             cluster_->replica(follower),
                             cluster_->member(follower).local_member().membership());
  const auto forward = [&](raft::MemberId member) {
    std::optional<Result<MembershipView>> told;
    forwarder.Forward(member, cluster_->scheduler().clock().Now() + std::chrono::seconds(7),
                      [&](Result<MembershipView> members) { told = std::move(members); });
    EXPECT_TRUE(cluster_->RunUntil([&] { return told.has_value(); }));
    return *told;
  };
  peers.answers = {Fail(Code::kUnavailable, "no answer in time"), not_learner};
  const auto members = forward(id);
  ASSERT_TRUE(members.has_value()) << members.error().message;
  EXPECT_FALSE(members->members.at(id).is_learner);
  EXPECT_EQ(peers.timeouts.at(0), std::chrono::seconds(2)) << "the rest is for the next leader";

  peers.timeouts.clear();
  peers.answers = {not_learner};
  EXPECT_EQ(StatusOf(forward(id)), kErrMemberNotLearner.ToError()) << "nothing was repeated";
  peers.timeouts.clear();
  peers.answers = {Fail(Code::kUnavailable, "no answer in time"), not_learner};
  EXPECT_EQ(StatusOf(forward(cluster_->id(0))), kErrMemberNotLearner.ToError()) << "it never was";
}

TEST_F(ClusterServiceTest, ALearnerServesItsOwnStateOnly) {
  Begin(1);
  const auto added = ServicesOf(0).Call<AddResponse>(kAdd, AddBody({"http://10.0.0.2:2380"}, true));
  ASSERT_TRUE(added.has_value()) << added.error().message;
  const std::size_t learner = StartAdded(*added);
  ASSERT_TRUE(cluster_->CatchUp());
  MemberServices& services = ServicesOf(learner);
  const auto refused = [&](std::string_view path, const std::string& body) {
    return StatusOf(services.Call<MemberListResponse>(path, body)) ==
           kErrNotSupportedForLearner.ToError();
  };
  EXPECT_TRUE(refused(kRangePath, RangeBody({.key = "k"})));
  EXPECT_TRUE(refused(kPutPath, PutBody("k", "v")));
  EXPECT_TRUE(refused(kList, ""));
  EXPECT_TRUE(refused(kList, NumberBody(1)));
  EXPECT_TRUE(refused(kAdd, AddBody({"http://10.0.0.5:2380"})));
  EXPECT_TRUE(refused(kPromote, IdBody(raft::MemberId{added->member().id()})));
  EXPECT_TRUE(refused(kMoveLeader, NumberBody(1)));
  EXPECT_TRUE(services
                  .Call<etcdserverpb::RangeResponse>(kRangePath,
                                                     RangeBody({.key = "k", .serializable = true}))
                  .has_value());
  const auto status = services.Call<etcdserverpb::StatusResponse>(kStatusPath, "");
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(status->islearner());

  cluster_->RunFor(std::chrono::seconds(1));
  ASSERT_TRUE(
      ServicesOf(0)
          .Call<MemberPromoteResponse>(kPromote, IdBody(raft::MemberId{added->member().id()}))
          .has_value());
  ASSERT_TRUE(cluster_->CatchUp());
  EXPECT_FALSE(refused(kRangePath, RangeBody({.key = "k"})));
}

TEST_F(ClusterServiceTest, AFollowerDoesNotPromoteByItself) {
  Begin(3);
  EXPECT_EQ(
      StatusOf(
          ServicesOf(Follower()).Call<MemberPromoteResponse>(kPromote, IdBody(cluster_->id(0)))),
      kErrNotLeader.ToError())
      << "without a way to the leader";
}

// --- removal -----------------------------------------------------------------------------------

}  // namespace
}  // namespace kvorum::server
