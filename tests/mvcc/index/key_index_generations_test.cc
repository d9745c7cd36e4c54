// A key's state at each revision: puts, tombstones, generations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "mvcc/index/key_index.h"

namespace kvorum::mvcc {
namespace {

using ::testing::Optional;

class KeyIndexGenerations : public ::testing::Test {
 protected:
  // {modified, created, version} of "foo" at the revision, or "none".
  std::string FooAt(std::int64_t revision) const { return Describe(index_.working(), revision); }
  static std::string Describe(const IndexView& view, std::int64_t revision) {
    const auto item = view.Get("foo", revision);
    if (!item.has_value()) return "none";
    return std::to_string(item->modified.main) + "." + std::to_string(item->modified.sub) +
           " created " + std::to_string(item->created) + " version " +
           std::to_string(item->version);
  }

  KeyIndex index_;
};

TEST_F(KeyIndexGenerations, AnUnknownKeyIsNotThere) {
  EXPECT_EQ(FooAt(0), "none");
  EXPECT_EQ(FooAt(5), "none");
  index_.Put("fo", {2, 0});
  index_.Put("fooo", {3, 0});
  EXPECT_EQ(FooAt(0), "none");
}

TEST_F(KeyIndexGenerations, AFirstPutCreates) {
  const auto put = index_.Put("foo", {2, 3});
  EXPECT_EQ(put.created, 2);
  EXPECT_EQ(put.version, 1);
  EXPECT_EQ(put.previous, std::nullopt);
  EXPECT_EQ(FooAt(1), "none");
  EXPECT_EQ(FooAt(2), "2.3 created 2 version 1");
  EXPECT_EQ(FooAt(100), "2.3 created 2 version 1");
}

TEST_F(KeyIndexGenerations, EachFurtherPutCountsTheVersionUp) {
  index_.Put("foo", {2, 0});
  const auto put = index_.Put("foo", {5, 1});
  EXPECT_EQ(put.created, 2);
  EXPECT_EQ(put.version, 2);
  EXPECT_THAT(put.previous, Optional(Revision{2, 0}));
  EXPECT_EQ(FooAt(4), "2.0 created 2 version 1");
  EXPECT_EQ(FooAt(5), "5.1 created 2 version 2");
}

TEST_F(KeyIndexGenerations, ATombstoneEndsTheGeneration) {
  index_.Put("foo", {2, 0});
  EXPECT_THAT(index_.Tombstone("foo", {3, 0}), Optional(Revision{2, 0}));
  EXPECT_EQ(FooAt(2), "2.0 created 2 version 1");
  EXPECT_EQ(FooAt(3), "none");
  EXPECT_EQ(FooAt(0), "none");
}

TEST_F(KeyIndexGenerations, APutAfterATombstoneBeginsAnew) {
  index_.Put("foo", {2, 0});
  index_.Put("foo", {3, 0});
  index_.Tombstone("foo", {4, 0});
  const auto put = index_.Put("foo", {6, 0});
  EXPECT_EQ(put.created, 6);
  EXPECT_EQ(put.version, 1);
  EXPECT_EQ(put.previous, std::nullopt);
  index_.Put("foo", {7, 0});
  EXPECT_EQ(FooAt(3), "3.0 created 2 version 2");
  EXPECT_EQ(FooAt(5), "none");
  EXPECT_EQ(FooAt(6), "6.0 created 6 version 1");
  EXPECT_EQ(FooAt(7), "7.0 created 6 version 2");
}

TEST_F(KeyIndexGenerations, ATombstoneOnWhatDoesNotLiveChangesNothing) {
  EXPECT_EQ(index_.Tombstone("foo", {2, 0}), std::nullopt);
  index_.Put("foo", {3, 0});
  index_.Tombstone("foo", {4, 0});
  EXPECT_EQ(index_.Tombstone("foo", {5, 0}), std::nullopt);
  EXPECT_EQ(index_.live_keys(), 0);
  EXPECT_EQ(FooAt(3), "3.0 created 3 version 1");
}

TEST_F(KeyIndexGenerations, OfOneTransactionsChangesTheLastCounts) {
  index_.Put("foo", {2, 0});
  index_.Put("foo", {2, 1});
  EXPECT_EQ(FooAt(2), "2.1 created 2 version 2");
  index_.Tombstone("foo", {3, 0});
  index_.Put("foo", {3, 1});
  EXPECT_EQ(FooAt(3), "3.1 created 3 version 1");
  EXPECT_EQ(FooAt(2), "2.1 created 2 version 2");
}

TEST_F(KeyIndexGenerations, PublishingInBetweenChangesNoAnswer) {
  for (std::int64_t revision = 2; revision < 50; ++revision) {
    if (revision % 7 == 0) {
      index_.Tombstone("foo", {revision, 0});
    } else {
      index_.Put("foo", {revision, 0});
    }
    if (revision % 3 == 0) index_.Publish({.current_revision = revision});
    index_.CheckInvariants();
  }
  EXPECT_EQ(FooAt(13), "13.0 created 8 version 6");
  EXPECT_EQ(FooAt(14), "none");
  EXPECT_EQ(FooAt(15), "15.0 created 15 version 1");
  EXPECT_EQ(FooAt(0), "none");
  EXPECT_EQ(Describe(index_.Snapshot().view(), 48), "48.0 created 43 version 6");
}

TEST_F(KeyIndexGenerations, AKeyPutAMillionTimesIsStillFoundAtEachRevision) {
  constexpr std::int64_t kPuts = 1'000'000;
  for (std::int64_t revision = 2; revision < kPuts + 2; ++revision) {
    index_.Put("foo", {revision, 0});
    if (revision % 64 == 0) index_.Publish({.current_revision = revision});
  }
  for (std::int64_t revision = 2; revision < kPuts + 2; revision += 997) {
    const auto item = index_.working().Get("foo", revision);
    ASSERT_TRUE(item.has_value());
    EXPECT_EQ(item->modified.main, revision);
    EXPECT_EQ(item->created, 2);
    EXPECT_EQ(item->version, revision - 1);
  }
  // 16 bytes a revision, the block at most half empty, and before the last publish its predecessor.
  EXPECT_LT(index_.stats().bytes_reserved, 16U * (std::size_t{1} << 20) * 3 / 2 + 2'000'000);
}

TEST_F(KeyIndexGenerations, TheEmptyKeyAndAVeryLongOneAreKeysLikeOthers) {
  const std::string lengthy(1024 * 1024, 'x');
  index_.Put("", {2, 0});
  index_.Put(lengthy, {3, 0});
  index_.Put(lengthy, {4, 0});
  index_.Publish({.current_revision = 4});
  EXPECT_EQ(index_.working().Get(lengthy, 0)->key, lengthy);
  EXPECT_EQ(index_.working().Get(lengthy, 3)->version, 1);
  EXPECT_TRUE(index_.working().Get("", 0).has_value());
  index_.Tombstone(lengthy, {5, 0});
  index_.Tombstone("", {6, 0});
  index_.CheckInvariants();
  EXPECT_EQ(index_.live_keys(), 0);
}

TEST_F(KeyIndexGenerations, RevisionsMustAscend) {
  index_.Put("foo", {5, 1});
  EXPECT_DEATH(index_.Put("bar", {5, 1}), "does not ascend");
  EXPECT_DEATH(index_.Tombstone("foo", {4, 7}), "does not ascend");
}

}  // namespace
}  // namespace kvorum::mvcc
