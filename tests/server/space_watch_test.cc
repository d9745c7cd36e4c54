// When the alarm is asked for, on an executor that the test runs by hand.
#include "server/replica/space_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/logging.h"
#include "tests/mvcc/manual_executor.h"

namespace kvorum::server {
namespace {

class SpaceWatchTest : public ::testing::Test {
 protected:
  SpaceWatchTest() {
    SetLogLevel(LogLevel::kError);
    watch_.Start();
    RunDue();
  }
  void RunDue() {
    while (executor_.RunOne()) {
    }
  }
  void Wait(std::chrono::seconds time) {
    for (int i = 0; i < time.count(); ++i) {
      clock_.Advance(std::chrono::seconds(1));
      RunDue();
    }
  }
  void Answer() {
    (*std::exchange(answered_, std::nullopt))();
    RunDue();
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  bool has_space_ = true;
  bool alarm_stands_ = false;
  int raised_ = 0;
  std::optional<Task> answered_;
  SpaceWatch watch_{executor_,
                    {.has_space = [this] { return has_space_; },
                     .alarm_stands = [this] { return alarm_stands_; },
                     .raise =
                         [this](Task answered) {
                           ++raised_;
                           answered_ = std::move(answered);
                         }}};
};

TEST_F(SpaceWatchTest, TheAlarmIsAskedForWithinASecondAndOnce) {
  Wait(std::chrono::seconds(5));
  EXPECT_EQ(raised_, 0);
  has_space_ = false;
  Wait(std::chrono::seconds(1));
  EXPECT_EQ(raised_, 1);
  Wait(std::chrono::seconds(60));
  EXPECT_EQ(raised_, 1) << "there is no leader, for one";
  alarm_stands_ = true;
  Answer();
  Wait(std::chrono::seconds(60));
  EXPECT_EQ(raised_, 1);
}

TEST_F(SpaceWatchTest, AProposalThatCameToNothingIsMadeAgain) {
  has_space_ = false;
  Wait(std::chrono::seconds(1));
  Answer();
  Wait(std::chrono::seconds(1));
  EXPECT_EQ(raised_, 2);
}

TEST_F(SpaceWatchTest, WhoDisarmsTheAlarmOfALowDiskGetsItAgain) {
  has_space_ = false;
  Wait(std::chrono::seconds(1));
  alarm_stands_ = true;
  Answer();
  Wait(std::chrono::seconds(10));
  EXPECT_EQ(raised_, 1);
  alarm_stands_ = false;
  Wait(std::chrono::seconds(1));
  EXPECT_EQ(raised_, 2);
}

TEST_F(SpaceWatchTest, NothingIsAskedForOnceTheDiskHasSpaceOrTheWatchIsStopped) {
  has_space_ = false;
  Wait(std::chrono::seconds(1));
  has_space_ = true;
  Answer();
  Wait(std::chrono::seconds(10));
  EXPECT_EQ(raised_, 1);
  has_space_ = false;
  watch_.Stop();
  RunDue();
  Wait(std::chrono::seconds(10));
  EXPECT_EQ(raised_, 1);
  EXPECT_FALSE(executor_.HasTimed());
}

}  // namespace
}  // namespace kvorum::server
