#include "tools/load_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tools/progress_bar.h"

namespace kvorum::ctl {
namespace {

using namespace std::chrono_literals;

TEST(PacerTest, MomentsAreAsFarApartAsTheRateAsks) {
  const Pacer::TimePoint start{};
  Pacer pacer(100, 5, start);
  EXPECT_EQ(pacer.Next(start), start);
  EXPECT_EQ(pacer.Next(start), start + 10ms);
  EXPECT_EQ(pacer.Next(start), start + 20ms);
}

TEST(PacerTest, AfterAStallAsManyAreMadeUpForAsThereAreClients) {
  const Pacer::TimePoint start{};
  Pacer pacer(100, 5, start);
  const Pacer::TimePoint late = start + 10s;
  EXPECT_EQ(pacer.Next(late), late - 50ms);
  for (int i = 0; i < 5; ++i) pacer.Next(late);
  EXPECT_EQ(pacer.Next(late), late + 10ms);
}

TEST(LoadResultsTest, MergedResultsAreThoseOfAllValuesTogether) {
  LoadResults left;
  LoadResults right;
  LoadResults whole;
  for (const double value : {0.1, 0.2, 0.4}) left.Add(value), whole.Add(value);
  for (const double value : {0.3, 1.5}) right.Add(value), whole.Add(value);
  right.Add("no");
  left.Merge(right);
  left.Merge(LoadResults());
  EXPECT_EQ(left.succeeded, 5);
  EXPECT_EQ(left.slowest_s, 1.5);
  EXPECT_NEAR(left.Deviation(), whole.Deviation(), 1e-12);
  // sqrt(mean of squares - square of mean)
  EXPECT_NEAR(left.Deviation(), std::sqrt((0.01 + 0.04 + 0.16 + 0.09 + 2.25) / 5 - 0.25), 1e-12);
  EXPECT_EQ(left.errors, (std::map<std::string, std::uint64_t>{{"no", 1}}));
}

TEST(LoadResultsTest, WithoutASuccessThereIsNoDeviation) {
  EXPECT_TRUE(std::isnan(LoadResults().Deviation()));
}

TEST(ProgressBarTest, TheLineGrowsWithTheShare) {
  const std::string none = ProgressLine({.share = 0, .text = "0 keys"});
  EXPECT_EQ(none, "[>" + std::string(49, ' ') + "]   0% 0 keys");
  EXPECT_EQ(ProgressLine({.share = 0.5, .text = ""}),
            "[" + std::string(25, '=') + ">" + std::string(24, ' ') + "]  50% ");
  EXPECT_EQ(ProgressLine({.share = 1.2, .text = ""}), "[" + std::string(50, '=') + "] 100% ");
}

TEST(ProgressLineTest, BytesHaveARateAndATimeLeft) {
  const ProgressBar::State half = ByteProgress(10'000'000, 20'000'000, 2);
  EXPECT_DOUBLE_EQ(half.share, 0.5);
  EXPECT_EQ(half.text, "10 MB of 20 MB, 5.0 MB/s, 2 s left");
  EXPECT_EQ(ByteProgress(0, 20, 0).text, "0 B of 20 B, 0 B/s, 0 s left");
  EXPECT_DOUBLE_EQ(ByteProgress(30, 20, 1).share, 1);
}

}  // namespace
}  // namespace kvorum::ctl
