#include "base/pace.h"

#include <gtest/gtest.h>

namespace kvorum {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(Pace, WithoutALimitTheNextPieceIsDueAtOnce) {
  Pace pace(0);
  const TimePoint now = TimePoint{} + seconds(5);
  EXPECT_EQ(pace.After(now, 100 * kMiB), now);
}

TEST(Pace, APieceTakesItsShareOfTheTime) {
  Pace pace(10 * kMiB);
  const TimePoint begun = TimePoint{} + seconds(5);
  EXPECT_EQ(pace.After(begun, kMiB), begun + milliseconds(100));
  EXPECT_EQ(pace.After(begun + milliseconds(100), 25 * kMiB), begun + milliseconds(2600));
}

TEST(Pace, APieceThatWasBegunEarlyWaitsBehindTheOneBefore) {
  Pace pace(kMiB);
  const TimePoint begun = TimePoint{} + seconds(5);
  pace.After(begun, kMiB);
  EXPECT_EQ(pace.After(begun, kMiB), begun + seconds(2));
}

TEST(Pace, TimeThatWasNotUsedIsNotSavedUp) {
  Pace pace(kMiB);
  const TimePoint begun = TimePoint{} + seconds(5);
  pace.After(begun, kMiB);
  EXPECT_EQ(pace.After(begun + seconds(60), kMiB), begun + seconds(61));
}

TEST(Pace, NoLimitIsTooHighAndNoPieceTooLargeToCompute) {
  const TimePoint begun = TimePoint{} + seconds(5);
  Pace high(UINT64_MAX);
  EXPECT_EQ(high.After(begun, kMiB), begun);
  Pace low(kMiB);
  EXPECT_EQ(low.After(begun, kMiB * 1'000'000), begun + seconds(1'000'000));
}

}  // namespace
}  // namespace kvorum
