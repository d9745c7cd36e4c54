// Waits for a lock that another process holds.
#pragma once

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace kvorum::datadir {

// Calls `take` until it is not kFailedPrecondition any more, at most as long as the timeout; 0: for
// as long as it takes. Blocks the caller's thread.
template <class Take>
auto WaitForLock(Duration timeout, Take take) {
  constexpr std::chrono::milliseconds kPause(50);
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    auto taken = take();
    if (taken.has_value() || taken.error().code != Code::kFailedPrecondition) return taken;
    if (timeout.count() > 0 && std::chrono::steady_clock::now() - begin >= timeout) return taken;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace kvorum::datadir
