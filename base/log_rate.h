// Lets some log lines a second through and counts the others: what strangers can cause at any rate
// must not fill a disk.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace kvorum {

class LogRate {
 public:
  static constexpr int kLinesPerSecond = 10;

  // Whether the line may be written.
  bool Takes(TimePoint now) {
    if (now - second_ >= std::chrono::seconds(1)) {
      second_ = now;
      lines_ = 0;
    }
    if (lines_ < kLinesPerSecond) {
      ++lines_;
      return true;
    }
    ++suppressed_;
    return false;
  }
  // How many were not since this was asked last: a line that is written may tell.
  std::uint64_t TakeSuppressed() { return std::exchange(suppressed_, 0); }

 private:
  TimePoint second_;
  int lines_ = 0;
  std::uint64_t suppressed_ = 0;
};

}  // namespace kvorum
