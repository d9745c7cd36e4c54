// Published states: the content of a snapshot, the time it holds memory, the costs that a reader
// never pays.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mvcc/index/key_index.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {
namespace {

class KeyIndexSnapshot : public ::testing::Test {
 protected:
  void Put(const std::string& key) { index_.Put(key, {++revision_, 0}); }
  void PutAll(int count) {
    for (int i = 0; i < count; ++i) Put("key" + std::to_string(i));
  }
  void Publish() { index_.Publish({.current_revision = revision_}); }
  void ReclaimAll() {
    while (index_.Reclaim()) {
    }
  }
  static std::int64_t CountAll(const IndexSnapshot& snapshot) {
    return snapshot->Count(KeyRange("", kOpenEnd), 0);
  }

  KeyIndex index_;
  std::int64_t revision_ = 1;
};

TEST_F(KeyIndexSnapshot, SeesNothingBeforeTheFirstPublish) {
  Put("a");
  const auto snapshot = index_.Snapshot();
  EXPECT_FALSE(snapshot->Get("a", 0).has_value());
  EXPECT_TRUE(snapshot.view().empty());
  EXPECT_EQ(snapshot.mark().current_revision, 1);
  EXPECT_EQ(snapshot.mark().compact_revision, -1);
}

TEST_F(KeyIndexSnapshot, SeesWhatWasPublishedWithItsMark) {
  Put("a");
  index_.Publish({.current_revision = 2, .compact_revision = 1});
  Put("b");
  const auto snapshot = index_.Snapshot();
  EXPECT_TRUE(snapshot->Get("a", 0).has_value());
  EXPECT_FALSE(snapshot->Get("b", 0).has_value());
  EXPECT_TRUE(index_.working().Get("b", 0).has_value());
  EXPECT_EQ(snapshot.mark().current_revision, 2);
  EXPECT_EQ(snapshot.mark().compact_revision, 1);
}

TEST_F(KeyIndexSnapshot, ItsNewestIsThatOfItsOwnTime) {
  Put("a");
  Publish();
  const auto snapshot = index_.Snapshot();
  Put("a");
  index_.Tombstone("a", {++revision_, 0});
  Publish();
  EXPECT_EQ(snapshot->Get("a", 0)->modified.main, 2);
  EXPECT_EQ(snapshot->Get("a", 4)->modified.main, 2);
  EXPECT_FALSE(index_.Snapshot()->Get("a", 0).has_value());
}

TEST_F(KeyIndexSnapshot, MovesAndIsSwappedWithoutLosingItsState) {
  Put("a");
  Publish();
  IndexSnapshot first = index_.Snapshot();
  Put("b");
  Publish();
  IndexSnapshot second = index_.Snapshot();
  std::swap(first, second);
  EXPECT_EQ(CountAll(first), 2);
  EXPECT_EQ(CountAll(second), 1);
  first = std::move(second);
  second = IndexSnapshot();
  EXPECT_EQ(CountAll(first), 1);
  EXPECT_EQ(CountAll(second), 0);
}

TEST_F(KeyIndexSnapshot, ManyAtATimeAllAnswerForTheirOwnState) {
  std::deque<IndexSnapshot> snapshots;
  for (int i = 0; i < 1000; ++i) {
    Put("key" + std::to_string(i));
    Publish();
    snapshots.push_back(index_.Snapshot());
  }
  // Given back in an order of no rule.
  for (std::size_t i = 0; !snapshots.empty(); i += 7) {
    const std::size_t at = i % snapshots.size();
    EXPECT_EQ(CountAll(snapshots[at]), snapshots[at].mark().current_revision - 1);
    snapshots.erase(snapshots.begin() + static_cast<std::ptrdiff_t>(at));
  }
  ReclaimAll();
  Publish();
  ReclaimAll();
  EXPECT_EQ(index_.stats().snapshots_seen, 1U);
  EXPECT_EQ(index_.stats().retired_objects, 0U);
}

TEST_F(KeyIndexSnapshot, WithoutReadersAPublishFreesWhatItReplaces) {
  PutAll(1000);
  Publish();
  for (int i = 0; i < 1000; ++i) {
    Put("key" + std::to_string(i));
    Publish();
    EXPECT_EQ(index_.stats().retired_objects, 0U);
  }
}

TEST_F(KeyIndexSnapshot, HeldForLongItKeepsOnlyWhatItSees) {
  PutAll(10'000);
  Publish();
  const auto snapshot = index_.Snapshot();
  const std::size_t before = index_.stats().bytes_in_use;
  // Keys that come and go after it; it sees none of this.
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 200; ++i) Put("other" + std::to_string(i));
    Publish();
  }
  KeyIndex::CompactProgress progress;
  index_.CompactStep(revision_, 1'000'000, progress);
  Publish();
  ReclaimAll();
  // The nodes on the way to the others are there twice, all the rest once.
  EXPECT_LT(index_.stats().bytes_in_use, before + 200 * 200 + 20'000);
  EXPECT_EQ(CountAll(snapshot), 10'000);
}

TEST_F(KeyIndexSnapshot, GivenBackItsMemoryIsFreedByTheNextReclaim) {
  PutAll(10'000);
  Publish();
  {
    const auto snapshot = index_.Snapshot();
    PutAll(10'000);
    Publish();
    EXPECT_GT(index_.stats().retired_objects, 10'000U);
  }
  EXPECT_TRUE(index_.Reclaim(100));  // bounded
  ReclaimAll();
  EXPECT_EQ(index_.stats().retired_objects, 0U);
}

TEST_F(KeyIndexSnapshot, AnOldOneDoesNotHoldUpTheFreeingForYoungerOnes) {
  PutAll(1000);
  Publish();
  const auto old = index_.Snapshot();
  for (int i = 0; i < 100; ++i) {
    Put("key" + std::to_string(i));
    Publish();
    const auto brief = index_.Snapshot();
  }
  ReclaimAll();
  EXPECT_EQ(index_.stats().snapshots_seen, 2U);
  EXPECT_EQ(old->Get("key5", 0)->version, 1);
}

TEST_F(KeyIndexSnapshot, OutlivingTheIndexIsABug) {
  EXPECT_DEATH(
      {
        IndexSnapshot snapshot;
        KeyIndex index;
        snapshot = index.Snapshot();
      },
      "while a snapshot is held");
}

}  // namespace
}  // namespace kvorum::mvcc
