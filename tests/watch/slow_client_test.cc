// Clients that do not read, shards that do not run, and catching up from the store for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/watch/watch_fixture.h"

namespace kvorum::watch {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> RevisionsOf(const std::vector<SeenMessage>& messages,
                                      std::int64_t watch_id = 0) {
  std::vector<std::int64_t> revisions;
  for (const auto& message : messages) {
    if (message.watch_id != watch_id) continue;
    for (const auto& event : message.events) revisions.push_back(event.mod_revision);
  }
  return revisions;
}

std::vector<std::int64_t> UpTo(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> revisions;
  for (std::int64_t r = first; r <= last; ++r) revisions.push_back(r);
  return revisions;
}

class SlowClientTest : public WatchTest {
 protected:
  using WatchTest::WatchTest;
  // Reads until nothing comes any more.
  std::vector<SeenMessage> ReadAll(Client& client) {
    std::vector<SeenMessage> all;
    while (true) {
      RunAll();
      const auto some = client.Read();
      if (some.empty()) return all;
      all.insert(all.end(), some.begin(), some.end());
    }
  }
  void PutMany(int count, std::string_view key = "a", std::size_t bytes = 100) {
    for (int i = 0; i < count; ++i) Put(key, std::string(bytes, 'v'));
  }

  Client client_{hub->shard(0)};
};

TEST_F(SlowClientTest, CostsWhatItHasRoomForAndMissesNothing) {
  client_.sink.room_bytes = 1'000;
  client_.Watch("a");
  for (int i = 0; i < 10; ++i) {
    PutMany(50);
    RunAll();
  }
  EXPECT_LT(client_.sink.unread_bytes, 2'000U);
  EXPECT_EQ(RevisionsOf(ReadAll(client_)), UpTo(2, 501));
  Put("a", "live again");
  EXPECT_EQ(RevisionsOf(ReadAll(client_)), UpTo(502, 502));
}

TEST_F(SlowClientTest, TheLagIsThatOfTheWatcherThatIsFurthestBehind) {
  Client other(hub->shard(1));
  client_.sink.room_bytes = 300;
  client_.Watch("a");
  client_.Watch("a");
  other.Watch("a");
  RunAll();
  EXPECT_EQ(hub->LargestLag().synced, 0);
  EXPECT_EQ(hub->LargestLag().unsynced, 0);
  PutMany(50);
  // Neither shard has run since.
  EXPECT_EQ(hub->LargestLag().synced, 50);
  EXPECT_EQ(hub->MostWaiting().batches, 50U);
  RunAll();
  EXPECT_EQ(hub->LargestLag().synced, 0);
  EXPECT_EQ(hub->MostWaiting().batches, 0U);
  const std::int64_t behind = hub->LargestLag().unsynced;
  EXPECT_GT(behind, 40);
  EXPECT_LE(behind, 50);
  PutMany(10);
  RunAll();
  EXPECT_EQ(hub->LargestLag().unsynced, behind + 10);
  ReadAll(client_);
  EXPECT_EQ(hub->LargestLag().unsynced, 0);
}

// Writes may wait for a watcher (docs/decisions/0044) while its client reads.
class AwaitedTest : public SlowClientTest {
 protected:
  // Catching up takes many reads.
  AwaitedTest() : SlowClientTest({.catch_up = {.stream_bytes = 300}}) {}
  std::int64_t Awaited() { return hub->LargestLag().awaited; }
  // Writes until the client's room is full.
  void Fill(std::string_view key = "a") {
    for (int i = 0; i < 10; ++i) {
      PutMany(5, key);
      RunAll();
    }
  }
};

TEST_F(AwaitedTest, ASyncedWatcherUntilItsShardHasTakenTheBatches) {
  EXPECT_EQ(Awaited(), 0) << "there is no watcher";
  client_.Watch("a");
  PutMany(50);
  EXPECT_EQ(Awaited(), 50);
  RunAll();
  EXPECT_EQ(Awaited(), 0);
}

TEST_F(AwaitedTest, AFullStreamForASecond) {
  client_.sink.room_bytes = 300;
  client_.Watch("a");
  client_.Watch("a");
  Fill();
  const std::int64_t behind = Awaited();
  EXPECT_GT(behind, 40);
  EXPECT_EQ(behind, hub->LargestLag().unsynced);
  PassTime(std::chrono::milliseconds(999));
  EXPECT_EQ(Awaited(), behind);
  PassTime(std::chrono::milliseconds(1));
  EXPECT_EQ(Awaited(), 0) << "its client does not read";
  EXPECT_EQ(hub->LargestLag().unsynced, behind);
  Fill("b");
  EXPECT_EQ(Awaited(), 0);
}

// A loop that was held up does not know whether the clients read meanwhile.
TEST_F(AwaitedTest, AFullStreamForASecondInWhichItsShardRuns) {
  client_.sink.room_bytes = 300;
  client_.Watch("a");
  Fill();
  PassTime(std::chrono::seconds(60));
  EXPECT_GT(Awaited(), 40);
  PassTime(std::chrono::milliseconds(999));
  EXPECT_GT(Awaited(), 40);
  PassTime(std::chrono::milliseconds(1));
  EXPECT_EQ(Awaited(), 0);
}

TEST_F(AwaitedTest, AFullStreamWhoseClientReadsNowAndThen) {
  client_.sink.room_bytes = 300;
  client_.Watch("a");
  Fill();
  for (int i = 0; i < 5; ++i) {
    const std::int64_t behind = Awaited();
    EXPECT_GT(behind, 20);
    PassTime(std::chrono::milliseconds(900));
    client_.Read();
    RunAll();
    EXPECT_LT(Awaited(), behind) << "it has come nearer";
  }
}

// Otherwise a client that comes back after hours would stop every write until it has read it all.
TEST_F(AwaitedTest, AClientThatReadsAgainOnlyOnceItHasCaughtUp) {
  client_.sink.room_bytes = 300;
  client_.Watch("a");
  Fill();
  PassTime(std::chrono::seconds(1));
  client_.Read();
  RunAll();
  EXPECT_GT(hub->LargestLag().unsynced, 0);
  EXPECT_EQ(Awaited(), 0);
  ReadAll(client_);
  EXPECT_EQ(hub->LargestLag().unsynced, 0);
  Fill();
  EXPECT_GT(Awaited(), 40);
}

TEST_F(AwaitedTest, AWatcherFromThePastOnlyOnceItHasCaughtUp) {
  PutMany(50);
  client_.sink.room_bytes = 300;
  client_.Watch("a", "", 2);
  RunAll();
  EXPECT_GT(hub->LargestLag().unsynced, 20);
  EXPECT_EQ(Awaited(), 0);
  ReadAll(client_);
  Fill();
  EXPECT_GT(Awaited(), 40);
}

TEST_F(AwaitedTest, NobodyThatIsGone) {
  client_.sink.room_bytes = 300;
  client_.Watch("a");
  {
    Client leaving(hub->shard(1));
    leaving.sink.room_bytes = 100;
    leaving.Watch("a");
    Fill();
    client_.Cancel(0);
    EXPECT_GT(Awaited(), 40);
  }
  EXPECT_EQ(Awaited(), 0);
  PassTime(std::chrono::seconds(2));
}

TEST_F(SlowClientTest, DoesNotDisturbOthers) {
  Client other(hub->shard(0));
  client_.sink.room_bytes = 500;
  client_.Watch("a");
  other.Watch("a");
  PutMany(50);
  RunAll();
  EXPECT_EQ(RevisionsOf(other.Read()), UpTo(2, 51));
  EXPECT_EQ(RevisionsOf(ReadAll(client_)), UpTo(2, 51));
}

TEST_F(SlowClientTest, AllWatchersOfTheStreamShareItsRoom) {
  client_.sink.room_bytes = 2'000;
  for (int i = 0; i < 50; ++i) client_.Watch("a");
  PutMany(100);
  RunAll();
  EXPECT_LT(client_.sink.unread_bytes, 4'000U);
  const auto all = ReadAll(client_);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(RevisionsOf(all, i), UpTo(2, 101)) << "watcher " << i;
}

// pitfalls 1: etcd #17529.
TEST_F(SlowClientTest, AStarvedWatcherIsToldOfTheCompaction) {
  client_.sink.room_bytes = 500;
  client_.Watch("a");
  client_.Watch("b");
  PutMany(50);
  RunAll();
  Compact(40);
  Settle();
  Put("a", "later");
  Put("b", "later");
  const auto all = ReadAll(client_);
  const auto seen = RevisionsOf(all);
  EXPECT_EQ(seen, UpTo(2, seen.back())) << "what came before the cancel has no gap";
  EXPECT_LT(seen.back(), 40);
  std::vector<std::string> rest;
  for (const auto& message : all) {
    if (message.canceled || message.watch_id == 1) rest.push_back(message.Text());
  }
  EXPECT_THAT(rest, testing::UnorderedElementsAre("w1 created @1", "w0 canceled compact 40 @0",
                                                  "w1 @53: put b=later m53"));
}

TEST_F(SlowClientTest, NoProgressWhileItLags) {
  client_.sink.room_bytes = 500;
  client_.Watch("a");
  PutMany(50);
  RunAll();
  client_.RequestProgress();
  const auto all = ReadAll(client_);
  EXPECT_EQ(RevisionsOf(all), UpTo(2, 51));
  for (const auto& message : all) EXPECT_TRUE(message.created || !message.events.empty());
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), ElementsAre("w-1 progress @51"));
}

TEST_F(SlowClientTest, CancelWhereverTheWatcherIs) {
  client_.sink.room_bytes = 500;
  client_.Watch("a");
  client_.Watch("a");
  PutMany(20);
  RunAll();
  client_.Cancel(0);  // it lags
  EXPECT_TRUE(client_.Read().back().canceled);
  client_.Cancel(1);  // Read made room: it is being caught up
  PutMany(5);
  RunAll();
  EXPECT_THAT(client_.Texts(), ElementsAre("w1 canceled @21"));
}

TEST_F(SlowClientTest, AStreamMayEndWhileItIsReadFor) {
  auto leaving = std::make_unique<Client>(hub->shard(0));
  PutMany(100);
  for (int i = 0; i < 10; ++i) leaving->Watch("a", "", 1 + i);
  leaving.reset();
  RunAll();
  client_.Watch("a", "", 100);
  EXPECT_EQ(RevisionsOf(ReadAll(client_)), UpTo(100, 101));
}

// Catch-up and live events meet without a gap, and without reading again.
TEST_F(SlowClientTest, WhatComesWhileItIsReadForIsKept) {
  PutMany(10);
  client_.Watch("a", "", 1);
  for (int i = 0; i < 5; ++i) {
    PutMany(3);
    io.RunOne();
  }
  EXPECT_EQ(RevisionsOf(ReadAll(client_)), UpTo(2, 26));
  watch.RunOne();
  EXPECT_FALSE(watch.RunOne()) << "one round was enough";
}

class SmallBoundsTest : public SlowClientTest {
 protected:
  SmallBoundsTest()
      : SlowClientTest({.catch_up = {.join_revisions = 10,
                                     .jobs = 3,
                                     .records = 20,
                                     .bytes = 600,
                                     .stream_bytes = 300},
                        .inbox_batches = 3,
                        .inbox_bytes = 2'000,
                        .recent_bytes = 1'500}) {}
};

TEST_F(SmallBoundsTest, ManyWatchersAreCaughtUpInSmallRounds) {
  PutMany(60, "a");
  PutMany(60, "b", 5);
  for (int i = 0; i < 40; ++i) client_.Watch(i % 3 == 0 ? "b" : "a", i % 3 == 1 ? "z" : "", 1 + i);
  for (int i = 0; i < 60; ++i) {
    PutMany(1, "a");
    if (i % 5 == 0) watch.RunOne();
    if (i % 7 == 0) io.RunOne();
  }
  const auto all = ReadAll(client_);
  for (int i = 0; i < 40; ++i) {
    std::vector<std::int64_t> expected;
    for (std::int64_t r = std::max(2, 1 + i); r <= 181; ++r) {
      const bool is_b = r > 61 && r <= 121;
      if (i % 3 == 1 || is_b == (i % 3 == 0)) expected.push_back(r);
    }
    EXPECT_EQ(RevisionsOf(all, i), expected) << "watcher " << i;
  }
}

// Every event of the revision that did not fit any more waits for the next round.
TEST_F(SmallBoundsTest, ATransactionIsNotCutWhereTheStreamsRoomEnds) {
  PutMany(2, "a", 200);
  Txn(mvcc::Txn(mvcc::List(mvcc::Put("a", "1"), mvcc::Put("b", "2"), mvcc::Put("c", "3"))));
  PutMany(2, "a", 200);
  client_.Watch("a", "z", 1);
  EXPECT_EQ(RevisionsOf(ReadAll(client_)), (std::vector<std::int64_t>{2, 3, 4, 4, 4, 5, 6}));
}

// A busy loop loses batches, never events.
TEST_F(SmallBoundsTest, AShardThatDoesNotRunIsCaughtUp) {
  client_.Watch("a");
  Client other(hub->shard(0));
  other.Watch("b", "", 50);
  PutMany(100);
  EXPECT_EQ(RevisionsOf(ReadAll(client_)), UpTo(2, 101));
  PutMany(3);
  PutMany(1, "b");
  EXPECT_EQ(RevisionsOf(ReadAll(client_)), UpTo(102, 104));
  EXPECT_EQ(RevisionsOf(ReadAll(other)), UpTo(105, 105));
}

// Batches that gave way to a jump are still missing.
TEST_F(SmallBoundsTest, AShardThatDoesNotRunIsAwaitedUntilItIsCaughtUp) {
  client_.Watch("a");
  PutMany(100);
  EXPECT_EQ(hub->LargestLag().awaited, 100);
  ASSERT_TRUE(io.RunOne());
  EXPECT_EQ(hub->LargestLag().synced, 0);
  EXPECT_EQ(hub->LargestLag().awaited, 100);
  ReadAll(client_);
  EXPECT_EQ(hub->LargestLag().awaited, 0);
}

TEST_F(SmallBoundsTest, AMillionRevisionsAwayDoesNotHoldUpANearOne) {
  PutMany(400);
  Client far(hub->shard(1));
  far.Watch("a", "", 1);
  RunAll();
  far.Read();
  client_.Watch("a", "", 400);
  // Each round serves the job that has waited longest: the near one is done after few.
  for (int i = 0; i < 4; ++i) {
    watch.RunOne();
    io.RunOne();
    other_io.RunOne();
  }
  EXPECT_EQ(RevisionsOf(client_.Read()), UpTo(400, 401));
}

// --- a received snapshot under watchers --------------------------------------------------------

class InstallTest : public WatchTest {
 protected:
  // The leader's state becomes ours.
  void Install() {
    leader_.Settle();
    const auto opened = mvcc::Ok(leader_.store->OpenSnapshot());
    auto sink = mvcc::Ok(mvcc::MakeSnapshotSink(
        files, {.open = Opener(), .path = "/data/db.received", .check = nullptr}));
    while (true) {
      const SharedBytes chunk = mvcc::Ok(opened.source->Next());
      if (chunk.empty()) break;
      mvcc::Ok(sink->Write(chunk.view()));
    }
    mvcc::Ok(sink->Finish());
    bool installed = false;
    store->Install({.open = Opener(),
                    .snapshot_path = "/data/db.received",
                    .path = DatabasePath(),
                    .consistent_index = leader_.index,
                    .load = nullptr},
                   [&] { installed = true; });
    while (!installed) executors->RunReady();
    index = leader_.index;
  }
  void PutBoth(std::string_view key, std::string_view value) {
    leader_.Put(key, value);
    Put(key, value);
  }

  mvcc::StoreHarness leader_;
  Client client_{hub->shard(0)};
};

// pitfalls 1: etcd #15271.
TEST_F(InstallTest, WatchersGetWhatTheSnapshotBringsOnceAndInOrder) {
  PutBoth("a", "2");
  client_.Watch("a");
  client_.Watch("a", "", 4);
  client_.Watch("a", "", 7);
  PutBoth("a", "3");
  RunAll();
  EXPECT_THAT(client_.Texts(),
              ElementsAre("w0 created @2", "w1 created @2", "w2 created @2", "w0 @3: put a=3 m3"));
  for (int i = 4; i <= 5; ++i) leader_.Put("a", std::to_string(i));
  Install();
  PutBoth("a", "6");
  PutBoth("a", "7");
  RunAll();
  std::vector<std::vector<std::int64_t>> seen(3);
  for (const auto& message : client_.Read()) {
    for (const auto& event : message.events)
      seen[static_cast<std::size_t>(message.watch_id)].push_back(event.mod_revision);
  }
  EXPECT_THAT(seen[0], ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(seen[1], ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(seen[2], ElementsAre(7));
}

TEST_F(InstallTest, ProgressDoesNotRunAheadOfWhatTheSnapshotBrings) {
  PutBoth("a", "2");
  client_.Watch("a");
  leader_.Put("a", "3");
  Install();
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), ElementsAre("w0 created @2"));
  RunAll();
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), ElementsAre("w0 @3: put a=3 m3", "w-1 progress @3"));
}

TEST_F(InstallTest, WhatTheSnapshotHasCompactedIsTold) {
  PutBoth("a", "2");
  client_.Watch("a");
  client_.Watch("b", "", 100);
  for (int i = 3; i <= 6; ++i) leader_.Put("a", std::to_string(i));
  leader_.Compact(5);
  Install();
  EXPECT_THAT(After(client_),
              ElementsAre("w0 created @2", "w1 created @2", "w0 canceled compact 5 @0"));
}

// This member had revisions that the cluster never had: their watchers read the keys anew.
TEST_F(InstallTest, AnOlderRevisionEndsWhoHasSeenTheOtherOnes) {
  PutBoth("a", "2");
  client_.Watch("a");
  client_.Watch("a", "", 100);
  for (int i = 3; i <= 9; ++i) Put("a", "wrong");
  leader_.Put("a", "3");
  RunAll();
  client_.Read();
  Install();
  EXPECT_EQ(store->revision(), 3);
  EXPECT_THAT(After(client_), testing::UnorderedElementsAre("w0 canceled compact 3 @0",
                                                            "w1 canceled compact 3 @0"));
  client_.Watch("a");
  client_.Watch("a", "", 3);
  PutBoth("a", "4");
  EXPECT_THAT(After(client_), ElementsAre("w2 created @3", "w3 created @3", "w2 @4: put a=4 m4",
                                          "w3 @4: put a=3 m3, put a=4 m4"));
}

TEST_F(InstallTest, ASnapshotUnderWatchersThatAreReadFor) {
  for (int i = 2; i <= 5; ++i) PutBoth("a", std::to_string(i));
  client_.Watch("a", "", 2);
  leader_.Put("a", "6");
  watch.RunOne();  // reads the old state
  Install();
  RunAll();
  EXPECT_EQ(RevisionsOf(client_.Read()), UpTo(2, 6));
}

// pitfalls 1: etcd #20221.
TEST_F(InstallTest, AFutureRevisionOnALaggingMemberGetsNothingOld) {
  PutBoth("a", "2");
  for (int i = 3; i <= 8; ++i) leader_.Put("a", std::to_string(i));
  client_.Watch("a", "", 6);  // the client has seen more than this member
  client_.RequestProgress();
  Put("a", "3");
  RunAll();
  client_.RequestProgress();
  EXPECT_THAT(client_.Texts(), ElementsAre("w0 created @2"));
  Install();
  RunAll();
  EXPECT_EQ(RevisionsOf(client_.Read()), UpTo(6, 8));
}

}  // namespace
}  // namespace kvorum::watch
