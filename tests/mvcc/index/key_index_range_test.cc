// Ranges: which keys, in which order, how many, at which revision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "mvcc/index/index_arena.h"
#include "mvcc/index/index_node.h"
#include "mvcc/index/key_index.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Keys = std::vector<std::string>;

Keys Downwards(const IndexView& view, KeyRange range, std::int64_t revision = 0) {
  Keys keys;
  for (auto cursor = view.Cursor(range, revision, IndexCursor::Direction::kDown); cursor.valid();
       cursor.Next())
    keys.emplace_back(cursor.item().key);
  return keys;
}

class KeyIndexRange : public ::testing::Test {
 protected:
  void Put(std::string_view key) { index_.Put(key, {++revision_, 0}); }
  void Delete(std::string_view key) { index_.Tombstone(key, {++revision_, 0}); }
  void PutNumbers(int count) {
    for (int i = 0; i < count; ++i) Put(Number(i));
  }
  static std::string Number(int number) {
    std::string digits = std::to_string(number);
    return "key/" + std::string(6 - digits.size(), '0') + digits;
  }
  Keys Visit(std::string_view key, std::string_view end, std::int64_t revision = 0) const {
    Keys keys;
    index_.working().Visit(KeyRange(key, end), revision, [&](const IndexItem& item) {
      keys.emplace_back(item.key);
      return true;
    });
    EXPECT_EQ(index_.working().Count(KeyRange(key, end), revision),
              static_cast<std::int64_t>(keys.size()));
    return keys;
  }

  KeyIndex index_;
  std::int64_t revision_ = 1;
};

TEST_F(KeyIndexRange, OfAnEmptyIndexIsEmpty) {
  EXPECT_THAT(Visit("", kOpenEnd), IsEmpty());
  EXPECT_THAT(Visit("a", ""), IsEmpty());
  EXPECT_THAT(Visit("a", "b"), IsEmpty());
  EXPECT_EQ(IndexView().Count(KeyRange("", kOpenEnd), 0), 0);
  EXPECT_EQ(IndexSnapshot()->Get("a", 0), std::nullopt);
}

TEST_F(KeyIndexRange, IncludesItsBeginAndExcludesItsEnd) {
  for (const char* key : {"b", "a", "d", "c"}) Put(key);
  EXPECT_THAT(Visit("b", "d"), ElementsAre("b", "c"));
  EXPECT_THAT(Visit("aa", "cc"), ElementsAre("b", "c"));
  EXPECT_THAT(Visit("e", "z"), IsEmpty());
}

TEST_F(KeyIndexRange, WithoutEndIsTheOneKey) {
  Put("a");
  Put("ab");
  EXPECT_THAT(Visit("a", ""), ElementsAre("a"));
  EXPECT_THAT(Visit("b", ""), IsEmpty());
}

TEST_F(KeyIndexRange, WithAZeroByteAsEndHasNone) {
  for (const char* key : {"b", "a", "\xff\xff"}) Put(key);
  EXPECT_THAT(Visit("b", kOpenEnd), ElementsAre("b", "\xff\xff"));
  EXPECT_THAT(Visit("", kOpenEnd), ElementsAre("a", "b", "\xff\xff"));
}

TEST_F(KeyIndexRange, ThatEndsBeforeItBeginsIsEmpty) {
  PutNumbers(1000);
  EXPECT_THAT(Visit(Number(500), Number(400)), IsEmpty());
  EXPECT_THAT(Visit(Number(500), Number(500)), IsEmpty());
  EXPECT_THAT(Downwards(index_.working(), KeyRange(Number(500), Number(400))), IsEmpty());
}

TEST_F(KeyIndexRange, ComparesBytesAsUnsigned) {
  const std::string zero("a\0", 2);
  for (const std::string& key :
       {std::string("a\x80"), std::string("a"), zero, std::string("a\x7f")}) {
    Put(key);
  }
  EXPECT_THAT(Visit("", kOpenEnd), ElementsAre("a", zero, "a\x7f", "a\x80"));
  EXPECT_THAT(Visit(zero, "a\x80"), ElementsAre(zero, "a\x7f"));
}

TEST_F(KeyIndexRange, StepsOverWhatDoesNotLiveAtTheRevision) {
  Put("a");     // 2
  Put("b");     // 3
  Delete("a");  // 4
  Put("c");     // 5
  Put("a");     // 6
  EXPECT_THAT(Visit("", kOpenEnd, 2), ElementsAre("a"));
  EXPECT_THAT(Visit("", kOpenEnd, 3), ElementsAre("a", "b"));
  EXPECT_THAT(Visit("", kOpenEnd, 4), ElementsAre("b"));
  EXPECT_THAT(Visit("", kOpenEnd, 5), ElementsAre("b", "c"));
  EXPECT_THAT(Visit("", kOpenEnd, 99), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Visit("", kOpenEnd, -1), ElementsAre("a", "b", "c"));
}

TEST_F(KeyIndexRange, StopsWhenTheVisitorHasEnough) {
  PutNumbers(10'000);
  Keys keys;
  index_.working().Visit(KeyRange(Number(4999), kOpenEnd), 0, [&](const IndexItem& item) {
    keys.emplace_back(item.key);
    return keys.size() < 3;
  });
  EXPECT_THAT(keys, ElementsAre(Number(4999), Number(5000), Number(5001)));
}

TEST_F(KeyIndexRange, GoesDownwardsFromItsEnd) {
  PutNumbers(10'000);
  Delete(Number(5999));
  const auto down = [this](std::string from, std::string to) {
    return Downwards(index_.working(), KeyRange(from, to));
  };
  EXPECT_THAT(down(Number(5997), Number(6001)),
              ElementsAre(Number(6000), Number(5998), Number(5997)));
  EXPECT_THAT(down(Number(9998), std::string(kOpenEnd)), ElementsAre(Number(9999), Number(9998)));
  EXPECT_THAT(down(Number(7), ""), ElementsAre(Number(7)));
}

TEST_F(KeyIndexRange, CountsWithoutDeletedKeysAndAtOldRevisions) {
  PutNumbers(5000);
  const std::int64_t before = revision_;
  for (int i = 0; i < 5000; i += 10) Delete(Number(i));
  for (int i = 1; i < 5000; i += 100) Put(Number(i));
  const auto view = index_.working();
  const std::string begin = Number(100);
  const std::string end = Number(4900);
  EXPECT_EQ(view.Count(KeyRange("", kOpenEnd), 0), 4500);
  EXPECT_EQ(view.Count(KeyRange(begin, end), 0), 4320);
  EXPECT_EQ(view.Count(KeyRange(begin, end), before), 4800);
  EXPECT_EQ(view.Count(KeyRange("", kOpenEnd), before), 5000);
  EXPECT_EQ(view.Count(KeyRange("", kOpenEnd), before / 2), before / 2 - 1);
  EXPECT_EQ(index_.live_keys(), 4500);
}

TEST_F(KeyIndexRange, ACursorCanBePutAsideAndGoneOnWith) {
  PutNumbers(300);
  index_.Publish({.current_revision = revision_});
  const auto snapshot = index_.Snapshot();
  auto cursor = snapshot->Cursor(KeyRange("", kOpenEnd), 0);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(cursor.valid());
    EXPECT_EQ(cursor.item().key, Number(i));
    Delete(Number(i));
    if (i % 7 == 0) index_.Publish({.current_revision = revision_});
    cursor.Next();
  }
  EXPECT_FALSE(cursor.valid());
}

// --- What is left out ---

// A tree of four leaves whose second and third are said to be hidden and do not exist: a walk that
// goes there ends the process.
class KeyIndexWithHiddenLeaves : public ::testing::Test {
 protected:
  KeyIndexWithHiddenLeaves() {
    Fill(first_, {{"a", {2, 0}, true}, {"b", {3, 0}, true}});
    Fill(last_, {{"x", {4, 0}, true}, {"y", {5, 0}, false}});
    AddLeaf(first_);
    AddHidden("g", {.live = 0, .newest = 5, .oldest = 2});
    AddHidden("h", {.live = 2, .newest = 9, .oldest = 8});
    AddLeaf(last_);
  }
  struct Item {
    const char* key;
    Revision revision;
    bool tombstone;
  };
  void Fill(index::Leaf& leaf, const std::vector<Item>& items) {
    for (const Item& item : items) {
      index::InsertEntry(
          leaf, leaf.count(),
          index::NewEntry(arena_, index::Entry::kFirst, item.revision, item.tombstone, item.key));
    }
  }
  void AddLeaf(index::Leaf& leaf) {
    index::InsertChild(root_, root_.count(), {&leaf, index::Summarize(leaf)});
  }
  void AddHidden(const char* key, index::Summary summary) {
    Fill(named_, {{key, {2, 0}, true}});
    index::InsertChild(root_, root_.count(), {&named_, summary});
    index::RemoveSlots(named_, 0, 1);
    root_.child(root_.count() - 1).node = nullptr;
  }
  IndexView view() const { return {&root_, 2}; }

  index::Arena arena_;
  index::Leaf first_{};
  index::Leaf named_{};
  index::Leaf last_{};
  index::Inner root_{};
};

TEST_F(KeyIndexWithHiddenLeaves, AWalkUpOrDownGoesToNone) {
  Keys keys;
  const auto collect = [&](const IndexItem& item) {
    keys.emplace_back(item.key);
    return true;
  };
  view().Visit(KeyRange("", kOpenEnd), 6, collect);
  EXPECT_THAT(keys, ElementsAre("y"));
  EXPECT_THAT(Downwards(view(), KeyRange("a", kOpenEnd), 6), ElementsAre("y"));
  EXPECT_THAT(Downwards(view(), KeyRange("a", "xx"), 6), IsEmpty());
}

TEST_F(KeyIndexWithHiddenLeaves, ACountGoesToNone) {
  EXPECT_EQ(view().Count(KeyRange("", kOpenEnd), 6), 1);
  EXPECT_EQ(view().CountExamined(KeyRange("", kOpenEnd), 6, 1'000), 1);
}

// Its live keys are dead at the newest revision, and a page of it has one row.
TEST_F(KeyIndexRange, AWalkAtAnOldRevisionExaminesWhatHasChangedSince) {
  PutNumbers(5000);
  const std::int64_t all = revision_;
  for (int i = 0; i < 5000; ++i) Delete(Number(i));
  const KeyRange everything("", kOpenEnd);
  EXPECT_EQ(index_.working().CountExamined(everything, all, 100'000), 5000);
  EXPECT_EQ(index_.working().CountExamined(everything, 0, 100'000), 0);
  const std::int64_t enough = index_.working().CountExamined(everything, all, 1000);
  EXPECT_GE(enough, 1000);
  EXPECT_LT(enough, 1100) << "it stops there";
  EXPECT_EQ(index_.working().CountExamined(KeyRange(Number(10), Number(20)), all, 1000), 10);
  EXPECT_EQ(index_.working().CountExamined(KeyRange(Number(10), ""), all, 1000), 1);
}

}  // namespace
}  // namespace kvorum::mvcc
