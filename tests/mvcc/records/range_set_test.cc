#include "mvcc/records/range_set.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.h"

namespace kvorum::mvcc {
namespace {

constexpr std::string_view kOpen{"\0", 1};

TEST(RangeSetTest, HoldsSingleKeysAndRanges) {
  RangeSet set;
  set.Add(KeyRange("b", {}));
  set.Add(KeyRange("d", "f"));
  EXPECT_FALSE(set.Contains("a"));
  EXPECT_TRUE(set.Contains("b"));
  EXPECT_FALSE(set.Contains(std::string_view("b\0", 2)));
  EXPECT_TRUE(set.Contains("d"));
  EXPECT_TRUE(set.Contains("e"));
  EXPECT_FALSE(set.Contains("f"));
}

TEST(RangeSetTest, AnOpenRangeHoldsEverythingAfterItsBegin) {
  RangeSet set;
  set.Add(KeyRange("m", kOpen));
  EXPECT_FALSE(set.Contains("l"));
  EXPECT_TRUE(set.Contains("m"));
  EXPECT_TRUE(set.Contains("\xff\xff"));
}

TEST(RangeSetTest, AnInvertedRangeIsEmpty) {
  RangeSet set;
  set.Add(KeyRange("m", "a"));
  set.Add(KeyRange("m", "m"));
  EXPECT_EQ(set.size(), 0U);
}

// Random ranges against the list of them.
TEST(RangeSetTest, AnswersAsTheListOfItsRangesDoes) {
  Rng rng(7);
  std::vector<std::string> keys;
  for (char c = 'a'; c <= 'h'; ++c) {
    keys.emplace_back(1, c);
    keys.push_back(std::string(1, c) + '\0');
    keys.push_back(std::string(1, c) + 'x');
  }
  for (int round = 0; round < 2000; ++round) {
    RangeSet one;
    RangeSet other;
    std::vector<KeyRange> ranges;
    for (std::uint64_t n = rng.Below(6); n > 0; --n) {
      const std::string_view begin = keys[rng.Below(keys.size())];
      const std::uint64_t kind = rng.Below(8);
      const std::string_view end = kind == 0  ? kOpen
                                   : kind < 4 ? std::string_view()
                                              : std::string_view(keys[rng.Below(keys.size())]);
      ranges.emplace_back(begin, end);
      (rng.OneIn(2) ? one : other).Add(ranges.back());
    }
    one.Merge(std::move(other));
    for (const std::string& key : keys) {
      bool expected = false;
      for (const KeyRange& range : ranges) expected = expected || range.Contains(key);
      ASSERT_EQ(one.Contains(key), expected) << "round " << round << ", key " << key;
    }
  }
}

}  // namespace
}  // namespace kvorum::mvcc
