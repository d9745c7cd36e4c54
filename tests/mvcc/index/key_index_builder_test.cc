// Restoring the index from the backend's records.
#include "mvcc/index/key_index_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "tests/mvcc/key_index_model.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {
namespace {

using IndexRecord = KeyIndexBuilder::Record;

std::unique_ptr<KeyIndex> Build(const std::vector<IndexRecord>& records,
                                std::size_t chunk_size = 1000, IndexMark mark = {}) {
  KeyIndexBuilder builder;
  for (std::size_t at = 0; at < records.size(); at += chunk_size) {
    auto& chunk = builder.AddChunk();
    for (std::size_t i = at; i < std::min(records.size(), at + chunk_size); ++i) {
      EXPECT_TRUE(chunk.Add(records[i]).has_value());
    }
    chunk.Finish();
  }
  auto index = builder.Build(mark);
  EXPECT_TRUE(index.has_value());
  (*index)->CheckInvariants();
  return std::move(*index);
}

std::string ErrorOf(const std::vector<IndexRecord>& records) {
  KeyIndexBuilder::Chunk chunk;
  for (const IndexRecord& record : records) {
    if (const auto added = chunk.Add(record); !added.has_value()) return added.error().message;
  }
  return "";
}

TEST(KeyIndexBuilder, OfNothingMakesAnEmptyIndex) {
  const auto index = Build({});
  EXPECT_TRUE(index->Snapshot().view().empty());
  KeyIndexBuilder builder;
  builder.AddChunk();
  EXPECT_TRUE((*builder.Build({}))->working().empty());
}

TEST(KeyIndexBuilder, PublishesWhatItBuilds) {
  const auto index = Build({{.key = "a", .revision = {7, 1}, .create_revision = 3, .version = 4}},
                           10, {.current_revision = 9, .compact_revision = 5});
  const auto snapshot = index->Snapshot();
  EXPECT_EQ(snapshot.mark().current_revision, 9);
  EXPECT_EQ(snapshot.mark().compact_revision, 5);
  const auto item = snapshot->Get("a", 0);
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(item->modified, (Revision{7, 1}));
  EXPECT_EQ(item->created, 3);
  EXPECT_EQ(item->version, 4);
}

TEST(KeyIndexBuilder, TakesTheBeginningOfACompactedGenerationFromItsOldestRecord) {
  const auto index = Build({{.key = "a", .revision = {7, 0}, .create_revision = 3, .version = 4},
                            {.key = "a", .revision = {9, 0}, .create_revision = 3, .version = 5}});
  EXPECT_EQ(index->working().Get("a", 8)->version, 4);
  EXPECT_EQ(index->working().Get("a", 8)->created, 3);
  EXPECT_EQ(index->working().Get("a", 9)->version, 5);
  EXPECT_EQ(index->Put("a", {10, 0}).version, 6);
}

TEST(KeyIndexBuilder, KnowsALoneTombstoneThatCompactionLeft) {
  const auto index = Build({{.key = "a", .revision = {7, 0}, .tombstone = true}});
  EXPECT_FALSE(index->working().Get("a", 0).has_value());
  EXPECT_TRUE(index->working().IsKept("a", {7, 0}, 7, KeepRule::kCompaction));
  EXPECT_FALSE(index->working().IsKept("a", {7, 0}, 8, KeepRule::kCompaction));
  EXPECT_EQ(index->Put("a", {8, 0}).version, 1);
  EXPECT_EQ(index->live_keys(), 1);
}

TEST(KeyIndexBuilder, PassesOverATombstoneBehindATombstone) {
  const auto index = Build({{.key = "a", .revision = {7, 0}, .tombstone = true},
                            {.key = "a", .revision = {8, 0}, .tombstone = true}});
  EXPECT_FALSE(index->working().IsKept("a", {8, 0}, 8, KeepRule::kCompaction));
}

TEST(KeyIndexBuilder, RefusesRevisionsThatDoNotAscend) {
  const IndexRecord first{.key = "a", .revision = {7, 3}, .create_revision = 7, .version = 1};
  EXPECT_EQ(ErrorOf({first, first}), "the backend's revisions do not ascend");
  KeyIndexBuilder builder;
  EXPECT_TRUE(builder.AddChunk().Add(first).has_value());
  EXPECT_TRUE(builder.AddChunk().Add(first).has_value());
  const auto built = builder.Build({});
  ASSERT_FALSE(built.has_value());
  EXPECT_EQ(built.error().code, Code::kDataLoss);
}

TEST(KeyIndexBuilder, RefusesRecordsThatNoStoreWrites) {
  EXPECT_NE(ErrorOf({{.key = "a", .revision = {0, 0}, .create_revision = 1, .version = 1}}), "");
  EXPECT_NE(ErrorOf({{.key = "a", .revision = {2, -1}, .create_revision = 2, .version = 1}}), "");
  EXPECT_NE(ErrorOf({{.key = "a", .revision = {2, 1LL << 32}, .create_revision = 2, .version = 1}}),
            "");
  EXPECT_NE(ErrorOf({{.key = "a", .revision = {2, 0}, .create_revision = 3, .version = 1}}), "");
  EXPECT_NE(ErrorOf({{.key = "a", .revision = {2, 0}, .create_revision = 2, .version = 0}}), "");
  EXPECT_EQ(ErrorOf({{.key = "a", .revision = {2, 0}, .create_revision = 2, .version = 1}}), "");
}

TEST(KeyIndexBuilder, KeepsKeysLargerThanItsBlocks) {
  const std::string large(3 * 1024 * 1024, 'x');
  const auto index = Build({{.key = large, .revision = {2, 0}, .create_revision = 2, .version = 1},
                            {.key = "a", .revision = {3, 0}, .create_revision = 3, .version = 1},
                            {.key = large, .revision = {4, 0}, .create_revision = 2, .version = 2},
                            {.key = "", .revision = {5, 0}, .create_revision = 5, .version = 1}});
  EXPECT_EQ(index->working().Get(large, 0)->version, 2);
  EXPECT_EQ(index->working().Count(KeyRange("", kOpenEnd), 0), 3);
}

// A store's life, compacted at some revision, written out and built again: the same answers, in any
// chunks, and the same life afterwards.
TEST(KeyIndexBuilder, MakesWhatTheChangesHadMade) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    KeyIndexModel model;
    const std::uint64_t keys = 1 + rng.Below(2000);
    std::int64_t revision = 1;
    const auto change = [&](KeyIndex* index) {
      const std::string key = "key" + std::to_string(rng.Below(keys));
      ++revision;
      if (rng.OneIn(4)) {
        const auto previous = model.Tombstone(key, {revision, 0});
        if (index != nullptr) {
          EXPECT_EQ(index->Tombstone(key, {revision, 0}), previous);
        }
        return;
      }
      const auto expected = model.Put(key, {revision, 0});
      if (index != nullptr) {
        EXPECT_EQ(index->Put(key, {revision, 0}).version, expected.version);
      }
    };
    for (int i = 0; i < 5000; ++i) change(nullptr);
    const auto floor = static_cast<std::int64_t>(1 + rng.Below(5000));
    const auto index = Build(model.Records(floor), 1 + rng.Below(3000));
    for (int round = 0; round < 3; ++round) {
      for (std::int64_t at = floor; at <= revision; at += (revision - floor) / 5 + 1) {
        EXPECT_EQ(Difference(index->working(), model, KeyRange("", kOpenEnd), at, revision),
                  std::nullopt);
      }
      for (int i = 0; i < 200; ++i) change(index.get());
      index->Publish({.current_revision = revision});
      index->CheckInvariants();
    }
  }
}

}  // namespace
}  // namespace kvorum::mvcc
