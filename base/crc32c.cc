#include "base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace kvorum {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = MakeTable();

#if defined(__x86_64__)
// The instruction takes a word each cycle, but gives its result three cycles later. So long input
// is taken as three lanes side by side, whose states are then joined: a state followed by zero
// bytes is a linear function of it, here by a table for each of its bytes.
constexpr std::size_t kLaneBytes = 256;
using SkipTable = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr SkipTable MakeSkipTable() {
  SkipTable table{};
  for (std::size_t bit = 0; bit < 32; ++bit) {
    std::uint32_t state = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < kLaneBytes; ++i) state = kTable[state & 0xff] ^ (state >> 8);
    table[bit / 8][std::size_t{1} << (bit % 8)] = state;
  }
  for (auto& of_byte : table)
    for (std::size_t byte = 1; byte < 256; ++byte)
      of_byte[byte] = of_byte[byte & (byte - 1)] ^ of_byte[byte & -byte];
  return table;
}
constexpr SkipTable kSkip = MakeSkipTable();

std::uint64_t SkipLane(std::uint64_t state) {
  return kSkip[0][state & 0xff] ^ kSkip[1][(state >> 8) & 0xff] ^ kSkip[2][(state >> 16) & 0xff] ^
         kSkip[3][(state >> 24) & 0xff];
}

std::uint64_t WordAt(const char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t Crc32cHardware(std::uint32_t crc,
                                                               std::string_view bytes) {
  std::uint64_t state = static_cast<std::uint32_t>(~crc);
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * kLaneBytes; left -= 3 * kLaneBytes, p += 3 * kLaneBytes) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLaneBytes; i += 8) {
      state = _mm_crc32_u64(state, WordAt(p + i));
      second = _mm_crc32_u64(second, WordAt(p + kLaneBytes + i));
      third = _mm_crc32_u64(third, WordAt(p + 2 * kLaneBytes + i));
    }
    state = SkipLane(SkipLane(state) ^ second) ^ third;
  }
  for (; left >= 8; left -= 8, p += 8) state = _mm_crc32_u64(state, WordAt(p));
  auto state32 = static_cast<std::uint32_t>(state);
  for (; left > 0; --left, ++p) state32 = _mm_crc32_u8(state32, static_cast<unsigned char>(*p));
  return ~state32;
}
#endif

}  // namespace

std::uint32_t Crc32cPortable(std::uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  for (const char c : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::uint32_t Crc32c(std::uint32_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (has_sse42) return Crc32cHardware(crc, bytes);
#endif
  return Crc32cPortable(crc, bytes);
}

}  // namespace kvorum
