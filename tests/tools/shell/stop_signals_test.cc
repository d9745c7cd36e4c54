// The signals that end a command which has something to release: the first, one that comes in the
// same instant, later ones; and the bound of the clean-up.
#include "tools/shell/stop_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace kvorum::ctl {
namespace {

using namespace std::chrono_literals;

void Signal(int signal) { kill(getpid(), signal); }

void AwaitStop(const StopSignals& signals) {
  while (!signals.token().stop_requested()) std::this_thread::yield();
}

// Timeout(1) and supervisors signal the process and then its group.
TEST(StopSignalsDeathTest, ASignalThatComesTwiceInAnInstantIsOneRequest) {
  const auto release = [](int first, int second) {
    const StopSignals signals;
    Signal(first);
    AwaitStop(signals);
    Signal(second);
    std::this_thread::sleep_for(300ms);  // what it takes to release a lock
    _exit(7);
  };
  EXPECT_EXIT(release(SIGTERM, SIGTERM), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(release(SIGTERM, SIGINT), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(release(SIGINT, SIGTERM), testing::ExitedWithCode(7), "");
}

TEST(StopSignalsDeathTest, NoNumberOfLaterSignalsBreaksTheCleanUpOff) {
  const auto release = [] {
    const StopSignals signals;
    Signal(SIGTERM);
    AwaitStop(signals);
    for (const int later : {SIGINT, SIGTERM, SIGINT}) {
      std::this_thread::sleep_for(1100ms);
      Signal(later);
    }
    std::this_thread::sleep_for(300ms);
    _exit(7);
  };
  EXPECT_EXIT(release(), testing::ExitedWithCode(7), "");
}

TEST(StopSignalsDeathTest, ACleanUpThatDoesNotEndIsEndedByTheFirstSignal) {
  const auto hang = [] {
    const StopSignals signals(500ms);
    Signal(SIGINT);
    AwaitStop(signals);
    Signal(SIGTERM);
    std::this_thread::sleep_for(1h);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignalsDeathTest, WorkThatIsRunThroughDoesNotCountForTheCleanUp) {
  const auto run = [](std::chrono::milliseconds afterwards) {
    StopSignals signals(1s);
    signals.RunThrough([&] {
      Signal(SIGTERM);
      AwaitStop(signals);
      std::this_thread::sleep_for(1500ms);
    });
    std::this_thread::sleep_for(afterwards);
    _exit(7);
  };
  EXPECT_EXIT(run(100ms), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(run(1h), testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsDeathTest, WorkThatBeginsAfterTheSignalHoldsTheBoundToo) {
  const auto run = [] {
    StopSignals signals(1s);
    Signal(SIGTERM);
    AwaitStop(signals);
    signals.RunThrough([] { std::this_thread::sleep_for(1500ms); });
    _exit(7);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace kvorum::ctl
