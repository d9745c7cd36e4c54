#include "watch/due_list.h"

#include <gtest/gtest.h>

#include <optional>

namespace kvorum::watch {
namespace {

constexpr TimePoint At(std::int64_t s) { return {s * 1'000'000'000}; }

TEST(DueListTest, ItemsComeInTheOrderOfTheirTimes) {
  DueList<int> list;
  int a = 0;
  int b = 0;
  int c = 0;
  list.Add(c, At(3));
  list.Add(a, At(1));
  list.Add(b, At(1));
  EXPECT_EQ(list.PopDue(At(0)), nullptr);
  EXPECT_EQ(list.PopDue(At(2)), &a);
  EXPECT_EQ(list.PopDue(At(2)), &b);
  EXPECT_EQ(list.PopDue(At(2)), nullptr);
  EXPECT_EQ(list.PopDue(At(3)), &c);
  EXPECT_TRUE(list.empty());
}

TEST(DueListTest, OneOfTwoDueAtOnceLeaves) {
  DueList<int> list;
  int a = 0;
  int b = 0;
  list.Add(a, At(1));
  list.Add(b, At(1));
  list.Remove(b, At(1));
  list.Remove(a, At(2));  // not there
  EXPECT_EQ(list.PopDue(At(1)), &a);
  EXPECT_TRUE(list.empty());
}

TEST(DueListTest, ATimerIsSetOnlyWhereItComesSooner) {
  DueList<int> list;
  int a = 0;
  EXPECT_EQ(list.NewTimer(), std::nullopt);
  list.Add(a, At(5));
  EXPECT_EQ(list.NewTimer(), At(5));
  EXPECT_EQ(list.NewTimer(), std::nullopt);
  list.Add(a, At(7));
  EXPECT_EQ(list.NewTimer(), std::nullopt);
  list.Add(a, At(3));
  EXPECT_EQ(list.NewTimer(), At(3));
  EXPECT_TRUE(list.OnTimer(At(3)));
  EXPECT_FALSE(list.OnTimer(At(5))) << "it was replaced";
  (void)list.PopDue(At(3));
  EXPECT_EQ(list.NewTimer(), At(5));
}

}  // namespace
}  // namespace kvorum::watch
