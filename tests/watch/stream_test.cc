// The responses of a stream of watchers, in the terms of etcd's protocol.
#include "watch/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/watch/watch_fixture.h"

namespace kvorum::watch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using mvcc::kOpenEnd;

class StreamTest : public WatchTest {
 protected:
  Client client_{hub->shard(0)};
};

TEST_F(StreamTest, AWatcherFromNowOnGetsWhatComes) {
  Put("a", "0");
  client_.Watch("a");
  EXPECT_THAT(client_.Texts(), ElementsAre("w0 created @2"));
  Put("a", "1");
  Put("b", "other");
  EXPECT_THAT(After(client_), ElementsAre("w0 @3: put a=1 m3"));
  Delete("a");
  Put("a", "2");
  EXPECT_THAT(After(client_), ElementsAre("w0 @5: del a m5", "w0 @6: put a=2 m6"));
}

TEST_F(StreamTest, EachPublishedBatchIsOneMessage) {
  client_.Watch("a", "c");
  for (const char* key : {"a", "b"}) {
    mvcc::WriteTxn txn = store->Begin();
    mvcc::Ok(txn.Put(mvcc::Put(key, "1")));
    txn.End();
  }
  Publish();
  EXPECT_THAT(After(client_), ElementsAre("w0 created @1", "w0 @3: put a=1 m2, put b=1 m3"));
}

TEST_F(StreamTest, ATransactionIsOneMessageInItsOrder) {
  client_.Watch("", kOpenEnd);
  Txn(mvcc::Txn(mvcc::List(mvcc::Put("z", "1"), mvcc::Put("a", "2"), mvcc::Put("m", "3"))));
  Delete("", kOpenEnd);
  EXPECT_THAT(After(client_),
              ElementsAre("w0 created @1", "w0 @2: put z=1 m2, put a=2 m2, put m=3 m2",
                          "w0 @3: del a m3, del m m3, del z m3"));
}

TEST_F(StreamTest, RangesFollowTheRuleOfRangeEnd) {
  client_.Watch("b");            // 0: exactly b
  client_.Watch("b", "d");       // 1: b and c
  client_.Watch("c", kOpenEnd);  // 2: from c on
  client_.Watch("", kOpenEnd);   // 3: everything
  client_.Texts();
  const auto who = [&](std::string_view key) {
    Put(key, "v");
    RunAll();
    std::vector<std::int64_t> ids;
    for (const auto& message : client_.Read()) ids.push_back(message.watch_id);
    std::ranges::sort(ids);
    return ids;
  };
  EXPECT_THAT(who("a"), ElementsAre(3));
  EXPECT_THAT(who("b"), ElementsAre(0, 1, 3));
  EXPECT_THAT(who("ba"), ElementsAre(1, 3));
  EXPECT_THAT(who("c"), ElementsAre(1, 2, 3));
  EXPECT_THAT(who("d"), ElementsAre(2, 3));
}

TEST_F(StreamTest, AnEmptyKeyIsTheSmallestOne) {
  client_.Watch("");
  Put(std::string(1, '\0'), "v");
  Put("a", "v");
  RunAll();
  EXPECT_EQ(client_.Read().size(), 2U) << "created, and one event";
}

TEST_F(StreamTest, IdsAreChosenOrGiven) {
  client_.Watch("a");
  client_.Create({.key = "a", .watch_id = 2});
  client_.Watch("a");
  client_.Watch("a");
  client_.Create({.key = "a", .watch_id = 2});
  client_.Create({.key = "a", .watch_id = -7});
  EXPECT_THAT(client_.Texts(),
              ElementsAre("w0 created @1", "w2 created @1", "w1 created @1", "w3 created @1",
                          "w-1 created canceled @1: mvcc: duplicate watch ID provided on the "
                          "WatchStream",
                          "w-7 created @1"));
  EXPECT_EQ(client_.stream().watchers(), 5U);
}

TEST_F(StreamTest, WhatCannotBeWatchedIsRefusedAndTheStreamGoesOn) {
  client_.Watch("b", "b");
  client_.Watch("b", "a");
  client_.Watch("b", "", -1);
  client_.Create({.key = "b", .range_end = "a", .start_revision = -1});
  client_.Watch("b");
  Put("b", "v");
  EXPECT_THAT(
      After(client_),
      ElementsAre("w-1 created canceled @1: mvcc: watcher range is empty",
                  "w-1 created canceled @1: mvcc: watcher range is empty",
                  "w-1 created canceled @1: etcdserver: mvcc: required revision has been compacted",
                  "w-1 created canceled @1: etcdserver: mvcc: required revision has been compacted",
                  "w0 created @1", "w0 @2: put b=v m2"));
}

TEST_F(StreamTest, ACancelledWatcherIsAnsweredOnceAndGetsNothingMore) {
  client_.Watch("a");
  client_.Watch("a");
  Put("a", "1");
  client_.Cancel(0);
  client_.Cancel(0);
  client_.Cancel(99);
  client_.Cancel(-1);
  Put("a", "2");
  RunAll();
  EXPECT_THAT(client_.Texts(),
              ElementsAre("w0 created @1", "w1 created @1", "w1 @2: put a=1 m2",
                          "w0 @2: put a=1 m2", "w0 canceled @2", "w1 @3: put a=2 m3"));
}

TEST_F(StreamTest, AnIdIsFreeAfterItsCancel) {
  client_.Create({.key = "a", .watch_id = 5});
  client_.Cancel(5);
  client_.Create({.key = "b", .watch_id = 5});
  Put("a", "1");
  Put("b", "1");
  EXPECT_THAT(After(client_),
              ElementsAre("w5 created @1", "w5 canceled @1", "w5 created @1", "w5 @3: put b=1 m3"));
}

TEST_F(StreamTest, TheHistoryIsReplayedFromARevisionOn) {
  for (int i = 1; i <= 5; ++i) Put("k" + std::to_string(i % 2), std::to_string(i));
  client_.Watch("k1", "", 3);
  EXPECT_THAT(client_.Texts(), ElementsAre("w0 created @6"));
  EXPECT_THAT(After(client_), ElementsAre("w0 @6: put k1=3 m4, put k1=5 m6"));
  Put("k1", "6");
  EXPECT_THAT(After(client_), ElementsAre("w0 @7: put k1=6 m7"));
}

TEST_F(StreamTest, TheHistoryIsTheSameWhenItIsDurable) {
  for (int i = 1; i <= 3; ++i) Put("a", std::to_string(i));
  Delete("a");
  Settle();
  Put("a", "buffered");
  client_.Watch("a", "", 1);
  EXPECT_THAT(After(client_), ElementsAre("w0 created @6",
                                          "w0 @6: put a=1 m2, put a=2 m3, put "
                                          "a=3 m4, del a m5, put a=buffered m6"));
}

TEST_F(StreamTest, AFutureRevisionIsWaitedFor) {
  client_.Watch("a", "", 4);
  Put("a", "2");
  Put("a", "3");
  Put("a", "4");
  Put("a", "5");
  EXPECT_THAT(After(client_),
              ElementsAre("w0 created @1", "w0 @4: put a=4 m4", "w0 @5: put a=5 m5"));
}

TEST_F(StreamTest, ThePresentRevisionIsReplayed) {
  Put("a", "2");
  client_.Watch("a", "", 2);
  EXPECT_THAT(After(client_), ElementsAre("w0 created @2", "w0 @2: put a=2 m2"));
  client_.Watch("a", "", 3);
  Put("a", "3");
  RunAll();
  EXPECT_THAT(client_.Texts(),
              ElementsAre("w1 created @2", "w1 @3: put a=3 m3", "w0 @3: put a=3 m3"));
}

TEST_F(StreamTest, TheLargestRevisionIsWaitedForForEver) {
  client_.Watch("a", "", std::numeric_limits<std::int64_t>::max());
  Put("a", "2");
  client_.RequestProgress();
  EXPECT_THAT(After(client_), ElementsAre("w0 created @1"));
}

TEST_F(StreamTest, FiltersLeaveOutAndSayNothing) {
  client_.Create({.key = "a", .wanted = {.no_put = true}});
  client_.Create({.key = "a", .wanted = {.no_delete = true}});
  client_.Create({.key = "a", .wanted = {.no_put = true, .no_delete = true}});
  client_.Texts();
  Put("a", "1");
  EXPECT_THAT(After(client_), ElementsAre("w1 @2: put a=1 m2"));
  Delete("a");
  EXPECT_THAT(After(client_), ElementsAre("w0 @3: del a m3"));
  client_.Create({.key = "a", .start_revision = 1, .wanted = {.no_put = true}});
  EXPECT_THAT(After(client_), ElementsAre("w3 created @3", "w3 @3: del a m3"));
}

TEST_F(StreamTest, PreviousValuesAreThoseBefore) {
  client_.Create({.key = "a", .range_end = "z", .wanted = {.prev_kv = true}});
  client_.Watch("a", "z");
  Put("a", "1");
  Put("a", "2");
  Delete("a");
  Put("a", "3");
  RunAll();
  std::vector<std::string> with;
  for (const auto& message : client_.Read()) {
    if (message.watch_id == 0 && !message.events.empty()) with.push_back(message.Text());
    if (message.watch_id == 1 && !message.events.empty()) {
      EXPECT_FALSE(message.events[0].has_prev);
    }
  }
  EXPECT_THAT(with, ElementsAre("w0 @2: put a=1 m2", "w0 @3: put a=2 m3 (a=1)",
                                "w0 @4: del a m4 (a=2)", "w0 @5: put a=3 m5"));
}

TEST_F(StreamTest, PreviousValuesOfTheHistoryEndAtTheCompaction) {
  for (int i = 2; i <= 6; ++i) Put("a", std::to_string(i));
  Compact(4);
  Settle();
  client_.Create({.key = "a", .start_revision = 4, .wanted = {.prev_kv = true}});
  EXPECT_THAT(After(client_), ElementsAre("w0 created @6",
                                          "w0 @6: put a=4 m4, put a=5 m5 (a=4), "
                                          "put a=6 m6 (a=5)"));
}

// --- compaction --------------------------------------------------------------------------------

TEST_F(StreamTest, BelowTheCompactionIsCreatedAndThenCanceled) {
  for (int i = 2; i <= 5; ++i) Put("a", std::to_string(i));
  Compact(4);
  Settle();
  client_.Watch("a", "", 3);
  EXPECT_THAT(After(client_), ElementsAre("w0 created @5", "w0 canceled compact 4 @0"));
  Put("a", "6");
  EXPECT_THAT(After(client_), IsEmpty());
  client_.Cancel(0);
  client_.Cancel(0);
  EXPECT_THAT(client_.Texts(), ElementsAre("w0 canceled @6")) << "the id was still taken";
}

TEST_F(StreamTest, TheCompactedRevisionItselfIsReplayed) {
  Put("a", "2");
  Put("a", "3");
  Put("b", "4");
  Compact(3);
  Settle();
  client_.Watch("a", "z", 3);
  EXPECT_THAT(After(client_), ElementsAre("w0 created @4", "w0 @4: put a=3 m3, put b=4 m4"));
}

// pitfalls 1: etcd #18089, #19179.
TEST_F(StreamTest, ATombstoneAtTheCompactedRevisionIsSeen) {
  Put("a", "2");
  Delete("a");
  Put("b", "4");
  Compact(3);
  Settle();
  client_.Watch("a", "", 2);  // 0
  client_.Watch("a", "", 3);  // 1
  client_.Watch("a", "", 4);  // 2
  EXPECT_THAT(After(client_), ElementsAre("w0 created @4", "w1 created @4", "w2 created @4",
                                          "w0 canceled compact 3 @0", "w1 @4: del a m3"));
}

TEST_F(StreamTest, ASyncedWatcherDoesNotMindACompaction) {
  client_.Watch("a");
  Put("a", "2");
  Put("a", "3");
  RunAll();
  Compact(3);
  Settle();
  Put("a", "4");
  EXPECT_THAT(After(client_), ElementsAre("w0 created @1", "w0 @2: put a=2 m2", "w0 @3: put a=3 m3",
                                          "w0 @4: put a=4 m4"));
}

// --- progress ----------------------------------------------------------------------------------

TEST_F(StreamTest, ProgressSpeaksForAllWatchersOfTheStream) {
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), IsEmpty()) << "no watcher, no progress";
  client_.Watch("a");
  client_.Watch("b");
  client_.Texts();
  Put("other", "v");
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), ElementsAre("w-1 progress @2"));
}

// pitfalls 1: etcd #15220, #17566.
TEST_F(StreamTest, ProgressComesBehindTheEventsUpToIt) {
  client_.Watch("a");
  Put("a", "2");
  Put("b", "3");
  // Nothing ran since: the events wait in the shard's inbox.
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(),
              ElementsAre("w0 created @1", "w0 @2: put a=2 m2", "w-1 progress @3"));
}

TEST_F(StreamTest, NoProgressWhileAWatcherIsCaughtUp) {
  Put("a", "2");
  client_.Watch("b");
  client_.Watch("a", "", 1);
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), ElementsAre("w0 created @2", "w1 created @2"));
  RunAll();
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), ElementsAre("w1 @2: put a=2 m2", "w-1 progress @2"));
}

TEST_F(StreamTest, NoProgressBeforeAFutureStart) {
  client_.Watch("a");
  client_.Watch("a", "", 3);
  Put("b", "2");
  client_.RequestProgress();
  Put("b", "3");
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), ElementsAre("w0 created @1", "w1 created @1", "w-1 progress @3"));
}

TEST_F(StreamTest, NotificationsComeToQuietWatchersOnly) {
  client_.Create({.key = "a", .progress_notify = true});
  client_.Create({.key = "b", .progress_notify = true});
  client_.Watch("c");
  Put("a", "2");
  RunAll();
  client_.Texts();
  const Duration longest = hub_options.progress_interval + hub_options.progress_interval / 10;
  PassTime(longest);
  EXPECT_THAT(client_.Texts(), ElementsAre("w1 progress @2"));
  PassTime(longest);
  EXPECT_THAT(client_.Texts(), testing::UnorderedElementsAre("w0 progress @2", "w1 progress @2"));
  Put("d", "3");
  PassTime(longest);
  EXPECT_THAT(client_.Texts(), testing::UnorderedElementsAre("w0 progress @3", "w1 progress @3"));
  PassTime(hub_options.progress_interval / 2);
  EXPECT_THAT(client_.Texts(), IsEmpty());
}

TEST_F(StreamTest, AStreamThatIsGoneLeavesNothing) {
  auto leaving = std::make_unique<Client>(hub->shard(0));
  for (int i = 2; i <= 5; ++i) Put("a", std::to_string(i));
  leaving->Create({.key = "a", .start_revision = 1, .progress_notify = true});
  leaving->Create({.key = "a", .range_end = "z", .progress_notify = true});
  leaving->Watch("a", "", 100);
  leaving.reset();
  EXPECT_EQ(hub->shard(0).watchers(), 0U);
  Put("a", "6");
  PassTime(std::chrono::hours(1));
  EXPECT_FALSE(hub->WantsRecords()) << "nobody watches";
}

// --- who else is there -------------------------------------------------------------------------

TEST_F(StreamTest, StreamsOfAllShardsGetTheEvents) {
  Client other(hub->shard(1));
  client_.Watch("a");
  other.Watch("a");
  Put("a", "2");
  EXPECT_THAT(After(client_), ElementsAre("w0 created @1", "w0 @2: put a=2 m2"));
  EXPECT_THAT(other.Texts(), ElementsAre("w0 created @1", "w0 @2: put a=2 m2"));
}

TEST_F(StreamTest, AShardThatHadNoWatchersForAWhileMissesNothing) {
  client_.Watch("a");
  client_.Cancel(0);
  Put("a", "2");
  RunAll();
  EXPECT_FALSE(hub->WantsRecords());
  Put("a", "3");
  client_.Texts();
  client_.Watch("a");
  Put("a", "4");
  EXPECT_THAT(After(client_), ElementsAre("w1 created @3", "w1 @4: put a=4 m4"));
}

// --- fragments ---------------------------------------------------------------------------------

class FragmentTest : public WatchTest {
 protected:
  FragmentTest()
      : WatchTest({.bodies = {.full_bytes = 500, .revisions = 1000, .fragment_bytes = 400}}) {}
  void PutThree() {
    const std::string value(150, 'x');
    Txn(mvcc::Txn(mvcc::List(mvcc::Put("a", value), mvcc::Put("b", value), mvcc::Put("c", value))));
  }
  Client client_{hub->shard(0)};
};

TEST_F(FragmentTest, ALargeRevisionIsSplitForThoseWhoAskForIt) {
  client_.Create({.key = "a", .range_end = "z", .wanted = {.fragment = true}});
  client_.Watch("a", "z");
  PutThree();
  RunAll();
  std::vector<std::pair<bool, std::size_t>> split;
  std::size_t whole = 0;
  for (const auto& message : client_.Read()) {
    if (message.events.empty()) continue;
    if (message.watch_id == 0) split.emplace_back(message.fragment, message.events.size());
    if (message.watch_id == 1) whole = message.events.size();
  }
  EXPECT_THAT(split, ElementsAre(std::pair(true, 1U), std::pair(true, 1U), std::pair(false, 1U)));
  EXPECT_EQ(whole, 3U);
}

TEST_F(FragmentTest, TheHistoryIsSplitAlike) {
  PutThree();
  PutThree();
  client_.Create({.key = "a", .range_end = "z", .start_revision = 1, .wanted = {.fragment = true}});
  RunAll();
  std::vector<bool> fragments;
  for (const auto& message : client_.Read()) {
    if (!message.events.empty()) fragments.push_back(message.fragment);
  }
  EXPECT_THAT(fragments, ElementsAre(true, true, true, true, false))
      << "the last part of one revision and the first of the next share a message";
}

}  // namespace
}  // namespace kvorum::watch
