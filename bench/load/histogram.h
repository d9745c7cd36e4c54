// Counts of durations in buckets at most 1.6 % wide, from a nanosecond to eighteen minutes; longer
// ones count as that. Used by one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kvorum::bench {

class Histogram {
 public:
  // O(1), no allocation.
  void Record(std::uint64_t nanos) {
    ++buckets_[BucketOf(nanos)];
    ++count_;
    if (nanos > max_) max_ = nanos;
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }
  // The duration that the given part of the recorded ones (0.5: half of them) did not exceed, as
  // the middle of its bucket; 0 when nothing was recorded.
  std::uint64_t Quantile(double part) const;

 private:
  // Below 2^kSubBits each value has a bucket; above, each power of two has 2^kSubBits / 2 of them.
  static constexpr unsigned kSubBits = 7;
  static constexpr unsigned kMaxBits = 40;
  static constexpr std::size_t kHalf = std::size_t{1} << (kSubBits - 1);
  static constexpr std::size_t kBuckets = (kMaxBits - kSubBits + 2) * kHalf;

  static std::size_t BucketOf(std::uint64_t nanos);
  static std::uint64_t MiddleOf(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

// The steady clock's time, for the durations.
inline std::uint64_t NowNanos() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}
constexpr std::uint64_t Nanos(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

}  // namespace kvorum::bench
