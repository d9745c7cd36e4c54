// The Lock service over a whole member: who gets a lock and when, and what becomes of who does not.
#include "server/locks/lock_service.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/rng.h"
#include "tests/server/queue_fixture.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using v3lockpb::LockResponse;

const Error kLeaseNotFoundHere{Code::kUnknown, "etcdserver: requested lease not found"};

class LockServiceTest : public QueueTest {};

TEST_F(LockServiceTest, ALockIsAKeyOfTheLease) {
  const auto locked = Lock("a", 7);
  ASSERT_TRUE(locked.has_value());
  EXPECT_EQ(locked->key(), "a/7");
  EXPECT_EQ(locked->header().revision(), 2);
  EXPECT_EQ(locked->header().member_id(), served_.parts().cluster.member_id);
  EXPECT_EQ(locked->header().cluster_id(), served_.parts().cluster.cluster_id);
  EXPECT_NE(locked->header().raft_term(), 0U);
  const auto kvs = Range("a/").kvs();
  ASSERT_EQ(kvs.size(), 1);
  EXPECT_EQ(kvs[0].lease(), 7);
  EXPECT_EQ(kvs[0].value(), "");
}

TEST_F(LockServiceTest, TheKeyEndsInTheLeaseInHexadecimal) {
  Grant(0x7fffffffffffffff);
  Grant(-255);
  EXPECT_EQ(Lock("", 0x7fffffffffffffff)->key(), "/7fffffffffffffff");
  EXPECT_EQ(Lock("b", -255)->key(), "b/-ff");
}

TEST_F(LockServiceTest, WhoHasItGetsItAgain) {
  ASSERT_TRUE(Lock("a", 1));
  Waiting& waiting = WaitForLock("a", 2);
  Put("other", "");
  const auto again = Lock("a", 1);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->key(), "a/1");
  EXPECT_EQ(again->header().revision(), 4) << "the store's, when it was asked";
  EXPECT_FALSE(waiting.is_answered());
}

TEST_F(LockServiceTest, OthersWaitUntilItIsUnlocked) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& second = WaitForLock("a", 2);
  EXPECT_THAT(Keys("a/"), UnorderedElementsAre("a/1", "a/2"));
  Put("other", "");
  const auto unlocked = Unlock("a/1");
  ASSERT_TRUE(unlocked.has_value());
  EXPECT_EQ(unlocked->header().revision(), 5);
  const auto locked = Await<LockResponse>(second);
  ASSERT_TRUE(locked.has_value());
  EXPECT_EQ(locked->key(), "a/2");
  EXPECT_EQ(locked->header().revision(), 5) << "of the last look, not of the key";
  EXPECT_EQ(Watchers(), 0U);
}

TEST_F(LockServiceTest, OtherNamesAreOtherLocks) {
  EXPECT_TRUE(Lock("a", 1));
  EXPECT_TRUE(Lock("b", 2));
  EXPECT_TRUE(Lock("a/b", 1)) << "a prefix of its own";
  EXPECT_TRUE(Lock("", 2));
}

TEST_F(LockServiceTest, TheyComeInTheOrderOfTheirKeys) {
  ASSERT_TRUE(Lock("a", 9));
  std::vector<Waiting*> order;
  for (const int lease : {4, 2, 8, 6}) order.push_back(&WaitForLock("a", lease));
  std::string held = "a/9";
  std::size_t left = order.size();
  for (const Waiting* next : order) {
    ASSERT_TRUE(Unlock(held));
    const auto locked = Await<LockResponse>(*next);
    ASSERT_TRUE(locked.has_value());
    held = locked->key();
    Settle();
    EXPECT_EQ(Keys("a/").size(), left--);
    EXPECT_EQ(std::ranges::count_if(order, &Waiting::is_answered), order.size() - left);
  }
}

TEST_F(LockServiceTest, AnUnlockWakesTheNextAndNobodyElse) {
  ASSERT_TRUE(Lock("a", 1));
  for (int lease = 2; lease <= 9; ++lease) WaitForLock("a", lease);
  EXPECT_EQ(Watchers(), 16U) << "of its own key and of the one before, each";
  const auto before = served_.store().counters().ranges;
  ASSERT_TRUE(Unlock("a/1"));
  ASSERT_TRUE(Await<LockResponse>(waiting_.front()));
  Settle();
  EXPECT_EQ(served_.store().counters().ranges - before, 2U) << "who is before me, am I still there";
  EXPECT_EQ(Watchers(), 14U);
}

TEST_F(LockServiceTest, ALeaseIsGrantedToWhoHasNone) {
  const auto locked = Lock("a", 0);
  ASSERT_TRUE(locked.has_value());
  const auto kvs = Range("a/").kvs();
  ASSERT_EQ(kvs.size(), 1);
  EXPECT_EQ(locked->key(), kvs[0].key());
  etcdserverpb::LeaseTimeToLiveRequest request;
  request.set_id(kvs[0].lease());
  const auto times =
      Call<etcdserverpb::LeaseTimeToLiveResponse>("/etcdserverpb.Lease/LeaseTimeToLive", request);
  EXPECT_EQ(times->grantedttl(), 60);
  served_.lanes().RunFor(std::chrono::seconds(63));
  EXPECT_THAT(Keys("a/"), IsEmpty()) << "nobody keeps it alive";
}

TEST_F(LockServiceTest, RefusalsComeAsAClientLibraryTellsThem) {
  EXPECT_EQ(ErrorOf(Lock("a", 77)), kLeaseNotFoundHere);
  EXPECT_EQ(ErrorOf(Lock(std::string(250'000, 'n'), 1)),
            (Error{Code::kUnknown, "etcdserver: request is too large"}));
  EXPECT_EQ(ErrorOf(Unlock("")), (Error{Code::kUnknown, "etcdserver: key is not provided"}));
  EXPECT_TRUE(Unlock("none")) << "of what is not locked";
  EXPECT_THAT(Keys("a/"), IsEmpty());
  EXPECT_EQ(ErrorOf(served_.Call("/v3lockpb.Lock/Lock", "\xff")).code, Code::kInternal);
  EXPECT_EQ(ErrorOf(served_.Call("/v3lockpb.Lock/Unlock", "\xff")).code, Code::kInternal);
}

TEST_F(LockServiceTest, WhoLeavesWhileWaitingLeavesTheQueue) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& second = WaitForLock("a", 2);
  const Waiting& third = WaitForLock("a", 3);
  second.Cancel();
  Settle();
  EXPECT_EQ(ErrorOf(second.answer->value).code, Code::kCanceled);
  EXPECT_THAT(Keys("a/"), UnorderedElementsAre("a/1", "a/3"));
  EXPECT_FALSE(third.is_answered()) << "the first still has it";
  EXPECT_EQ(Watchers(), 2U);
  ASSERT_TRUE(Unlock("a/1"));
  EXPECT_TRUE(Await<LockResponse>(third));
}

TEST_F(LockServiceTest, WhoLeavesWhileItsKeyIsMadeLeavesNone) {
  for (int steps = 0; steps < 60; ++steps) {
    const Waiting& waiting = Send("/v3lockpb.Lock/Lock", LockRequestOf("a", 1));
    for (int i = 0; i < steps && !waiting.is_answered(); ++i) served_.lanes().Step();
    const bool had_it = waiting.is_answered();
    waiting.Cancel();
    Settle();
    EXPECT_EQ(Keys("a/").size(), had_it ? 1U : 0U) << steps;
    ASSERT_TRUE(Unlock("a/1"));
  }
}

TEST_F(LockServiceTest, WhoAsksAgainAndLeavesKeepsWhatItHas) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& again = Send("/v3lockpb.Lock/Lock", LockRequestOf("a", 1));
  again.Cancel();
  Settle();
  EXPECT_THAT(Keys("a/"), ElementsAre("a/1"));
}

TEST_F(LockServiceTest, WhoseLeaseGoesIsToldAtOnce) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& second = WaitForLock("a", 2);
  const Waiting& third = WaitForLock("a", 3);
  Revoke(2);
  EXPECT_EQ(ErrorOf(served_.Await(*second.answer)), kErrSessionExpired.ToError());
  Settle();
  EXPECT_FALSE(third.is_answered());
  ASSERT_TRUE(Unlock("a/1"));
  EXPECT_TRUE(Await<LockResponse>(third));
}

TEST_F(LockServiceTest, AKeyThatIsMadeAnewIsAnotherPlace) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& lost = WaitForLock("a", 2);
  served_.lanes().Hold(served_.lanes().io(), true);  // it does not hear of it in between
  const auto deleted = served_.Send("/etcdserverpb.KV/DeleteRange", DeleteBody("a/2"));
  served_.lanes().RunFor(std::chrono::milliseconds(10));
  ASSERT_EQ(deleted->times, 1);
  served_.lanes().Hold(served_.lanes().io(), false);
  const Waiting& anew = Send("/v3lockpb.Lock/Lock", LockRequestOf("a", 2));
  EXPECT_EQ(ErrorOf(served_.Await(*lost.answer)), kErrSessionExpired.ToError());
  Settle();
  EXPECT_THAT(Keys("a/"), UnorderedElementsAre("a/1", "a/2")) << "the new place stays";
  EXPECT_FALSE(anew.is_answered());
  ASSERT_TRUE(Unlock("a/1"));
  EXPECT_TRUE(Await<LockResponse>(anew));
}

TEST_F(LockServiceTest, OnlyTheOwnPlaceIsLeft) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& old = WaitForLock("a", 2);
  // Its key is deleted and created again before it leaves, and it has not heard of that yet.
  served_.lanes().Hold(served_.lanes().io(), true);
  const auto deleted = served_.Send("/etcdserverpb.KV/DeleteRange", DeleteBody("a/2"));
  std::string put = PutBody("a/2", "");
  wire::AppendInt(put, 3, 2);
  const auto made = served_.Send("/etcdserverpb.KV/Put", put);
  served_.lanes().RunFor(std::chrono::milliseconds(10));
  ASSERT_EQ(deleted->times + made->times, 2);
  old.Cancel();
  served_.lanes().Hold(served_.lanes().io(), false);
  Settle();
  EXPECT_THAT(Keys("a/"), UnorderedElementsAre("a/1", "a/2"));
}

TEST_F(LockServiceTest, ALeaseThatIsExpiredHoldsNoLock) {
  ASSERT_TRUE(Lock("a", 1));
  Grant(100, 5);
  const Waiting& waiting = WaitForLock("a", 100);
  served_.lanes().RunFor(std::chrono::seconds(30));
  EXPECT_EQ(ErrorOf(waiting.answer->value), kErrSessionExpired.ToError());
  EXPECT_THAT(Keys("a/"), ElementsAre("a/1"));
}

TEST_F(LockServiceTest, AKeyThatHangsOnTheLeaseNoMoreIsNoLock) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& waiting = WaitForLock("a", 2);
  Put("a/2", "by hand, without the lease");
  ASSERT_TRUE(Unlock("a/1"));
  EXPECT_EQ(ErrorOf(served_.Await(*waiting.answer)), kErrSessionExpired.ToError());
  Settle();
  EXPECT_THAT(Keys("a/"), IsEmpty()) << "nor in anybody's way";
}

TEST_F(LockServiceTest, AKeyMadeByHandIsTakenAsItIs) {
  Put("a/1", "by hand");
  EXPECT_TRUE(Lock("a", 1));
  Put("b/4d", "of a lease that does not exist");
  EXPECT_TRUE(Lock("b", 0x4d));
}

TEST_F(LockServiceTest, ACompactionDoesNotEndAWait) {
  ASSERT_TRUE(Lock("a", 1));
  // Its watches' events are read later, when they are compacted.
  served_.lanes().Hold(served_.lanes().watch(), true);
  const Waiting& waiting = WaitForLock("a", 2);
  for (int i = 0; i < 5; ++i) Put("other", "");
  ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Compact", CompactBody(served_.store().revision())));
  served_.lanes().Hold(served_.lanes().watch(), false);
  Settle();
  EXPECT_FALSE(waiting.is_answered());
  EXPECT_EQ(Watchers(), 2U);
  ASSERT_TRUE(Unlock("a/1"));
  EXPECT_TRUE(Await<LockResponse>(waiting));
}

TEST_F(LockServiceTest, AnUnlockThatIsCompactedIsSeenAllTheSame) {
  ASSERT_TRUE(Lock("a", 1));
  served_.lanes().Hold(served_.lanes().watch(), true);
  const Waiting& second = WaitForLock("a", 2);
  const Waiting& third = WaitForLock("a", 3);
  ASSERT_TRUE(Unlock("a/1"));
  Delete("a/3");
  Put("other", "");
  ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Compact", CompactBody(served_.store().revision())));
  served_.lanes().Hold(served_.lanes().watch(), false);
  EXPECT_TRUE(Await<LockResponse>(second));
  EXPECT_EQ(ErrorOf(served_.Await(*third.answer)), kErrSessionExpired.ToError());
}

TEST_F(LockServiceTest, ACompactionDoesNotEndAWaitForTheNextOne) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& second = WaitForLock("a", 2);
  const Waiting& third = WaitForLock("a", 3);
  served_.lanes().Hold(served_.lanes().watch(), true);
  const auto looked = served_.store().counters().ranges;
  second.Cancel();
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return served_.store().counters().ranges > looked; }));
  // The third has found its predecessor, and watches that key from a revision that is compacted.
  served_.lanes().Hold(served_.lanes().io(), true);
  const auto put = served_.Send("/etcdserverpb.KV/Put", PutBody("other", ""));
  const auto another = served_.Send("/etcdserverpb.KV/Put", PutBody("other", ""));
  served_.lanes().RunFor(std::chrono::milliseconds(10));
  const auto revision = served_.store().revision();
  const auto compacted = served_.Send("/etcdserverpb.KV/Compact", CompactBody(revision));
  served_.lanes().RunFor(std::chrono::milliseconds(10));
  ASSERT_EQ(put->times + another->times + compacted->times, 3);
  served_.lanes().Hold(served_.lanes().io(), false);
  served_.lanes().RunFor(std::chrono::milliseconds(10));
  served_.lanes().Hold(served_.lanes().watch(), false);
  Settle();
  EXPECT_FALSE(third.is_answered());
  ASSERT_TRUE(Unlock("a/1"));
  EXPECT_TRUE(Await<LockResponse>(third));
}

TEST_F(LockServiceTest, NoMoreWaitThanThereIsRoomFor) {
  ASSERT_TRUE(Lock("a", 1));
  std::vector<Waiting*> waiting;
  for (std::int64_t i = 0; i < 64; ++i) {
    Grant(1000 + i);
    waiting.push_back(&WaitForLock("a", 1000 + i));
  }
  EXPECT_EQ(ErrorOf(Lock("a", 2)), kErrTooManyRequests.ToError());
  EXPECT_EQ(Keys("a/").size(), 65U);
  waiting.back()->Cancel();
  waiting[7]->Cancel();
  Settle();
  WaitForLock("a", 2);
  const std::string long_name(150'000, 'n');
  ASSERT_TRUE(Lock(long_name, 3));
  const Waiting& long_one = WaitForLock(long_name, 4);
  EXPECT_EQ(ErrorOf(Lock(long_name, 5)), kErrTooManyRequests.ToError());
  EXPECT_THAT(Keys(long_name + "/").size(), 2U);
  ASSERT_TRUE(Unlock(long_name + "/3"));
  EXPECT_TRUE(Await<LockResponse>(long_one));
}

TEST_F(LockServiceTest, WhoNeedsALeaderIsToldWhenThereIsNone) {
  ServeWithoutALeader();
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& needs = WaitForLock("a", 2, /*require_leader=*/true);
  const Waiting& waits = WaitForLock("a", 3);
  served_.leader_streams().Start();
  EXPECT_EQ(ErrorOf(served_.Await(*needs.answer)), kErrNoLeader.ToError());
  Settle();
  EXPECT_FALSE(waits.is_answered());
  EXPECT_THAT(Keys("a/"), UnorderedElementsAre("a/1", "a/3"));
}

TEST_F(LockServiceTest, AStopEndsAWait) {
  ASSERT_TRUE(Lock("a", 1));
  const Waiting& waiting = WaitForLock("a", 2);
  bool stopped = false;
  served_.member().local_member().Stop([&] { stopped = true; });
  waiting.call->Cancel({Code::kUnavailable, "the server is stopping"});
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return stopped; }));
  served_.lanes().RunFor(std::chrono::seconds(20));
  EXPECT_EQ(ErrorOf(waiting.answer->value).code, Code::kUnavailable);
  EXPECT_EQ(served_.lock().waiting().calls(), 0U);
}

// In any case, a caller whose lock is granted had the oldest key at that revision.
TEST_F(LockServiceTest, WhoIsAnsweredIsTheOldestAtThatRevision) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    const std::string name = "r" + std::to_string(seed);
    std::vector<std::pair<std::int64_t, Waiting*>> calls;
    int answered = 0;
    std::vector<bool> is_judged;
    const auto judge = [&] {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto& [lease, call] = calls[i];
        if (is_judged[i] || !call->is_answered()) continue;
        is_judged[i] = true;
        const auto response = Parsed<LockResponse>(call->answer->value);
        if (!response.has_value()) continue;
        ++answered;
        etcdserverpb::RangeRequest range;
        range.set_key(name + "/");
        range.set_range_end(name + "0");
        range.set_revision(response->header().revision());
        range.set_sort_target(etcdserverpb::RangeRequest::CREATE);
        range.set_sort_order(etcdserverpb::RangeRequest::ASCEND);
        const auto then = Call<etcdserverpb::RangeResponse>("/etcdserverpb.KV/Range", range);
        ASSERT_TRUE(then.has_value());
        ASSERT_GT(then->kvs_size(), 0) << "seed " << seed;
        EXPECT_EQ(then->kvs(0).key(), response->key()) << "seed " << seed;
        EXPECT_EQ(then->kvs(0).lease(), lease) << "seed " << seed;
      }
    };
    for (int step = 0; step < 120; ++step) {
      const auto lease = static_cast<std::int64_t>(1 + rng.Below(6));
      switch (rng.Below(6)) {
        case 0:
        case 1:
          calls.emplace_back(lease, &Send("/v3lockpb.Lock/Lock", LockRequestOf(name, lease)));
          is_judged.push_back(false);
          break;
        case 2:
        case 3: {
          const auto held = Range(name + "/");
          if (held.kvs_size() == 0) break;
          const auto& kv = held.kvs(static_cast<int>(rng.Below(2)) % held.kvs_size());
          ASSERT_TRUE(Unlock(kv.key()));
          break;
        }
        case 4:
          if (!calls.empty()) calls[rng.Below(calls.size())].second->Cancel();
          break;
        default:
          for (std::uint64_t i = rng.Below(40); i > 0; --i) served_.lanes().Step();
      }
      judge();
    }
    // All get their turn.
    const auto waits = [&](const auto& call) { return !call.second->is_answered(); };
    for (int turn = 0; turn < 400 && std::ranges::any_of(calls, waits); ++turn) {
      Settle();
      const auto held = Range(name + "/");
      for (const auto& kv : held.kvs()) ASSERT_TRUE(Unlock(kv.key()));
    }
    EXPECT_FALSE(std::ranges::any_of(calls, waits)) << "seed " << seed;
    judge();
    EXPECT_GT(answered, 5) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kvorum::server
