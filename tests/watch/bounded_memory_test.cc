// The memory that watchers make the member hold, for any requests: previous values that are larger
// than the changes, one revision that is larger than a message, large records without a watcher,
// and results that an I/O loop does not take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tests/watch/small_batch.h"
#include "tests/watch/watch_fixture.h"
#include "watch/ended_ids.h"
#include "watch/kept_batches.h"

namespace kvorum::watch {
namespace {

const std::string kThousandBytes(1'000, 'v');
// With the pair around it.
constexpr std::size_t kMostBytesOfOne = 1'100;
constexpr int kKeys = 20;

std::string KeyOf(int i) { return "k" + std::string(i < 10 ? "0" : "") + std::to_string(i); }

class BoundedMemoryTest : public WatchTest {
 protected:
  BoundedMemoryTest()
      : WatchTest({.bodies = {.full_bytes = 1'500, .fragment_bytes = 2'000},
                   .catch_up = {.join_revisions = 1,
                                .read_bytes = 5'000,
                                .bytes = 3'000,
                                .stream_bytes = 1'500,
                                .untaken_bytes = 3'000},
                   .previous_bytes = 3'000}) {
    for (int i = 0; i < kKeys; ++i) Put(KeyOf(i), kThousandBytes);
    RunAll();
  }
  void WatchWithPrevious(Client& client, std::int64_t start, bool fragment) {
    client.Create({.key = "k",
                   .range_end = "l",
                   .start_revision = start,
                   .wanted = {.prev_kv = true, .fragment = fragment}});
  }
  // Runs what is due for the catch-up, and returns how often it ran.
  int RunWatch() {
    int rounds = 0;
    while (watch.RunOne()) ++rounds;
    return rounds;
  }
  void RunIo() {
    while (io.RunOne()) {
    }
  }
  std::vector<SeenEvent> EventsOf(const std::vector<SeenMessage>& messages) {
    std::vector<SeenEvent> events;
    for (const SeenMessage& message : messages) {
      events.insert(events.end(), message.events.begin(), message.events.end());
    }
    return events;
  }
  // Each key once, in order, as a delete or a put with its previous value.
  void ExpectAllWithPrevious(const std::vector<SeenMessage>& messages) {
    const auto events = EventsOf(messages);
    ASSERT_EQ(events.size(), kKeys);
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_EQ(events[static_cast<std::size_t>(i)].key, KeyOf(i));
      EXPECT_EQ(events[static_cast<std::size_t>(i)].prev_value, kThousandBytes);
    }
  }

  Client client_{hub->shard(0)};
};

TEST_F(BoundedMemoryTest, ARoundCountsPreviousValues) {
  const std::int64_t before = revision();
  for (int i = 0; i < kKeys; ++i) Put(KeyOf(i), "");
  RunAll();
  WatchWithPrevious(client_, before + 1, /*fragment=*/false);
  ASSERT_TRUE(watch.RunOne());
  RunIo();
  EXPECT_LE(client_.sink.unread_bytes, 1'500 + kMostBytesOfOne);
  RunAll();
  ExpectAllWithPrevious(client_.Read());
}

TEST_F(BoundedMemoryTest, ALargeRevisionIsReadInParts) {
  const std::int64_t before = revision();
  Delete("k", "l");
  Put("k99", "later");
  RunAll();
  WatchWithPrevious(client_, before + 1, /*fragment=*/true);
  ASSERT_TRUE(watch.RunOne());
  RunIo();
  EXPECT_LE(client_.sink.unread_bytes, 2'000 + kMostBytesOfOne);
  RunAll();
  auto messages = client_.Read();
  ASSERT_GE(messages.size(), 12U);
  EXPECT_EQ(messages.back().Text(), "w0 @23: put k99=later m23");
  messages.pop_back();
  for (std::size_t i = 1; i + 1 < messages.size(); ++i) EXPECT_TRUE(messages[i].fragment) << i;
  EXPECT_FALSE(messages.back().fragment) << "the client knows that the revision is whole";
  ExpectAllWithPrevious(messages);
}

TEST_F(BoundedMemoryTest, ALargeRevisionStaysWholeForWhoDoesNotTakeParts) {
  const std::int64_t before = revision();
  Delete("k", "l");
  RunAll();
  WatchWithPrevious(client_, before + 1, /*fragment=*/false);
  RunAll();
  const auto messages = client_.Read();
  ASSERT_EQ(messages.size(), 2U);
  ExpectAllWithPrevious(messages);
}

// A client that stops reading within a revision gets the rest of it later.
TEST_F(BoundedMemoryTest, APartWaitsForItsClient) {
  const std::int64_t before = revision();
  Delete("k", "l");
  RunAll();
  client_.sink.room_bytes = 500;
  WatchWithPrevious(client_, before + 1, /*fragment=*/true);
  std::vector<SeenMessage> all;
  for (int i = 0; i < 2 * kKeys; ++i) {
    RunAll();
    EXPECT_LE(client_.sink.unread_bytes, 2'000 + kMostBytesOfOne);
    for (SeenMessage& message : client_.Read()) all.push_back(std::move(message));
  }
  EXPECT_FALSE(all.back().fragment);
  ExpectAllWithPrevious(all);
}

TEST_F(BoundedMemoryTest, PreviousValuesOfAPublishedBatchHaveABound) {
  for (const bool fragment : {true, false}) {
    Client synced(hub->shard(0));
    WatchWithPrevious(synced, 0, fragment);
    RunAll();
    synced.Read();
    for (int i = 0; i < kKeys; ++i) Put(KeyOf(i), kThousandBytes);
    RunAll();
    synced.Read();
    Delete("k", "l");
    executors->RunReady();
    RunIo();
    EXPECT_LE(synced.sink.unread_bytes, 3'000U) << "before the catch-up has run";
    RunAll();
    ExpectAllWithPrevious(synced.Read());
    Put("k99", "later");
    RunAll();
    EXPECT_EQ(EventsOf(synced.Read()).size(), 1U) << "it is synced again, and there is room again";
    Delete("k99");
  }
}

TEST_F(BoundedMemoryTest, ARoundEndsAfterManyBytesThatNobodyWatches) {
  client_.Watch("x", "", 1);
  EXPECT_GE(RunWatch(), 1);
  RunIo();
  Client other(hub->shard(0));
  other.Watch("x", "", 1);
  int rounds = 0;
  while (watch.RunOne()) {
    ++rounds;
    RunIo();
  }
  EXPECT_GE(rounds, kKeys / 6) << "of five or six records each";
  Put("x", "1");
  RunAll();
  EXPECT_THAT(client_.Texts(), testing::Contains("w0 @22: put x=1 m22"));
  EXPECT_THAT(other.Texts(), testing::Contains("w0 @22: put x=1 m22"));
}

TEST_F(BoundedMemoryTest, NothingIsReadForALoopThatTakesNothing) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kKeys; ++i) {
    clients.push_back(std::make_unique<Client>(hub->shard(0)));
    clients.back()->Watch(KeyOf(i), "", 2 + i);
  }
  Client elsewhere(hub->shard(1));
  elsewhere.Watch(KeyOf(0), "", 1);
  RunWatch();
  while (other_io.RunOne()) {
  }
  EXPECT_EQ(EventsOf(elsewhere.Read()).size(), 1U) << "another loop is not held up";
  RunIo();
  std::size_t bytes = 0;
  for (const auto& client : clients) bytes += client->sink.unread_bytes;
  EXPECT_LE(bytes, 3'000 + 3'000 + kMostBytesOfOne);
  EXPECT_GT(bytes, 0U);
  for (int i = 0; i < kKeys; ++i) PassTime(std::chrono::milliseconds(10));
  for (const auto& client : clients) EXPECT_EQ(EventsOf(client->Read()).size(), 1U);
}

// A client that creates below the compaction and never cancels. Each of its watchers ends at once.
class EndedIdsTest : public WatchTest {
 protected:
  EndedIdsTest() {
    for (int i = 0; i < 3; ++i) Put("k", std::to_string(i));
    RunAll();
    Compact(3);
    RunAll();
  }
  // Returns the ids that it got.
  std::vector<std::int64_t> Create(int count, std::int64_t first_id = 0) {
    std::vector<std::int64_t> ids;
    for (int i = 0; i < count; ++i) {
      client_.Create(
          {.key = "k", .start_revision = 1, .watch_id = first_id == 0 ? 0 : first_id + i});
      if (i % 100 == 99 || i + 1 == count) RunAll();
      if (i % 100 != 99 && i + 1 != count) continue;
      for (const SeenMessage& message : client_.Read()) {
        if (message.compact_revision != 0) ids.push_back(message.watch_id);
      }
    }
    return ids;
  }
  std::vector<std::string> CancelOf(std::int64_t id) {
    client_.Cancel(id);
    return After(client_);
  }
  const EndedIds& ended() { return *client_.stream().ended_by_compaction(); }

  Client client_{hub->shard(0)};
};

TEST_F(EndedIdsTest, ThoseThatTheMemberChoseAreKeptAsOneInterval) {
  const auto ids = Create(200'000);
  ASSERT_EQ(ids.size(), 200'000U);
  EXPECT_EQ(ended().intervals(), 1U);
  EXPECT_EQ(ended().chosen(), 0U);
  EXPECT_EQ(client_.stream().watchers(), 0U);
  for (const std::int64_t id : {ids.front(), ids[100'000], ids.back()}) {
    EXPECT_THAT(CancelOf(id), testing::ElementsAre(testing::HasSubstr(" canceled @"))) << id;
    EXPECT_THAT(CancelOf(id), testing::IsEmpty()) << id << " is cancelled already";
  }
  EXPECT_EQ(ended().intervals(), 2U);
}

TEST_F(EndedIdsTest, TheOldestOfThoseThatAClientChoseAreForgotten) {
  constexpr std::int64_t kFirst = 1'000'000;
  constexpr int kCount = 200'000;
  ASSERT_EQ(Create(kCount, kFirst).size(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(ended().intervals(), 0U);
  EXPECT_EQ(ended().chosen(), EndedIds::kMost);
  EXPECT_THAT(CancelOf(kFirst), testing::IsEmpty());
  EXPECT_THAT(CancelOf(kFirst + kCount - 1),
              testing::ElementsAre(testing::HasSubstr(" canceled @")));
  client_.Create({.key = "k", .watch_id = kFirst + kCount - 2});
  EXPECT_THAT(After(client_), testing::ElementsAre(testing::HasSubstr("w-1 created canceled")))
      << "a recent one stays taken";
  client_.Create({.key = "k", .watch_id = kFirst});
  EXPECT_THAT(After(client_), testing::ElementsAre(testing::HasSubstr("w1000000 created @")));
}

TEST_F(EndedIdsTest, CancellingEveryOtherOneLeavesABoundedNumberOfIntervals) {
  const auto ids = Create(200'000);
  for (std::size_t i = 0; i < ids.size(); i += 2) client_.Cancel(ids[i]);
  After(client_);
  EXPECT_EQ(ended().intervals(), EndedIds::kMost);
  EXPECT_THAT(CancelOf(ids[1]), testing::IsEmpty());
  EXPECT_THAT(CancelOf(ids.back()), testing::ElementsAre(testing::HasSubstr(" canceled @")));
}

TEST(EndedIdsModelTest, KnowsWhatASetKnows) {
  Rng rng(1);
  EndedIds ended;
  std::set<std::int64_t> model;
  constexpr std::int64_t kNextId = 40;
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t id = static_cast<std::int64_t>(rng.Below(60)) - 10;
    if (rng.OneIn(2)) {
      ended.Add(id, kNextId);
      model.insert(id);
    } else {
      EXPECT_EQ(ended.Remove(id), model.erase(id) == 1);
    }
    const std::int64_t asked = static_cast<std::int64_t>(rng.Below(60)) - 10;
    ASSERT_EQ(ended.Contains(asked), model.contains(asked)) << asked;
  }
}

TEST(KeptBatchesMemoryTest, APublishedBatchIsNotKeptItself) {
  KeptBatches kept(100'000);
  auto batch = SmallBatch(2);
  const std::weak_ptr<const EventBatch> published = batch;
  kept.Add(std::exchange(batch, nullptr));
  EXPECT_TRUE(published.expired()) << "it would keep segments of the write buffer";
  ASSERT_NE(kept.begin(), kept.end());
  const EventBatch& copy = **kept.begin();
  EXPECT_EQ(copy.last_revision(), 2);
  ASSERT_EQ(copy.size(), 1U);
  EXPECT_EQ(copy[0].key, "key");
}

}  // namespace
}  // namespace kvorum::watch
