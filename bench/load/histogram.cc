#include "bench/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kvorum::bench {

std::size_t Histogram::BucketOf(std::uint64_t nanos) {
  nanos = std::min(nanos, (std::uint64_t{1} << kMaxBits) - 1);
  const auto width = static_cast<unsigned>(std::bit_width(nanos));
  const unsigned shift = width > kSubBits ? width - kSubBits : 0;
  return shift * kHalf + static_cast<std::size_t>(nanos >> shift);
}

std::uint64_t Histogram::MiddleOf(std::size_t bucket) {
  if (bucket < 2 * kHalf) return bucket;
  const std::size_t shift = bucket / kHalf - 1;
  const std::uint64_t first = (bucket - shift * kHalf) << shift;
  return first + (std::uint64_t{1} << shift) / 2;
}

std::uint64_t Histogram::Quantile(double part) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted && seen > 0) return std::min(MiddleOf(bucket), max_);
  }
  return 0;
}

}  // namespace kvorum::bench
