// When the state had which entry.
#include "server/archive/place_marks.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/manual_clock.h"

namespace kvorum::server {
namespace {

using archive::TimeMark;
using std::chrono::milliseconds;

class PlaceMarksTest : public testing::Test {
 protected:
  PlaceMarksTest() { marks_.Begin(10, 5); }
  std::int64_t NowMs() const { return clock_.WallNanos() / 1'000'000; }

  ManualClock clock_;
  PlaceMarks marks_{clock_};
};

TEST_F(PlaceMarksTest, TheStartIsOne) {
  EXPECT_EQ(marks_.Newest(), (TimeMark{.index = 10, .time_ms = NowMs(), .revision = 5}));
  EXPECT_EQ(marks_.Behind(9, 10).size(), 1U);
  EXPECT_TRUE(marks_.Behind(10, 10).empty());
}

TEST_F(PlaceMarksTest, ThereIsOneForFiftyMilliseconds) {
  for (int i = 1; i <= 100; ++i) {
    marks_.Applied(raft::Index(10 + static_cast<std::uint64_t>(i)), 5 + i);
    clock_.Advance(milliseconds(10));
  }
  const auto marks = marks_.Behind(10, 1'000);
  EXPECT_EQ(marks.size(), 21U) << "and the last place";
  for (std::size_t i = 1; i + 1 < marks.size(); ++i) {
    EXPECT_EQ(marks[i].time_ms - marks[i - 1].time_ms, 50);
    EXPECT_EQ(marks[i].index - marks[i - 1].index, 5U);
    EXPECT_EQ(marks[i].revision, static_cast<std::int64_t>(marks[i].index.value()) - 5);
  }
  EXPECT_EQ(marks.back().index, 110U);
  EXPECT_EQ(marks_.Behind(10, 3).size(), 3U);
  EXPECT_EQ(marks_.Behind(10, 3).front(), marks.front()) << "the oldest ones first";
}

TEST_F(PlaceMarksTest, TheLastPlaceIsOneWhenItIsAskedFor) {
  marks_.Applied(11, 6);
  clock_.Advance(milliseconds(1));
  marks_.Applied(12, 7);
  const std::int64_t applied_ms = NowMs();
  clock_.Advance(milliseconds(1'000));
  EXPECT_EQ(marks_.Newest(), (TimeMark{.index = 12, .time_ms = applied_ms, .revision = 7}));
  clock_.Advance(milliseconds(1'000));
  EXPECT_EQ(marks_.Behind(11, 10).size(), 1U) << "a place has one";
}

TEST_F(PlaceMarksTest, OldOnesAreThinnedOut) {
  for (std::uint64_t i = 1; i <= 3 * PlaceMarks::kMaxMarks; ++i) {
    marks_.Applied(raft::Index(10 + i), 5);
    clock_.Advance(PlaceMarks::kSpacing);
  }
  const auto marks = marks_.Behind(0, 10 * PlaceMarks::kMaxMarks);
  EXPECT_LE(marks.size(), PlaceMarks::kMaxMarks);
  EXPECT_GE(marks.size(), PlaceMarks::kMaxMarks / 2);
  EXPECT_EQ(marks.back().index, 10 + 3 * PlaceMarks::kMaxMarks);
  EXPECT_LE(marks.front().index, 20U);
}

TEST_F(PlaceMarksTest, WhatIsForgottenIsNotAskedForAgain) {
  for (std::uint64_t i = 1; i <= 100; ++i) {
    clock_.Advance(PlaceMarks::kSpacing);
    marks_.Applied(raft::Index(10 + i), 5);
  }
  marks_.Forget(60);
  const auto marks = marks_.Behind(0, 1'000);
  EXPECT_EQ(marks.front().index, 60U);
  EXPECT_EQ(marks.size(), 51U);
  marks_.Forget(1'000);
  EXPECT_EQ(marks_.Newest().index, 110U);
}

TEST_F(PlaceMarksTest, TimesAreThoseOfTheClockAsItIsSet) {
  clock_.Advance(milliseconds(60));
  marks_.Applied(11, 6);
  const std::int64_t before_ms = marks_.Newest().time_ms;
  clock_.JumpWall(-milliseconds(500));
  clock_.Advance(milliseconds(60));
  marks_.Applied(12, 7);
  EXPECT_EQ(marks_.Newest().time_ms, before_ms - 440);
}

}  // namespace
}  // namespace kvorum::server
