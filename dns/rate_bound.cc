#include "dns/rate_bound.h"

#include <algorithm>
#include <chrono>

namespace kvorum::dns {
namespace {

constexpr Duration kFull = std::chrono::seconds(1);

// FNV-1a, from a secret start, and stirred at the end so that its low bits depend on all.
std::uint64_t HashOf(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  hash ^= hash >> 32U;
  hash *= 0x9e3779b97f4a7c15U;
  return hash >> 32U;
}

}  // namespace

// A bucket that is full at a time to come has given as many tokens as are made until then.
bool RateBound::Take(std::string_view address, TimePoint now) {
  if (per_second_ == 0) return true;
  Bucket& bucket = buckets_.at(HashOf(address, seed_) % kPlaces);
  const TimePoint full_at = std::max(bucket.full_at, now) + kFull / per_second_;
  if (full_at > now + kFull) return false;
  bucket.full_at = full_at;
  return true;
}

}  // namespace kvorum::dns
