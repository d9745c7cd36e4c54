// A share of a processor, counted in a time of the test's own.
#include "auth/cpu_budget.h"

#include <gtest/gtest.h>

namespace kvorum::auth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{1'000};
const CpuBudget::Options kTenth{.share = 0.1, .burst = milliseconds(200)};

TEST(CpuBudgetTest, ABurstIsThereAtTheStartAndThenTheShare) {
  CpuBudget budget(kTenth, kStart);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(budget.IsOpen(kStart)) << i;
    budget.Spend(milliseconds(60), kStart);
  }
  EXPECT_FALSE(budget.IsOpen(kStart)) << "40 ms too much";
  EXPECT_FALSE(budget.IsOpen(kStart + milliseconds(400)));
  EXPECT_TRUE(budget.IsOpen(kStart + milliseconds(401)));
}

TEST(CpuBudgetTest, SaysWhenToComeAgain) {
  CpuBudget budget(kTenth, kStart);
  EXPECT_EQ(budget.UntilOpen(kStart), Duration{});
  budget.Spend(milliseconds(260), kStart);
  const Duration wait = budget.UntilOpen(kStart);
  EXPECT_GE(wait, milliseconds(600));
  EXPECT_LE(wait, milliseconds(601));
  EXPECT_TRUE(budget.IsOpen(kStart + wait + milliseconds(1)));
}

TEST(CpuBudgetTest, NoMoreThanABurstIsSavedUp) {
  CpuBudget budget(kTenth, kStart);
  const TimePoint later = kStart + seconds(100'000);
  budget.Spend(milliseconds(200), later);
  EXPECT_FALSE(budget.IsOpen(later));
}

TEST(CpuBudgetTest, OverLongTimesNoMoreThanTheShareIsTaken) {
  CpuBudget budget(kTenth, kStart);
  Duration taken{};
  TimePoint now = kStart;
  for (const TimePoint end = kStart + seconds(60); now < end; now = now + milliseconds(7)) {
    if (!budget.IsOpen(now)) continue;
    budget.Spend(milliseconds(70), now);
    taken += milliseconds(70);
  }
  EXPECT_GE(taken, seconds(6));
  EXPECT_LE(taken, seconds(6) + milliseconds(200 + 70));
}

TEST(CpuBudgetTest, WithoutABurstThereIsNone) {
  CpuBudget budget({}, kStart);
  EXPECT_FALSE(budget.IsOpen(kStart + seconds(10)));
  EXPECT_GE(budget.UntilOpen(kStart), seconds(1));
}

TEST(CpuBudgetTest, AClockThatStandsOrGoesBackGivesNothing) {
  CpuBudget budget(kTenth, kStart);
  budget.Spend(milliseconds(300), kStart);
  EXPECT_FALSE(budget.IsOpen({0}));
}

}  // namespace
}  // namespace kvorum::auth
