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
#include "tests/server/member_services.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using etcdserverpb::MemberListResponse;
using etcdserverpb::MemberPromoteResponse;
using etcdserverpb::MemberRemoveResponse;
using etcdserverpb::MemberUpdateResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using AddResponse = etcdserverpb::MemberAddResponse;

constexpr std::string_view kAdd = "/etcdserverpb.Cluster/MemberAdd";
constexpr std::string_view kRemove = "/etcdserverpb.Cluster/MemberRemove";
constexpr std::string_view kUpdate = "/etcdserverpb.Cluster/MemberUpdate";
constexpr std::string_view kPromote = "/etcdserverpb.Cluster/MemberPromote";
constexpr std::string_view kList = "/etcdserverpb.Cluster/MemberList";
constexpr std::string_view kMoveLeader = "/etcdserverpb.Maintenance/MoveLeader";

std::string AddBody(std::vector<std::string> urls, bool is_learner = false) {
  etcdserverpb::MemberAddRequest request;
  request.mutable_peerurls()->Assign(urls.begin(), urls.end());
  request.set_islearner(is_learner);
  return request.SerializeAsString();
}

std::string IdBody(raft::MemberId id, std::vector<std::string> urls = {}) {
  etcdserverpb::MemberUpdateRequest request;
  request.set_id(id.value());
  request.mutable_peerurls()->Assign(urls.begin(), urls.end());
  return request.SerializeAsString();
}

template <class T>
Error StatusOf(const Result<T>& result) {
  return result.has_value() ? Error{Code::kOk, "no error"} : result.error();
}

template <class T>
std::string ErrorText(const Result<T>& result) {
  return result.has_value() ? "ok" : result.error().message;
}

// A cluster whose members are started: they have published themselves, and know each other for
// longer than the strict checks ask.
class ClusterServiceTest : public testing::Test {
 protected:
  void Begin(std::size_t size) {
    cluster_ = std::make_unique<SmallCluster>(size, 1, [this](LocalMemberOptions& options) {
      options.peers = &peers_;
      options.replica.snapshot_count = 10'000;  // a member that joins gets the log
      options.on_removed = [this, name = options.name] { removed_.push_back(name); };
    });
    peers_.Watch(*cluster_);
    ASSERT_TRUE(cluster_->StartAll().has_value());
    ASSERT_TRUE(cluster_->WaitForLeader().has_value());
    for (std::size_t i = 0; i < size; ++i) Publish(i);
    cluster_->RunFor(std::chrono::seconds(10));
  }
  void Publish(std::size_t i) {
    const auto applied = cluster_->Propose(
        i, RequestKind::kMemberAttributesSet,
        EncodeMemberAttributes({.member = cluster_->id(i),
                                .name = SmallCluster::NameOf(i),
                                .client_urls = {"http://c" + std::to_string(i) + ":2379"}}));
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
  }
  MemberServices& ServicesOf(std::size_t i) {
    auto& services = services_[i];
    if (services == nullptr) services = std::make_unique<MemberServices>(*cluster_, i);
    return *services;
  }
  // Without the checks of connections: in this network followers do not hear of each other.
  MemberServices& TrustingServices(std::size_t i) {
    ServicesOf(i).context().limits.strict_reconfig_check = false;
    return ServicesOf(i);
  }
  std::size_t Leader() { return cluster_->WaitForLeader().value(); }
  std::size_t Follower() { return (Leader() + 1) % cluster_->size(); }
  const MembershipView& View(std::size_t i) {
    views_.push_back(cluster_->member(i).local_member().membership().View());
    return *views_.back();
  }
  // Starts the machine of a member that was added last; its number.
  std::size_t StartAdded(const AddResponse& added) {
    std::string initial;
    const std::size_t number = cluster_->size();
    for (std::size_t i = 0; i <= number; ++i) {
      initial += (i == 0 ? "" : ",") + SmallCluster::NameOf(i) + "=" + SmallCluster::PeerUrlOf(i);
    }
    cluster_->AddMachine(raft::MemberId{added.member().id()}, initial, true);
    const auto started = cluster_->Start(number);
    EXPECT_TRUE(started.has_value()) << started.error().message;
    return number;
  }

  SmallPeers peers_;
  std::vector<std::string> removed_;
  std::unique_ptr<SmallCluster> cluster_;
  std::vector<std::shared_ptr<const MembershipView>> views_;
  std::map<std::size_t, std::unique_ptr<MemberServices>> services_;
};

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

// As etcd does: its id is made of them.
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
  ServicesOf(leader).context().limits.strict_reconfig_check = false;
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
  ServicesOf(0).context().limits.strict_reconfig_check = false;
  EXPECT_EQ(StatusOf(ServicesOf(0).Call<MemberRemoveResponse>(kRemove, IdBody(cluster_->id(0)))),
            kErrNotEnoughStarted.ToError());
  EXPECT_EQ(ErrorText(ServicesOf(0).Call<MemberListResponse>(kList, NumberBody(1))), "ok");
}

// --- learners ----------------------------------------------------------------------------------

// Both are asked for before either is in the log: the one that is applied second is one too many.
TEST_F(ClusterServiceTest, LearnersThatAreAddedAtTheSameTimeStayWithinTheLimit) {
  Begin(3);
  const auto one = TrustingServices(Leader()).Send(kAdd, AddBody({"http://10.0.0.4:2380"}, true));
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
  MemberPatches patches;
  services.context().patches = &patches;
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
