// The Election service over a whole member: the leader, its proclamations, and the observers'
// events.
#include "server/locks/election_service.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/api_errors.h"
#include "tests/server/queue_fixture.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using v3electionpb::CampaignResponse;
using v3electionpb::LeaderResponse;

class ElectionServiceTest : public QueueTest {
 protected:
  static std::string Text(const LeaderResponse& response) {
    return response.kv().key() + "=" + response.kv().value() + " @" +
           std::to_string(response.header().revision());
  }
  // The values reported to the observer.
  static std::vector<std::string> Told(const FakeStream& stream) {
    std::vector<std::string> texts;
    for (const std::string& message : stream.messages()) {
      LeaderResponse response;
      EXPECT_TRUE(response.ParseFromString(message));
      EXPECT_NE(response.header().cluster_id(), 0U);
      EXPECT_NE(response.header().member_id(), 0U);
      EXPECT_NE(response.header().raft_term(), 0U);
      texts.push_back(Text(response));
    }
    return texts;
  }
};

TEST_F(ElectionServiceTest, TheFirstIsElected) {
  const auto elected = Campaign("e", 1, "one");
  ASSERT_TRUE(elected.has_value());
  EXPECT_EQ(elected->leader().ShortDebugString(), R"(name: "e" key: "e/1" rev: 2 lease: 1)");
  EXPECT_EQ(elected->header().revision(), 2);
  const auto leader = Leader("e");
  ASSERT_TRUE(leader.has_value());
  EXPECT_EQ(Text(*leader), "e/1=one @2");
  EXPECT_EQ(leader->kv().lease(), 1);
  EXPECT_EQ(leader->kv().create_revision(), 2);
}

TEST_F(ElectionServiceTest, TheNextIsElectedWhenTheLeaderResigns) {
  const auto first = Campaign("e", 1, "one");
  const Waiting& second = WaitForElection("e", 2, "two");
  const Waiting& third = WaitForElection("e", 3, "three");
  EXPECT_EQ(Text(*Leader("e")), "e/1=one @4");
  Put("other", "");
  const auto resigned = Resign(first->leader());
  ASSERT_TRUE(resigned.has_value());
  EXPECT_EQ(resigned->header().revision(), 6);
  const auto elected = Await<CampaignResponse>(second);
  ASSERT_TRUE(elected.has_value());
  EXPECT_EQ(elected->leader().ShortDebugString(), R"(name: "e" key: "e/2" rev: 3 lease: 2)");
  EXPECT_EQ(elected->header().revision(), 3) << "of its candidacy, as etcd tells it";
  Settle();
  EXPECT_FALSE(third.is_answered());
  EXPECT_EQ(Text(*Leader("e")), "e/2=two @6");
}

TEST_F(ElectionServiceTest, WhoseLeaseGoesLeadsNoMore) {
  ASSERT_TRUE(Campaign("e", 1, "one"));
  const Waiting& second = WaitForElection("e", 2, "two");
  Revoke(1);
  EXPECT_TRUE(Await<CampaignResponse>(second));
}

TEST_F(ElectionServiceTest, WhoLeadsAndCampaignsAgainProclaims) {
  ASSERT_TRUE(Campaign("e", 1, "one"));
  const auto same = Campaign("e", 1, "one");
  EXPECT_EQ(same->header().revision(), 2);
  EXPECT_EQ(Text(*Leader("e")), "e/1=one @2") << "the same value is no news";
  const auto again = Campaign("e", 1, "uno");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->leader().rev(), 2);
  EXPECT_EQ(again->header().revision(), 2) << "of the question, not of the proclamation";
  EXPECT_EQ(Text(*Leader("e")), "e/1=uno @3");
}

TEST_F(ElectionServiceTest, ACandidateThatCampaignsAgainKeepsItsPlace) {
  const auto first = Campaign("e", 1, "one");
  const Waiting& second = WaitForElection("e", 2, "two");
  const Waiting& third = WaitForElection("e", 3, "three");
  const Waiting& again = WaitForElection("e", 2, "dos");
  ASSERT_TRUE(Resign(first->leader()));
  EXPECT_EQ(Await<CampaignResponse>(again)->leader().rev(), 3);
  EXPECT_EQ(Await<CampaignResponse>(second)->leader().rev(), 3);
  EXPECT_EQ(Text(*Leader("e")), "e/2=dos @6");
  EXPECT_FALSE(third.is_answered());
}

TEST_F(ElectionServiceTest, OnlyTheLeaderProclaims) {
  LeaderKey leader = Campaign("e", 1, "one")->leader();
  const auto proclaimed = Proclaim(leader, "two");
  ASSERT_TRUE(proclaimed.has_value());
  EXPECT_EQ(proclaimed->header().revision(), 3);
  EXPECT_EQ(Text(*Leader("e")), "e/1=two @3");
  LeaderKey stale = leader;
  stale.set_rev(1);
  EXPECT_EQ(ErrorOf(Proclaim(stale, "three")), kErrElectionNotLeader.ToError());
  stale = leader;
  stale.set_lease(77);
  EXPECT_EQ(ErrorOf(Proclaim(stale, "three")),
            (Error{Code::kUnknown, "etcdserver: requested lease not found"}));
  EXPECT_EQ(Text(*Leader("e")), "e/1=two @3");
  ASSERT_TRUE(Resign(leader));
  EXPECT_EQ(ErrorOf(Proclaim(leader, "three")), kErrElectionNotLeader.ToError());
}

TEST_F(ElectionServiceTest, AProclamationWithoutALeaseGetsOne) {
  LeaderKey leader = Campaign("e", 1, "one")->leader();
  leader.set_lease(0);
  ASSERT_TRUE(Proclaim(leader, "two"));
  const auto now = Leader("e");
  EXPECT_EQ(now->kv().value(), "two");
  EXPECT_GT(now->kv().lease(), 9);
}

TEST_F(ElectionServiceTest, ResigningTwiceOrFromNothingChangesNothing) {
  const LeaderKey leader = Campaign("e", 1, "one")->leader();
  LeaderKey stale = leader;
  stale.set_rev(1);
  EXPECT_EQ(Resign(stale)->header().revision(), 2);
  EXPECT_TRUE(Leader("e"));
  EXPECT_EQ(Resign(leader)->header().revision(), 3);
  EXPECT_EQ(Resign(leader)->header().revision(), 3);
  EXPECT_EQ(ErrorOf(Leader("e")), kErrElectionNoLeader.ToError());
}

TEST_F(ElectionServiceTest, BadInputIsAnsweredAndChangesNothing) {
  EXPECT_EQ(ErrorOf(Campaign("e", 77, "v")),
            (Error{Code::kUnknown, "etcdserver: requested lease not found"}));
  EXPECT_EQ(ErrorOf(Proclaim(std::nullopt, "v")), kErrMissingLeaderKey.ToError());
  EXPECT_EQ(ErrorOf(Resign(std::nullopt)), kErrMissingLeaderKey.ToError());
  const Error no_key{Code::kUnknown, "etcdserver: key is not provided"};
  EXPECT_EQ(ErrorOf(Proclaim(LeaderKey(), "v")), no_key);
  EXPECT_EQ(ErrorOf(Resign(LeaderKey())), no_key);
  EXPECT_EQ(ErrorOf(Leader("e")), kErrElectionNoLeader.ToError());
  for (const char* method : {"Campaign", "Proclaim", "Leader", "Resign"}) {
    const std::string path = std::string("/v3electionpb.Election/") + method;
    EXPECT_EQ(ErrorOf(served_.Call(path, "\xff")).code, Code::kInternal) << path;
  }
  EXPECT_EQ(served_.store().revision(), 1);
}

TEST_F(ElectionServiceTest, ACandidateThatLosesItsPlaceIsNotElected) {
  const auto first = Campaign("e", 1, "one");
  const Waiting& second = WaitForElection("e", 2, "two");
  const Waiting& third = WaitForElection("e", 3, "three");
  Delete("e/2");
  EXPECT_EQ(ErrorOf(served_.Await(*second.answer)), kErrElectionNotLeader.ToError());
  Settle();
  EXPECT_FALSE(third.is_answered());
  // Both leave at one moment: the key is read again before a candidate hears that it leads.
  served_.lanes().Hold(served_.lanes().io(), true);
  const auto own = served_.Send("/etcdserverpb.KV/DeleteRange", DeleteBody("e/3"));
  const auto older = served_.Send("/etcdserverpb.KV/DeleteRange", DeleteBody("e/1"));
  served_.lanes().RunFor(std::chrono::milliseconds(10));
  ASSERT_EQ(own->times + older->times, 2);
  served_.lanes().Hold(served_.lanes().io(), false);
  EXPECT_EQ(ErrorOf(served_.Await(*third.answer)), kErrElectionNotLeader.ToError());
}

TEST_F(ElectionServiceTest, ACandidateThatLeavesIsNoCandidate) {
  ASSERT_TRUE(Campaign("e", 1, "one"));
  const Waiting& second = WaitForElection("e", 2, "two");
  second.Cancel();
  Settle();
  EXPECT_THAT(Keys("e/"), ElementsAre("e/1"));
}

// --- Observe -----------------------------------------------------------------------------------

TEST_F(ElectionServiceTest, AnObserverIsToldTheLeaderAndWhatItProclaims) {
  const LeaderKey leader = Campaign("e", 1, "one")->leader();
  Put("other", "");
  const FakeStream& observer = Observe("e");
  EXPECT_THAT(Told(observer), ElementsAre("e/1=one @3"));
  ASSERT_TRUE(Proclaim(leader, "two"));
  ASSERT_TRUE(Proclaim(leader, "three"));
  Settle();
  EXPECT_THAT(Told(observer), ElementsAre("e/1=one @3", "e/1=two @4", "e/1=three @5"));
}

TEST_F(ElectionServiceTest, AnObserverWaitsForTheFirstLeader) {
  const FakeStream& observer = Observe("e");
  EXPECT_THAT(Told(observer), IsEmpty());
  Put("e", "no candidate");
  Put("e0", "no candidate");
  const LeaderKey leader = Campaign("e", 1, "one")->leader();
  Settle();
  EXPECT_THAT(Told(observer), ElementsAre("e/1=one @4"));
  WaitForElection("e", 2, "two");
  ASSERT_TRUE(Proclaim(leader, "uno"));
  Settle();
  EXPECT_THAT(Told(observer), ElementsAre("e/1=one @4", "e/1=uno @6")) << "nothing of candidates";
}

TEST_F(ElectionServiceTest, AnObserverIsToldTheNextLeader) {
  const FakeStream& observer = Observe("e");
  const LeaderKey first = Campaign("e", 1, "one")->leader();
  WaitForElection("e", 2, "two");
  ASSERT_TRUE(Resign(first));
  Settle();
  EXPECT_THAT(Told(observer), ElementsAre("e/1=one @2", "e/2=two @4"));
  Revoke(2);
  Settle();
  ASSERT_TRUE(Campaign("e", 3, "three"));
  Settle();
  EXPECT_THAT(Told(observer), ElementsAre("e/1=one @2", "e/2=two @4", "e/3=three @6"));
  EXPECT_EQ(Watchers(), 1U);
  EXPECT_FALSE(observer.status().has_value());
}

TEST_F(ElectionServiceTest, AnObserverThatDoesNotReadGetsAllOfItLater) {
  FakeStream& observer = Observe("e");
  observer.SetReading(false);
  const LeaderKey leader = Campaign("e", 1, "0")->leader();
  const std::string padding(100'000, 'x');
  for (int i = 1; i <= 50; ++i) ASSERT_TRUE(Proclaim(leader, std::to_string(i) + padding));
  Settle();
  EXPECT_EQ(observer.messages().size(), 1U) << "the one on its way";
  observer.SetReading(true);
  Settle();
  ASSERT_EQ(observer.messages().size(), 51U);
  EXPECT_EQ(Told(observer).back(), "e/1=50" + padding + " @52");
}

TEST_F(ElectionServiceTest, AnObserverThatMissesWhatIsCompactedIsToldTheLatest) {
  FakeStream& observer = Observe("e");
  observer.SetReading(false);
  const LeaderKey first = Campaign("e", 1, "1")->leader();
  WaitForElection("e", 2, "2");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Proclaim(first, "1"));
  ASSERT_TRUE(Resign(first));
  Put("other", "");
  ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Compact", CompactBody(served_.store().revision())));
  Settle();
  observer.SetReading(true);
  Settle();
  EXPECT_THAT(Told(observer), ElementsAre("e/1=1 @2", "e/2=2 @10"));
  EXPECT_FALSE(observer.status().has_value());
}

TEST_F(ElectionServiceTest, ObserversThatEndLeaveNothingBehind) {
  ASSERT_TRUE(Campaign("e", 1, "one"));
  FakeStream& observer = Observe("e");
  FakeStream& other = Observe("nobody");
  EXPECT_EQ(Watchers(), 2U);
  observer.context().Cancel({Code::kCanceled, "context canceled"});
  other.context().Cancel({Code::kCanceled, "context canceled"});
  EXPECT_EQ(Watchers(), 0U);
  FakeStream& malformed =
      *streams_.emplace_back(served_.OpenStream("/v3electionpb.Election/Observe", "\xff"));
  ASSERT_TRUE(served_.RunUntilFinished(malformed));
  EXPECT_EQ(malformed.status()->code, Code::kInternal);
  EXPECT_EQ(malformed.status()->message,
            "grpc: failed to unmarshal the received message: proto: cannot parse invalid "
            "wire-format data");
}

TEST_F(ElectionServiceTest, AnObserverThatNeedsALeaderIsCut) {
  ServeWithoutALeader();
  auto observer = std::make_shared<FakeStream>(served_.lanes().io(), std::deque<std::string>{""});
  observer->context().AddMetadata("hasleader", "true");
  served_.router().Find("/v3electionpb.Election/Observe")->stream(observer);
  Settle();
  EXPECT_EQ(Watchers(), 1U);
  served_.leader_streams().Start();
  ASSERT_TRUE(served_.RunUntilFinished(*observer));
  EXPECT_EQ(observer->status(), kErrNoLeader.ToError());
  EXPECT_EQ(Watchers(), 0U);
}

}  // namespace
}  // namespace kvorum::server
