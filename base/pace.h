// Spreads a transfer over time: no more bytes a second than a limit, however fast they are taken.
// A limit that was not used is not saved up. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace kvorum {

class Pace {
 public:
  // 0: no limit.
  explicit Pace(std::uint64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // The earliest time for the next piece, after one of this size that was begun at `began`.
  TimePoint After(TimePoint began, std::uint64_t bytes) {
    if (bytes_per_second_ == 0) return began;
    constexpr std::uint64_t kSecondNs = 1'000'000'000;
    const std::uint64_t seconds = bytes / bytes_per_second_;
    const std::uint64_t rest = bytes % bytes_per_second_;
    // Without an overflow.
    const std::uint64_t ns = bytes_per_second_ < UINT64_MAX / kSecondNs
                                 ? rest * kSecondNs / bytes_per_second_
                                 : rest / (bytes_per_second_ / kSecondNs);
    next_ = std::max(next_, began) + std::chrono::seconds(seconds) + std::chrono::nanoseconds(ns);
    return next_;
  }

 private:
  const std::uint64_t bytes_per_second_;
  TimePoint next_{};
};

}  // namespace kvorum
