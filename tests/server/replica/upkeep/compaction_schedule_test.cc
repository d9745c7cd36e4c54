// When automatic compaction compacts, and what: the published rules of etcd's two modes, as steps
// of a clock that the test sets.
#include "server/replica/upkeep/compaction_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace kvorum::server {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

struct Compaction {
  Duration at{};  // since the start
  std::int64_t revision = 0;
  friend bool operator==(const Compaction&, const Compaction&) = default;
  friend void PrintTo(const Compaction& c, std::ostream* out) {
    *out << c.revision << " after " << std::chrono::duration_cast<milliseconds>(c.at).count()
         << " ms";
  }
};

// A store whose revision grows by one a minute, beside the schedule.
class Story {
 public:
  explicit Story(const CompactionPolicy& policy) : schedule_(policy, TimePoint{}) {
    schedule_.Sample(Revision());
  }
  // All compactions until `end` after the start.
  std::vector<Compaction> Until(Duration end) {
    std::vector<Compaction> done;
    while (now_ + schedule_.interval() <= end) {
      now_ += schedule_.interval();
      const auto due = schedule_.Due(TimePoint{} + now_, Revision(), paused_);
      if (due.has_value()) {
        done.push_back({now_, *due});
        if (!failing_) schedule_.Compacted(*due, TimePoint{} + now_);
      }
      schedule_.Sample(Revision());
    }
    return done;
  }
  void Pause(bool paused) { paused_ = paused; }
  void Fail(bool failing) { failing_ = failing; }
  void Freeze() { frozen_at_ = Revision(); }
  Duration interval() const { return schedule_.interval(); }

 private:
  std::int64_t Revision() const {
    return frozen_at_ != 0 ? frozen_at_ : 1 + now_ / Duration(minutes(1));
  }

  CompactionSchedule schedule_;
  Duration now_{};
  bool paused_ = false;
  bool failing_ = false;
  std::int64_t frozen_at_ = 0;
};

CompactionPolicy Periodic(Duration period) {
  return {.mode = CompactionPolicy::Mode::kPeriodic, .period = period};
}
CompactionPolicy KeepRevisions(std::int64_t revisions) {
  return {.mode = CompactionPolicy::Mode::kRevision, .kept_revisions = revisions};
}

TEST(CompactionSchedule, AnHoursPeriodCompactsEachHourWhatIsAnHourOld) {
  Story story(Periodic(hours(1)));
  EXPECT_EQ(story.interval(), minutes(6));
  EXPECT_THAT(story.Until(hours(3)), ElementsAre(Compaction{hours(1), 1}, Compaction{hours(2), 55},
                                                 Compaction{hours(3), 115}))
      << "an hour before the sample of a turn ago";
}

TEST(CompactionSchedule, AShorterPeriodCompactsOncePerPeriod) {
  Story story(Periodic(minutes(10)));
  EXPECT_EQ(story.interval(), minutes(1));
  EXPECT_THAT(story.Until(minutes(35)),
              ElementsAre(Compaction{minutes(10), 1}, Compaction{minutes(20), 10},
                          Compaction{minutes(30), 20}));
}

TEST(CompactionSchedule, ALongerPeriodCompactsEachHourAfterTheFirst) {
  Story story(Periodic(hours(10)));
  EXPECT_EQ(story.interval(), minutes(6)) << "a tenth of an hour, not of the period";
  EXPECT_THAT(story.Until(hours(13)),
              ElementsAre(Compaction{hours(10), 1}, Compaction{hours(11), 55},
                          Compaction{hours(12), 115}, Compaction{hours(13), 175}));
}

TEST(CompactionSchedule, NothingIsCompactedTwice) {
  Story story(Periodic(minutes(10)));
  story.Freeze();
  EXPECT_THAT(story.Until(hours(2)), ElementsAre(Compaction{minutes(10), 1}));
}

TEST(CompactionSchedule, AFailureIsTriedAgainATenthOfThePeriodLater) {
  Story story(Periodic(hours(1)));
  story.Fail(true);
  EXPECT_THAT(story.Until(minutes(66)),
              ElementsAre(Compaction{minutes(60), 1}, Compaction{minutes(66), 1}));
  story.Fail(false);
  EXPECT_THAT(story.Until(minutes(140)),
              ElementsAre(Compaction{minutes(72), 7}, Compaction{minutes(132), 67}));
}

TEST(CompactionSchedule, APauseSkipsTurnsWhileTheSamplesGoOn) {
  Story story(Periodic(hours(1)));
  story.Pause(true);
  EXPECT_THAT(story.Until(hours(3)), IsEmpty());
  story.Pause(false);
  EXPECT_THAT(story.Until(hours(4)), ElementsAre(Compaction{minutes(186), 121}))
      << "what is an hour old, not what was at the beginning";
}

TEST(CompactionSchedule, TheShortestPeriodsStillLeaveAPause) {
  EXPECT_EQ(Story(Periodic(Duration(1))).interval(), milliseconds(1));
  EXPECT_EQ(Story(Periodic(seconds(5))).interval(), milliseconds(500));
}

TEST(CompactionSchedule, ByRevisionTheNewestAreKeptEveryFiveMinutes) {
  Story story(KeepRevisions(10));
  EXPECT_EQ(story.interval(), minutes(5));
  EXPECT_THAT(story.Until(minutes(20)),
              ElementsAre(Compaction{minutes(10), 1}, Compaction{minutes(15), 6},
                          Compaction{minutes(20), 11}))
      << "after five minutes there are only six";
}

TEST(CompactionSchedule, ByRevisionNothingIsCompactedTwiceAndAFailureWaitsForTheNextTurn) {
  Story story(KeepRevisions(1));
  story.Fail(true);
  EXPECT_THAT(story.Until(minutes(5)), ElementsAre(Compaction{minutes(5), 5}));
  story.Fail(false);
  story.Freeze();
  EXPECT_THAT(story.Until(minutes(30)), ElementsAre(Compaction{minutes(10), 5}));
}

TEST(CompactionSchedule, ByRevisionAPauseSkipsTurns) {
  Story story(KeepRevisions(1));
  story.Pause(true);
  EXPECT_THAT(story.Until(minutes(20)), IsEmpty());
  story.Pause(false);
  EXPECT_THAT(story.Until(minutes(25)), ElementsAre(Compaction{minutes(25), 25}));
}

}  // namespace
}  // namespace kvorum::server
