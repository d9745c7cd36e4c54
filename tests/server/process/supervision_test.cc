// Supervision: the words to the supervisor, and when they stay away.
#include "server/process/machine/supervision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "server/state/raft_status.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/manual_executor.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SupervisionTest : public testing::Test {
 protected:
  void Start(Duration watchdog) {
    supervision_.emplace(
        control_,
        Supervision::Parts{.threads = {&first_, &second_},
                           .status = [this] { return status_; },
                           .notify = [this](std::string_view word) { told_.emplace_back(word); },
                           .watchdog = watchdog});
    supervision_->Start();
  }
  // The words of that time, with both threads at work, or only the first.
  std::vector<std::string> Told(Duration time, bool is_second_stuck = false) {
    const TimePoint end = clock_.Now() + time;
    while (clock_.Now() < end) {
      clock_.Advance(milliseconds(100));
      while (control_.RunOne() || first_.RunOne() || (!is_second_stuck && second_.RunOne())) {
      }
    }
    return std::exchange(told_, {});
  }
  static std::size_t Words(const std::vector<std::string>& told) {
    return static_cast<std::size_t>(std::ranges::count(told, "WATCHDOG=1"));
  }

  ManualClock clock_;
  ManualExecutor control_{clock_};
  ManualExecutor first_{clock_};
  ManualExecutor second_{clock_};
  std::string status_ = "follower";
  std::vector<std::string> told_;
  std::optional<Supervision> supervision_;
};

TEST_F(SupervisionTest, AStatusIsToldOnceUntilItChanges) {
  Start({});
  EXPECT_THAT(Told(seconds(5)), ElementsAre("STATUS=follower"));
  status_ = "leader";
  EXPECT_THAT(Told(seconds(5)), ElementsAre("STATUS=leader"));
  EXPECT_THAT(Told(seconds(60)), IsEmpty()) << "there is no watchdog";
}

TEST_F(SupervisionTest, TheWatchdogHearsMoreThanOftenEnough) {
  Start(seconds(8));
  EXPECT_GE(Words(Told(seconds(80))), 30U);
}

TEST_F(SupervisionTest, AShortPatienceIsMet) {
  Start(milliseconds(400));
  EXPECT_GE(Words(Told(seconds(4))), 30U);
}

TEST_F(SupervisionTest, AThreadThatIsStuckKeepsTheWordBack) {
  Start(seconds(8));
  EXPECT_GT(Words(Told(seconds(8))), 0U);
  EXPECT_LE(Words(Told(seconds(60), true)), 1U) << "the one that was under way";
  EXPECT_EQ(Words(Told(seconds(60), true)), 0U);
  EXPECT_GT(Words(Told(seconds(8))), 0U) << "it goes on";
}

TEST(StatusTextTest, SaysWhoLeads) {
  RaftStatus status;
  status.Publish({.term = raft::Term{4}});
  EXPECT_EQ(StatusText(status), "no leader in term 4");
  status.Publish({.term = raft::Term{5}, .leader = raft::MemberId{0xabc}});
  EXPECT_EQ(StatusText(status), "follower of abc in term 5");
  status.Publish({.term = raft::Term{6}, .leader = raft::MemberId{1}, .is_leading = true});
  EXPECT_EQ(StatusText(status), "leader in term 6");
}

TEST(WatchdogTest, IsThatOfThisProcess) {
  const std::string mine = std::to_string(getpid());
  EXPECT_EQ(WatchdogOf(nullptr, nullptr), Duration(0));
  EXPECT_EQ(WatchdogOf("30000000", nullptr), seconds(30));
  EXPECT_EQ(WatchdogOf("30000000", mine.c_str()), seconds(30));
  EXPECT_EQ(WatchdogOf("30000000", "1"), Duration(0)) << "another process's";
  EXPECT_EQ(WatchdogOf("soon", nullptr), Duration(0));
}

}  // namespace
}  // namespace kvorum::server
