#include "base/sort_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/rng.h"

namespace kvorum {
namespace {

TEST(SortHeadTest, HeadsAreInTheOrderOfTheTexts) {
  const std::vector<std::string> texts = {"a",        "ab",       std::string("ab\0", 3),
                                          "ab\x01",   "abcdefgh", "abcdefghi",
                                          "abcdefgi", "b",        "b\xff"};
  for (std::size_t i = 1; i < texts.size(); ++i)
    EXPECT_LE(SortHead(texts[i - 1], 0), SortHead(texts[i], 0)) << i;
  EXPECT_EQ(SortHead("prefix", 6), 0U);
  EXPECT_EQ(SortHead("xabcdefgh", 1), SortHead("abcdefghi", 0));
  EXPECT_LT(SortHead("\x7f", 0), SortHead("\x80", 0));
}

TEST(SortHeadTest, HeadsBelowIsTheLowerBound) {
  Rng rng(7);
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<std::uint64_t> heads;
    for (std::size_t i = 0; i < size; ++i) heads.push_back(2 * rng.Below(size) + 2);
    std::ranges::sort(heads);
    for (std::uint64_t head = 0; head < 2 * size + 6; ++head) {
      EXPECT_EQ(HeadsBelow(heads, head),
                static_cast<std::size_t>(std::ranges::lower_bound(heads, head) - heads.begin()))
          << size << " " << head;
    }
  }
}

}  // namespace
}  // namespace kvorum
