// Spreads the differences of numbers over all bits.
#pragma once

#include <cstdint>

namespace kvorum {

// The finalizer of SplitMix64: a bijection in which every bit of the input moves half of the
// output's.
constexpr std::uint64_t Mix64(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

}  // namespace kvorum
