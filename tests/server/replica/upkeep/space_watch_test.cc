// When the alarm is asked for, and when its end is, on an executor that the test runs by hand.
#include "server/replica/upkeep/space_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/log/logging.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/manual_executor.h"

namespace kvorum::server {
namespace {

constexpr Alarm kOwn{.member = raft::MemberId{1}, .type = AlarmType::kNoSpace};
constexpr Alarm kOther{.member = raft::MemberId{2}, .type = AlarmType::kNoSpace};

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
  void Wait(Duration time) {
    for (int i = 0; i < time / Duration(std::chrono::seconds(1)); ++i) {
      clock_.Advance(std::chrono::seconds(1));
      RunDue();
    }
  }
  void Answer() {
    (*std::exchange(answered_, std::nullopt))();
    RunDue();
  }

  // Applied at once.
  void DisarmsAreApplied() { applies_disarms_ = true; }
  void Propose(AlarmAction action, const Alarm& alarm, Task answered) {
    if (action == AlarmAction::kActivate) {
      ++raised_;
      answered_ = std::move(answered);
      return;
    }
    disarmed_.push_back(alarm);
    if (applies_disarms_ && alarm == kOwn) alarm_stands_ = false;
    if (applies_disarms_ && alarm == kOther) orphan_.reset();
    answered();
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  bool has_space_ = true;
  bool has_room_ = true;
  bool alarm_stands_ = false;
  std::optional<Alarm> orphan_;
  int raised_ = 0;
  std::vector<Alarm> disarmed_;
  bool applies_disarms_ = false;
  std::optional<Task> answered_;
  SpaceWatch watch_{
      executor_,
      kOwn,
      {.has_space = [this] { return has_space_; },
       .has_room_to_spare = [this] { return has_room_; },
       .alarm_stands = [this] { return alarm_stands_; },
       .orphan = [this] { return orphan_; },
       .propose = [this](AlarmAction action, const Alarm& alarm,
                         Task answered) { Propose(action, alarm, std::move(answered)); }}};
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

TEST_F(SpaceWatchTest, RoomForAWhileEndsTheAlarm) {
  DisarmsAreApplied();
  alarm_stands_ = true;
  Wait(SpaceWatch::kCalm);
  EXPECT_TRUE(disarmed_.empty()) << "an operator is at it, perhaps";
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(disarmed_, testing::ElementsAre(kOwn)) << "another's only that member can judge";
  Wait(std::chrono::seconds(60));
  EXPECT_EQ(disarmed_.size(), 1u);
}

TEST_F(SpaceWatchTest, TheWhileBeginsAnewWhenRoomGetsShort) {
  alarm_stands_ = true;
  for (int i = 0; i < 10; ++i) {
    Wait(SpaceWatch::kCalm);
    has_room_ = false;
    Wait(std::chrono::seconds(1));
    has_room_ = true;
  }
  EXPECT_TRUE(disarmed_.empty());
}

TEST_F(SpaceWatchTest, BetweenTheMarksNothingHappens) {
  has_room_ = false;
  Wait(std::chrono::seconds(60));
  EXPECT_EQ(raised_, 0) << "there is space";
  alarm_stands_ = true;
  Wait(std::chrono::seconds(60));
  EXPECT_TRUE(disarmed_.empty()) << "but none to spare";
}

TEST_F(SpaceWatchTest, AFullDiskKeepsItsAlarmWhateverElseHasRoom) {
  alarm_stands_ = true;
  has_space_ = false;
  Wait(std::chrono::seconds(60));
  EXPECT_TRUE(disarmed_.empty());
}

TEST_F(SpaceWatchTest, ADisarmThatCameToNothingIsProposedAgain) {
  alarm_stands_ = true;
  Wait(SpaceWatch::kCalm + std::chrono::seconds(3));
  EXPECT_GE(disarmed_.size(), 2u);
}

TEST_F(SpaceWatchTest, TheAlarmOfARemovedMemberEndsAtOnce) {
  DisarmsAreApplied();
  orphan_ = kOther;
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(disarmed_, testing::ElementsAre(kOther));
}

}  // namespace
}  // namespace kvorum::server
