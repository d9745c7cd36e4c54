#include "base/log/log_rate.h"

#include <gtest/gtest.h>

namespace kvorum {
namespace {

TEST(LogRateTest, TheOthersOfASecondAreCounted) {
  LogRate rate;
  TimePoint now = TimePoint() + std::chrono::hours(1);
  for (int i = 0; i < LogRate::kLinesPerSecond; ++i) EXPECT_TRUE(rate.Takes(now));
  EXPECT_EQ(rate.TakeSuppressed(), 0U);
  now = now + std::chrono::milliseconds(999);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(rate.Takes(now));
  now = now + std::chrono::milliseconds(1);
  EXPECT_TRUE(rate.Takes(now));
  EXPECT_EQ(rate.TakeSuppressed(), 3U);
  EXPECT_EQ(rate.TakeSuppressed(), 0U);
}

}  // namespace
}  // namespace kvorum
