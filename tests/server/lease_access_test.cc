// Renewals and times to live of leases requested at one member of a cluster, whose way to the
// leader is played by the test: the posts, and each possible answer.
#include "server/services/lease/lease_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "server/peer/transport/peer_poster.h"
#include "tests/server/member_parts.h"
#include "tests/server/replica/small_cluster.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr lease::LeaseId kLease = 7;

struct Posts final : PeerPoster {
  struct Posted {
    raft::MemberId to;
    std::string path;
    SharedBytes body;
    Duration timeout;
    Done done;
  };
  void Post(raft::MemberId to, std::string path, SharedBytes body, Duration timeout,
            Done done) override {
    posted.push_back({to, std::move(path), std::move(body), timeout, std::move(done)});
  }
  // Answers the oldest post.
  void Answer(Result<PeerPoster::Answer> answer) {
    Posted first = std::move(posted.front());
    posted.erase(posted.begin());
    first.done(std::move(answer));
  }

  std::vector<Posted> posted;
};

class LeaseAccessTest : public ::testing::Test {
 protected:
  // Three members, of which one grants a lease of 100 seconds; the test asks at `member_`.
  void SetUp() override {
    poster_.plug = &posts_;
    ASSERT_TRUE(cluster_.StartAll().has_value());
    leader_ = cluster_.WaitForLeader().value();
    ASSERT_TRUE(cluster_
                    .Propose(leader_, RequestKind::kLeaseGrant,
                             EncodeLeaseGrant({.ttl_s = 100, .id = kLease}))
                    .has_value());
    ASSERT_TRUE(cluster_.CatchUp());
  }
  void AskAt(std::size_t member) {
    member_ = member;
    LocalMember& local_member = cluster_.member(member).local_member();
    parts_ = std::make_unique<MemberParts>(
        local_member, cluster_.network().PortOf(cluster_.id(member)),
        cluster_.member(member).lanes().io(), cluster_.member(member).lanes().readers());
    access_ = std::make_unique<LeaseAccess>(
        parts_->services.reads, LeaseAccess::Parts{.leases = local_member.leases(),
                                                   .expiry = local_member.lease_expiry(),
                                                   .poster = poster_});
  }
  void AskAtAFollower() { AskAt((leader_ + 1) % 3); }

  template <class Value>
  using Outcome = std::shared_ptr<std::optional<Result<Value>>>;
  template <class Value, class Ask>
  Outcome<Value> Told(Ask&& ask) {
    auto outcome = std::make_shared<std::optional<Result<Value>>>();
    ask([outcome](Result<Value> value) {
      EXPECT_FALSE(outcome->has_value()) << "told twice";
      *outcome = std::move(value);
    });
    return outcome;
  }
  Outcome<std::int64_t> Renew(lease::LeaseId id = kLease) {
    return Told<std::int64_t>([&](auto told) { access_->Renew(nullptr, id, std::move(told)); });
  }
  Outcome<LeaseTimes> TimeToLive(lease::LeaseId id = kLease) {
    return Told<LeaseTimes>([&](auto told) {
      access_->TimeToLive(nullptr, {.id = id, .keys = true}, std::move(told));
    });
  }
  template <class Value>
  Result<Value> Await(const Outcome<Value>& outcome) {
    if (!cluster_.RunUntil([&] { return outcome->has_value(); }))
      return Fail(Code::kDeadlineExceeded, "never told");
    return **outcome;
  }
  template <class Value>
  Error ErrorOf(const Outcome<Value>& outcome) {
    const Result<Value> told = Await(outcome);
    return told.has_value() ? Error{Code::kOk, "no error"} : told.error();
  }
  bool RunUntilPosted() {
    return cluster_.RunUntil([&] { return !posts_.posted.empty(); });
  }

  SmallCluster cluster_{3, 1};
  Posts posts_;
  std::size_t leader_ = 0;
  std::size_t member_ = 0;
  PluggedPoster poster_;
  std::unique_ptr<MemberParts> parts_;
  std::unique_ptr<LeaseAccess> access_;
};

TEST_F(LeaseAccessTest, TheLeaderRenewsItself) {
  AskAt(leader_);
  cluster_.RunFor(seconds(10));
  EXPECT_EQ(Await(Renew()), 100);
  const auto times = Await(TimeToLive());
  ASSERT_TRUE(times.has_value());
  EXPECT_GE(times->ttl_s, 98);
  EXPECT_EQ(times->granted_s, 100);
  EXPECT_THAT(posts_.posted, IsEmpty());
}

TEST_F(LeaseAccessTest, TheLeaderKnowsThatThereIsNoSuchLease) {
  AskAt(leader_);
  EXPECT_EQ(ErrorOf(Renew(99)), kErrLeaseNotFound);
  EXPECT_EQ(ErrorOf(TimeToLive(99)), kErrLeaseNotFound);
}

TEST_F(LeaseAccessTest, AFollowerPostsARenewalToTheLeader) {
  AskAtAFollower();
  const auto renewal = Renew();
  ASSERT_THAT(posts_.posted, SizeIs(1));
  EXPECT_EQ(posts_.posted[0].to, cluster_.id(leader_));
  EXPECT_EQ(posts_.posted[0].path, "/leases");
  EXPECT_EQ(DecodeLeaseId(posts_.posted[0].body.view()), kLease);
  EXPECT_EQ(posts_.posted[0].timeout, seconds(7));
  posts_.Answer(PeerPoster::Answer{.status = 200, .body = EncodeForwardedKeepAlive(kLease, 100)});
  EXPECT_EQ(Await(renewal), 100);
}

TEST_F(LeaseAccessTest, AFollowerPostsAQuestionForTheTimeToLive) {
  AskAtAFollower();
  const auto times = TimeToLive();
  ASSERT_THAT(posts_.posted, SizeIs(1));
  EXPECT_EQ(posts_.posted[0].path, "/leases/internal");
  const auto asked = DecodeInternalTimeToLive(posts_.posted[0].body.view());
  EXPECT_EQ(asked->id, kLease);
  EXPECT_TRUE(asked->keys);
  posts_.Answer(PeerPoster::Answer{
      .status = 200,
      .body = EncodeInternalTimes(kLease, {.ttl_s = 50, .granted_s = 100, .keys = {"k"}})});
  const auto told = Await(times);
  ASSERT_TRUE(told.has_value()) << told.error().message;
  EXPECT_EQ(told->ttl_s, 50);
  EXPECT_EQ(told->keys, std::vector<std::string>{"k"});
}

TEST_F(LeaseAccessTest, ALeaderThatKnowsNoSuchLeaseIsBelieved) {
  AskAtAFollower();
  const auto renewal = Renew(99);
  posts_.Answer(PeerPoster::Answer{.status = 404, .body = "lease not found\n"});
  EXPECT_EQ(ErrorOf(renewal), kErrLeaseNotFound);
}

// A proxy's 404, an answer about another lease, a malformed one, a leader that has just lost
// leadership.
TEST_F(LeaseAccessTest, AnyOtherAnswerSaysNothingAndItIsAskedAgain) {
  AskAtAFollower();
  const auto renewal = Renew();
  const std::vector<Result<PeerPoster::Answer>> useless = {
      PeerPoster::Answer{.status = 404, .body = "404 page not found"},
      PeerPoster::Answer{.status = 200, .body = EncodeForwardedKeepAlive(kLease + 1, 100)},
      PeerPoster::Answer{.status = 200, .body = "\xff"},
      PeerPoster::Answer{.status = 500, .body = "not primary"},
      Fail(Code::kUnavailable, "refused")};
  for (const auto& answer : useless) {
    ASSERT_TRUE(RunUntilPosted());
    posts_.Answer(answer);
    EXPECT_THAT(posts_.posted, IsEmpty()) << "after a pause";
    EXPECT_FALSE(renewal->has_value());
  }
  ASSERT_TRUE(RunUntilPosted());
  EXPECT_LT(posts_.posted[0].timeout, seconds(7)) << "the time that is left";
  posts_.Answer(PeerPoster::Answer{.status = 200, .body = EncodeForwardedKeepAlive(kLease, 100)});
  EXPECT_EQ(Await(renewal), 100);
}

TEST_F(LeaseAccessTest, ALeaderThatNeverAnswersIsATimeout) {
  AskAtAFollower();
  const TimePoint begin = cluster_.scheduler().clock().Now();
  const auto renewal = Renew();
  posts_.Answer(Fail(Code::kUnavailable, "refused"));
  while (!renewal->has_value()) {
    ASSERT_TRUE(cluster_.RunUntil([&] { return renewal->has_value() || !posts_.posted.empty(); }));
    if (!posts_.posted.empty()) posts_.Answer(Fail(Code::kUnavailable, "refused"));
  }
  EXPECT_EQ(ErrorOf(renewal), kErrTimeout);
  EXPECT_EQ(cluster_.scheduler().clock().Now() - begin, seconds(7));
}

// A lease of a few seconds would be lost if its renewal waited for the time-out.
TEST_F(LeaseAccessTest, WhatWasHandedToALeaderThatHangsIsHandedToTheNext) {
  AskAtAFollower();
  const auto renewal = Renew();
  const auto times = TimeToLive();
  ASSERT_THAT(posts_.posted, SizeIs(2));
  std::vector<Posts::Posted> hung = std::exchange(posts_.posted, {});
  cluster_.Isolate(leader_);
  const TimePoint begin = cluster_.scheduler().clock().Now();
  const auto is_handed_on = [&] {
    return posts_.posted.size() == 2 || (renewal->has_value() && times->has_value());
  };
  ASSERT_TRUE(cluster_.RunUntil(is_handed_on));
  EXPECT_LT(cluster_.scheduler().clock().Now() - begin, seconds(4));
  for (const Posts::Posted& each : posts_.posted) {
    EXPECT_NE(each.to, cluster_.id(leader_));
    EXPECT_LT(each.timeout, seconds(7)) << "the time that is left";
  }
  hung[0].done(Fail(Code::kUnavailable, "no answer in time"));
  EXPECT_LE(posts_.posted.size(), 2U) << "nobody is asked for that";
  while (!posts_.posted.empty()) {
    const bool renews = posts_.posted[0].path == "/leases";
    posts_.Answer(PeerPoster::Answer{
        .status = 200,
        .body = renews ? EncodeForwardedKeepAlive(kLease, 100)
                       : EncodeInternalTimes(kLease, {.ttl_s = 9, .granted_s = 100, .keys = {}})});
  }
  EXPECT_EQ(Await(renewal), 100);
  EXPECT_TRUE(Await(times).has_value());
  hung[1].done(Fail(Code::kUnavailable, "no answer in time"));
  cluster_.RunFor(seconds(1));
  EXPECT_THAT(posts_.posted, IsEmpty());
}

// It had a quorum after it was asked.
TEST_F(LeaseAccessTest, AnAnswerOfTheFormerLeaderCounts) {
  AskAtAFollower();
  const auto renewal = Renew();
  std::vector<Posts::Posted> hung = std::exchange(posts_.posted, {});
  cluster_.Isolate(leader_);
  ASSERT_TRUE(cluster_.RunUntil([&] { return renewal->has_value() || !posts_.posted.empty(); }));
  hung[0].done(PeerPoster::Answer{.status = 200, .body = EncodeForwardedKeepAlive(kLease, 99)});
  ASSERT_TRUE(renewal->has_value());
  std::vector<Posts::Posted> next = std::exchange(posts_.posted, {});
  for (Posts::Posted& each : next) each.done(Fail(Code::kUnavailable, "refused"));
  cluster_.RunFor(seconds(1));
  EXPECT_THAT(posts_.posted, IsEmpty()) << "it is answered";
}

TEST_F(LeaseAccessTest, WithoutALeaderNobodyIsAskedAndThatIsSaid) {
  AskAtAFollower();
  for (std::size_t i = 0; i < 3; ++i) {
    if (i != member_) cluster_.Kill(i);
  }
  ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.replica(member_).leader() == raft::kNone; }));
  const auto renewal = Renew();
  const auto times = TimeToLive();
  EXPECT_EQ(ErrorOf(renewal), kErrNoLeader);
  EXPECT_EQ(ErrorOf(times), kErrNoLeader);
  EXPECT_THAT(posts_.posted, IsEmpty());
}

TEST_F(LeaseAccessTest, WithoutAWayToTheLeaderOnlyTheLeaderKnows) {
  AskAtAFollower();
  poster_.plug = nullptr;
  EXPECT_EQ(ErrorOf(Renew()), kErrTimeout);
}

TEST_F(LeaseAccessTest, AMemberThatComesToLeadMeanwhileRenewsItself) {
  AskAtAFollower();
  const auto renewal = Renew();
  cluster_.Kill(leader_);
  posts_.Answer(Fail(Code::kUnavailable, "refused"));
  while (!renewal->has_value()) {
    ASSERT_TRUE(cluster_.RunUntil([&] { return renewal->has_value() || !posts_.posted.empty(); }));
    if (posts_.posted.empty()) continue;
    // Another one leads: the lease is kept there.
    posts_.Answer(PeerPoster::Answer{.status = 200, .body = EncodeForwardedKeepAlive(kLease, 100)});
  }
  EXPECT_EQ(Await(renewal), 100);
}

// It may have been overtaken: the present leader may have revoked the lease.
TEST_F(LeaseAccessTest, ALeaderWithoutAQuorumRenewsNothing) {
  AskAt(leader_);
  cluster_.Isolate(leader_);
  const auto here =
      Told<std::int64_t>([&](auto told) { access_->RenewForMember(kLease, std::move(told)); });
  EXPECT_EQ(ErrorOf(here), kErrNotPrimary);
  EXPECT_EQ(ErrorOf(Renew()), kErrNoLeader) << "told to a client";
}

TEST_F(LeaseAccessTest, AFollowerThatIsAskedByAPeerSaysSoAtOnce) {
  AskAtAFollower();
  const auto renewal =
      Told<std::int64_t>([&](auto told) { access_->RenewForMember(kLease, std::move(told)); });
  ASSERT_TRUE(renewal->has_value());
  EXPECT_EQ((*renewal)->error(), kErrNotPrimary);
  const auto times = Told<LeaseTimes>(
      [&](auto told) { access_->TimeToLiveForMember({.id = kLease}, std::move(told)); });
  ASSERT_TRUE(times->has_value());
  EXPECT_EQ((*times)->error(), kErrNotPrimary);
}

// Under a CORRUPT alarm nothing is revoked.
TEST_F(LeaseAccessTest, AnExpiredLeaseIsAnsweredWhenItIsRevokedOrTooLate) {
  AskAt(leader_);
  const auto alarm = [&](AlarmAction action) {
    const AlarmRequest request{
        .action = action, .alarm = {.member = cluster_.id(leader_), .type = AlarmType::kCorrupt}};
    return cluster_.Propose(leader_, RequestKind::kAlarm, EncodeAlarmRequest(request)).has_value();
  };
  ASSERT_TRUE(alarm(AlarmAction::kActivate));
  cluster_.RunFor(seconds(101));
  const auto late = Renew();
  cluster_.RunFor(seconds(4));
  const auto in_time = Renew();
  EXPECT_EQ(ErrorOf(late), kErrTimeout);
  EXPECT_FALSE(in_time->has_value());
  ASSERT_TRUE(alarm(AlarmAction::kDeactivate));
  EXPECT_EQ(ErrorOf(in_time), kErrLeaseNotFound);
  EXPECT_FALSE(cluster_.member(leader_).local_member().leases().LeaseExists(kLease));
}

}  // namespace
}  // namespace kvorum::server
