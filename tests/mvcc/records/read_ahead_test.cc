#include "mvcc/records/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace kvorum::mvcc {
namespace {

ReadAhead::Pages Follow(ReadAhead& ahead, std::uintptr_t page, std::size_t bytes = 100,
                        std::size_t offset = 0) {
  return ahead.Follow(
      {reinterpret_cast<const char*>(page * ReadAhead::kPageBytes + offset), bytes});
}

TEST(ReadAheadTest, NothingIsAskedForWithinAPageOrAfterAJump) {
  ReadAhead ahead;
  EXPECT_EQ(Follow(ahead, 5000).count, 0U);
  EXPECT_EQ(Follow(ahead, 5000, 50, 100).count, 0U);
  EXPECT_EQ(Follow(ahead, 9000).count, 0U);
  EXPECT_EQ(Follow(ahead, 8999).count, 0U) << "backwards";
  EXPECT_EQ(Follow(ahead, 8990).count, 0U);
}

TEST(ReadAheadTest, AValueOfSeveralPagesIsFetchedAsAWhole) {
  ReadAhead ahead;
  for (const std::uintptr_t page : {9'000U, 5'000U, 70'000U}) {
    const ReadAhead::Pages pages = Follow(ahead, page, 60'000, 16);
    EXPECT_EQ(pages.first, page);
    EXPECT_EQ(pages.count, 15U);
  }
}

// With any steps, the bytes have been asked for before the walk comes to them, once, but for
// the first page.
TEST(ReadAheadTest, AWalkForwardIsAlwaysBehindWhatIsFetched) {
  for (const std::uintptr_t step : {1U, 2U, 15U, 64U, 400U}) {
    ReadAhead ahead;
    const std::size_t bytes = step > 2 ? (step - 1) * ReadAhead::kPageBytes : 100;
    std::uintptr_t until = 0;
    std::size_t largest = 0;
    std::size_t asked = 0;
    for (std::uintptr_t page = 1'000'000; page < 1'100'000; page += step) {
      const ReadAhead::Pages pages = Follow(ahead, page, bytes);
      if (pages.count != 0) {
        EXPECT_GE(pages.first, until) << "nothing twice";
        EXPECT_LE(pages.count, ReadAhead::kMostPages);
        until = pages.first + pages.count;
        largest = std::max(largest, pages.count);
        ++asked;
      }
      if (page == 1'000'000) continue;
      EXPECT_GE(until, page + bytes / ReadAhead::kPageBytes) << step;
      EXPECT_LE(until, page + step + 2 * ReadAhead::kMostPages);
    }
    EXPECT_EQ(largest, ReadAhead::kMostPages);
    EXPECT_LT(asked, 220U);
  }
}

TEST(ReadAheadTest, AJumpBeginsSmallAgain) {
  ReadAhead ahead;
  for (std::uintptr_t page = 1'000; page < 9'000; ++page) Follow(ahead, page);
  EXPECT_EQ(Follow(ahead, 20'000).count, 0U);
  const ReadAhead::Pages pages = Follow(ahead, 20'001);
  EXPECT_EQ(pages.first, 20'001U);
  EXPECT_EQ(pages.count, 16U);
}

}  // namespace
}  // namespace kvorum::mvcc
