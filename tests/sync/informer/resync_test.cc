// The periods of resync rounds: I6 to I9 of docs/sync_behaviours.md.
#include "sync/informer/resync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class SyncResync : public testing::Test {
 protected:
  ResyncSchedule::OnWarning Warn() {
    return [this](std::string_view text) { warnings.emplace_back(text); };
  }
  // The seconds, of the first `seconds`, in which a listener is due; its rounds end at once.
  std::vector<int> DueAt(ResyncSchedule& schedule, ResyncSchedule::ListenerId listener,
                         int seconds) {
    std::vector<int> due;
    for (int s = 1; s <= seconds; ++s) {
      const TimePoint now = start + std::chrono::seconds(s);
      for (const auto id : schedule.TakeDue(now)) {
        if (id == listener) due.push_back(s);
        schedule.EndRound(id, now);
      }
    }
    return due;
  }

  const TimePoint start{1'000'000'000'000};
  std::vector<std::string> warnings;
};

TEST_F(SyncResync, I6_AShortPeriodIsRaisedToASecondWithAWarning) {
  ResyncSchedule schedule(1s, Warn());
  schedule.Add(1, 500ms, /*is_default=*/false, start);
  EXPECT_EQ(schedule.period(1), 1s);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(SyncResync, I6_ADefaultMayBeShorter) {
  ResyncSchedule schedule(100ms, Warn());
  schedule.Add(1, 100ms, /*is_default=*/true, start);
  EXPECT_EQ(schedule.period(1), 100ms);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(SyncResync, I7_BeforeTheStartAShorterPeriodLowersTheChecksAndAllAreDerivedAnew) {
  ResyncSchedule schedule(10s, Warn());
  schedule.Add(1, 15s, false, start);
  EXPECT_EQ(schedule.period(1), 20s);
  schedule.Add(2, 4s, false, start);
  EXPECT_EQ(schedule.check(), 4s);
  EXPECT_EQ(schedule.period(1), 16s);
  EXPECT_EQ(schedule.period(2), 4s);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(SyncResync, I7_AfterTheStartAShorterPeriodIsRaisedToThatOfTheChecks) {
  ResyncSchedule schedule(10s, Warn());
  schedule.Start(start);
  schedule.Add(1, 4s, false, start);
  EXPECT_EQ(schedule.check(), 10s);
  EXPECT_EQ(schedule.period(1), 10s);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(SyncResync, I8_WithoutAPeriodOfChecksNobodyIsDue) {
  ResyncSchedule schedule(0s, Warn());
  schedule.Add(1, 30s, false, start);
  schedule.Start(start);
  EXPECT_EQ(schedule.period(1), 0s);
  EXPECT_EQ(schedule.next_check(), kNever);
  EXPECT_THAT(DueAt(schedule, 1, 100), IsEmpty());
}

TEST_F(SyncResync, I8_AListenerThatAsksForNoneIsNeverDue) {
  ResyncSchedule schedule(2s, Warn());
  schedule.Add(1, 0s, false, start);
  schedule.Start(start);
  EXPECT_THAT(DueAt(schedule, 1, 100), IsEmpty());
}

TEST_F(SyncResync, I9_APeriodIsRoundedUpToAMultipleOfTheChecks) {
  ResyncSchedule schedule(2s, Warn());
  schedule.Add(1, 3s, false, start);
  schedule.Start(start);
  EXPECT_EQ(schedule.period(1), 4s);
  EXPECT_THAT(DueAt(schedule, 1, 13), ElementsAre(4, 8, 12));
}

TEST_F(SyncResync, ARoundThatTakesLongPutsOffTheNextAndThoseInBetweenAreOne) {
  ResyncSchedule schedule(1s, Warn());
  schedule.Add(1, 2s, false, start);
  schedule.Start(start);
  EXPECT_THAT(schedule.TakeDue(start + 2s), ElementsAre(1));
  for (int s = 3; s < 9; ++s) EXPECT_THAT(schedule.TakeDue(start + s * 1s), IsEmpty());
  schedule.EndRound(1, start + 8500ms);
  EXPECT_THAT(schedule.TakeDue(start + 9s), ElementsAre(1));
  schedule.EndRound(1, start + 9s);
  EXPECT_THAT(schedule.TakeDue(start + 10s), IsEmpty());
  EXPECT_THAT(schedule.TakeDue(start + 11s), ElementsAre(1));
}

}  // namespace
}  // namespace kvorum::sync
