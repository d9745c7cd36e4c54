// The revisions that compaction drops and keeps, in the index and, by its decision, in the backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "mvcc/index/key_index.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {
namespace {

class KeyIndexCompaction : public ::testing::Test {
 protected:
  std::uint64_t Compact(std::int64_t revision, std::size_t max_entries = 1000) {
    KeyIndex::CompactProgress progress;
    while (!progress.done) {
      index_.CompactStep(revision, max_entries, progress);
      index_.CheckInvariants();
    }
    return progress.revisions_dropped;
  }
  bool Kept(std::string_view key, Revision revision, std::int64_t compact_revision,
            KeepRule rule = KeepRule::kCompaction) const {
    return index_.working().IsKept(key, revision, compact_revision, rule);
  }
  std::int64_t ModifiedAt(std::string_view key, std::int64_t revision) const {
    const auto item = index_.working().Get(key, revision);
    return item.has_value() ? item->modified.main : 0;
  }
  // put 2, put 3, tombstone 4, put 5, tombstone 6.
  void TwoGenerations() {
    index_.Put("foo", {2, 0});
    index_.Put("foo", {3, 0});
    index_.Tombstone("foo", {4, 0});
    index_.Put("foo", {5, 0});
    index_.Tombstone("foo", {6, 0});
  }

  KeyIndex index_;
};

TEST_F(KeyIndexCompaction, LeavesTheNewestRevisionUpToTheCompacted) {
  for (std::int64_t revision = 2; revision < 10; ++revision) index_.Put("foo", {revision, 0});
  EXPECT_EQ(Compact(6), 4U);
  EXPECT_EQ(ModifiedAt("foo", 6), 6);
  EXPECT_EQ(ModifiedAt("foo", 8), 8);
  EXPECT_EQ(index_.working().Get("foo", 6)->version, 5);
  EXPECT_EQ(index_.working().Get("foo", 6)->created, 2);
  EXPECT_EQ(index_.working().Get("foo", 7)->version, 6);
  EXPECT_EQ(index_.Put("foo", {10, 0}).version, 9);
}

TEST_F(KeyIndexCompaction, LeavesAlone_WhatHasNothingOlder) {
  index_.Put("foo", {2, 0});
  index_.Put("bar", {3, 0});
  index_.Put("bar", {5, 0});
  EXPECT_EQ(Compact(4), 0U);
  EXPECT_EQ(ModifiedAt("bar", 4), 3);
}

TEST_F(KeyIndexCompaction, DropsAGenerationThatEndedBefore) {
  TwoGenerations();
  EXPECT_EQ(Compact(5), 3U);
  EXPECT_EQ(ModifiedAt("foo", 5), 5);
  EXPECT_EQ(index_.working().Get("foo", 5)->version, 1);
  EXPECT_EQ(ModifiedAt("foo", 6), 0);
}

TEST_F(KeyIndexCompaction, KeepsATombstoneAtTheVeryRevisionUntilTheNext) {
  TwoGenerations();
  EXPECT_EQ(Compact(4), 2U);
  EXPECT_TRUE(Kept("foo", {4, 0}, 4));
  EXPECT_EQ(Compact(6), 2U);
  EXPECT_TRUE(Kept("foo", {6, 0}, 6));
  EXPECT_EQ(Compact(7), 1U);
  EXPECT_FALSE(Kept("foo", {6, 0}, 7));
  EXPECT_EQ(index_.stats().height, 0);
}

TEST_F(KeyIndexCompaction, OnceForgottenAKeyBeginsAnew) {
  TwoGenerations();
  Compact(7);
  const auto put = index_.Put("foo", {8, 0});
  EXPECT_EQ(put.created, 8);
  EXPECT_EQ(put.version, 1);
}

TEST_F(KeyIndexCompaction, TellsWhichRecordsTheBackendKeeps) {
  TwoGenerations();
  // At 3: the put of 3, and all that is newer.
  EXPECT_FALSE(Kept("foo", {2, 0}, 3));
  EXPECT_TRUE(Kept("foo", {3, 0}, 3));
  EXPECT_TRUE(Kept("foo", {4, 0}, 3));
  // At 4: the tombstone, being exactly there.
  EXPECT_FALSE(Kept("foo", {3, 0}, 4));
  EXPECT_TRUE(Kept("foo", {4, 0}, 4));
  // At 5: the tombstone of 4 goes too.
  EXPECT_FALSE(Kept("foo", {4, 0}, 5));
  EXPECT_TRUE(Kept("foo", {5, 0}, 5));
  EXPECT_FALSE(Kept("foo", {5, 1}, 5));
  EXPECT_FALSE(Kept("nobody", {5, 0}, 5));
}

TEST_F(KeyIndexCompaction, TheHashLeavesOutATombstoneAtTheRevision) {
  TwoGenerations();
  EXPECT_FALSE(Kept("foo", {4, 0}, 4, KeepRule::kHash));
  EXPECT_TRUE(Kept("foo", {5, 0}, 5, KeepRule::kHash));
  EXPECT_FALSE(Kept("foo", {6, 0}, 6, KeepRule::kHash));
  EXPECT_TRUE(Kept("foo", {6, 0}, 5, KeepRule::kHash));
}

TEST_F(KeyIndexCompaction, WhatIsKeptDoesNotDependOnHowFarTheIndexIs) {
  TwoGenerations();
  Compact(5);
  EXPECT_FALSE(Kept("foo", {2, 0}, 5));
  EXPECT_FALSE(Kept("foo", {4, 0}, 5));
  EXPECT_TRUE(Kept("foo", {5, 0}, 5));
  EXPECT_TRUE(Kept("foo", {6, 0}, 6));
}

TEST_F(KeyIndexCompaction, InStepsAnswersTheSameInBetween) {
  constexpr int kKeys = 3000;
  std::int64_t revision = 1;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kKeys; ++i) index_.Put("key" + std::to_string(i), {++revision, 0});
  }
  for (int i = 0; i < kKeys; i += 2) index_.Tombstone("key" + std::to_string(i), {++revision, 0});
  const std::int64_t at = revision - 500;
  const std::int64_t there = index_.working().Count(KeyRange("", kOpenEnd), at);
  KeyIndex::CompactProgress progress;
  int steps = 0;
  for (; !progress.done; ++steps) {
    index_.CompactStep(at, 100, progress);
    // The writer goes on meanwhile, before and behind.
    index_.Put("other" + std::to_string(steps), {++revision, 0});
    if (steps % 3 == 0) index_.Publish({.current_revision = revision, .compact_revision = at});
    EXPECT_EQ(index_.working().Count(KeyRange("", kOpenEnd), at), there);
    index_.CheckInvariants();
  }
  EXPECT_GT(steps, 20);
  EXPECT_EQ(progress.keys_dropped, 1000U - 1);  // the tombstone at the very revision stays
  EXPECT_EQ(index_.live_keys(), kKeys / 2 + steps);
}

TEST_F(KeyIndexCompaction, LooksAtNothingTwiceThatIsClean) {
  std::int64_t revision = 1;
  for (int i = 0; i < 10'000; ++i) index_.Put("key" + std::to_string(i), {++revision, 0});
  index_.Put("key77", {++revision, 0});
  KeyIndex::CompactProgress progress;
  // One leaf's worth of entries suffices for the one key that has something to drop.
  index_.CompactStep(revision, 64, progress);
  EXPECT_TRUE(progress.done);
  EXPECT_EQ(progress.revisions_dropped, 1U);
}

TEST_F(KeyIndexCompaction, GivesTheMemoryOfWhatIsForgottenBack) {
  std::int64_t revision = 1;
  for (int i = 0; i < 100'000; ++i) index_.Put("key" + std::to_string(i), {++revision, 0});
  for (int i = 0; i < 100'000; ++i) index_.Tombstone("key" + std::to_string(i), {++revision, 0});
  index_.Publish({.current_revision = revision});
  EXPECT_GT(index_.stats().bytes_in_use, 5'000'000U);
  Compact(++revision);
  index_.Publish({.current_revision = revision});
  while (index_.Reclaim()) {
  }
  EXPECT_EQ(index_.stats().bytes_in_use, 0U);
  EXPECT_LE(index_.stats().bytes_reserved, 8'000'000U);
  EXPECT_EQ(index_.stats().height, 0);
}

TEST_F(KeyIndexCompaction, ASnapshotFromBeforeStillKnowsWhatWasForgotten) {
  for (std::int64_t revision = 2; revision < 10; ++revision) index_.Put("foo", {revision, 0});
  index_.Publish({.current_revision = 9});
  const auto snapshot = index_.Snapshot();
  Compact(9);
  index_.Publish({.current_revision = 9, .compact_revision = 9});
  EXPECT_EQ(snapshot->Get("foo", 4)->modified.main, 4);
  EXPECT_EQ(snapshot.mark().compact_revision, -1);
  EXPECT_EQ(index_.Snapshot().mark().compact_revision, 9);
  EXPECT_EQ(index_.Snapshot()->Get("foo", 4), std::nullopt);
}

// The past of a key that is changed and compacted for ever is never empty. The positions in its
// history, which have 31 bits, must not grow for ever all the same.
TEST_F(KeyIndexCompaction, AKeyThatIsNeverAtRestStaysRight) {
  std::int64_t revision = 1;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 5; ++i) index_.Put("foo", {++revision, 0});
    Compact(revision - 3);
    for (std::int64_t at = revision - 3; at <= revision; ++at) {
      EXPECT_EQ(index_.working().Get("foo", at)->version, at - 1);
      EXPECT_EQ(index_.working().Get("foo", at)->created, 2);
    }
  }
}

}  // namespace
}  // namespace kvorum::mvcc
