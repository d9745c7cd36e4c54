#include "tools/run/load_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <future>
#include <sstream>
#include <utility>

#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"

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
  EXPECT_EQ(ByteProgress(0, 20, 0).text, "0 B of 20 B") << "no rate is known yet";
  EXPECT_EQ(ByteProgress(20, 20, 2).text, "20 B of 20 B, 10 B/s");
  EXPECT_DOUBLE_EQ(ByteProgress(30, 20, 1).share, 1);
}

TEST(StepProgressTest, AStepOfUnknownSizeHasItsNameAlone) {
  StepProgress progress;
  const datadir::OnProgress tell = progress.Callback();
  tell("reading the log", 0, 0);
  EXPECT_EQ(progress.State().text, "reading the log");
  tell("copying", 5, 20);
  EXPECT_THAT(progress.State().text, testing::StartsWith("copying 5 B of 20 B"));
  EXPECT_DOUBLE_EQ(progress.State().share, 0.25);
}

TEST(ProgressBarTest, WorkThatIsDoneBeforeTheDelayDrawsNothing) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  World world{.in = in, .out = out, .err = err, .environment = {}, .err_is_terminal = true};
  {
    const ProgressBar bar(world, [] { return ProgressBar::State{}; }, std::chrono::hours(1));
  }
  EXPECT_EQ(err.str(), "");
  std::promise<void> asked;
  {
    const ProgressBar bar(world, [&asked, first = true]() mutable {
      if (std::exchange(first, false)) asked.set_value();
      return ProgressBar::State{.share = 1, .text = "done"};
    });
    asked.get_future().wait();
  }
  EXPECT_THAT(err.str(), testing::HasSubstr("100% done"));
}

}  // namespace
}  // namespace kvorum::ctl
