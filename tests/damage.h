// Bytes from outside as damage leaves them: cut to each shorter length, and with each byte flipped.
// A reader of such bytes is tested by all of them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kvorum {

// The changes of a byte: each of its bits, or fewer for a reader that is slow.
inline constexpr std::array kEachBit = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80};
inline constexpr std::array kOuterBits = {0x01, 0x80};
inline constexpr std::array kOuterAndAllBits = {0x01, 0x80, 0xff};

// Calls `read(cut)` with each beginning of `whole` that is shorter.
template <class Read>
void ForEachCut(std::string_view whole, Read read) {
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(testing::Message() << "the first " << size << " bytes");
    read(whole.substr(0, size));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Calls `read(flipped, at)` with each byte of `whole` changed, by one mask after another.
template <class Read>
void ForEachFlip(std::string_view whole, Read read, std::span<const int> masks = kEachBit) {
  std::string flipped(whole);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int mask : masks) {
      SCOPED_TRACE(testing::Message() << "byte " << at << ", mask " << mask);
      flipped[at] = static_cast<char>(whole[at] ^ mask);
      read(std::string_view(flipped), at);
      if (testing::Test::HasFatalFailure()) return;
    }
    flipped[at] = whole[at];
  }
}

}  // namespace kvorum
