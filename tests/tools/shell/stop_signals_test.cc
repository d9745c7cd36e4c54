// The signals that end a command which has something to release: the first, one that comes in the
// same instant, and a later one.
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

TEST(StopSignalsDeathTest, ALaterSignalEndsTheProcess) {
  const auto hang = [] {
    const StopSignals signals;
    Signal(SIGTERM);
    AwaitStop(signals);
    Signal(SIGINT);
    std::this_thread::sleep_for(StopSignals::kOneRequest + 200ms);
    Signal(SIGINT);
    std::this_thread::sleep_for(1h);
  };
  EXPECT_EXIT(hang(), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace kvorum::ctl
