// A bound on how often one address may ask: a bucket of tokens each, in a table of a fixed size, so
// that a flood from many addresses costs no memory. Addresses that fall into one place share its
// tokens.
//
// For one thread at a time; time is passed in. Cost: one look at the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace kvorum::dns {

class RateBound {
 public:
  // So many a second, and at once after a quiet second; 0: as many as come. The seed keeps others
  // from choosing addresses that share a place.
  RateBound(std::uint32_t per_second, std::uint64_t seed) : per_second_(per_second), seed_(seed) {}

  // Takes a token of the address, in network order; false if there is none.
  bool Take(std::string_view address, TimePoint now);

 private:
  static constexpr std::size_t kPlaces = 4096;
  struct Bucket {
    TimePoint full_at{0};  // when all tokens are there again
  };

  const std::uint32_t per_second_;
  const std::uint64_t seed_;
  std::array<Bucket, kPlaces> buckets_ = {};
};

}  // namespace kvorum::dns
