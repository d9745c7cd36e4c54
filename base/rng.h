// Seeded randomness: equal seeds give equal sequences on every machine (xoshiro256**, Blackman and
// Vigna 2018). An object belongs to one thread. Not for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace kvorum {

class Rng {
 public:
  using result_type = std::uint64_t;
  explicit Rng(std::uint64_t seed);
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  std::uint64_t operator()();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t Below(std::uint64_t bound);
  // True once in n calls on average.
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }

 private:
  std::array<std::uint64_t, 4> state_;
};

// A seed from the operating system, for process start, the one place that need not be replayable.
std::uint64_t EntropySeed();

}  // namespace kvorum
