// Lets some log lines a second through and counts the others: lines that strangers can cause at any
// rate must not fill a disk.
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

  // Returns true if the line may be written.
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
  // Returns the number of lines suppressed since the last call, for a line that is written to
  // report.
  std::uint64_t TakeSuppressed() { return std::exchange(suppressed_, 0); }

 private:
  TimePoint second_;
  int lines_ = 0;
  std::uint64_t suppressed_ = 0;
};

}  // namespace kvorum
