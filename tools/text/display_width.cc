#include "tools/text/display_width.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace kvorum::ctl {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Characters of East Asian scripts and pictographs, two columns wide.
constexpr auto kWide = std::to_array<Range>({
    {0x1100, 0x115f},
    {0x2329, 0x232a},
    {0x2e80, 0x303e},
    {0x3041, 0x33ff},
    {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},
    {0xa000, 0xa4cf},
    {0xa960, 0xa97f},
    {0xac00, 0xd7a3},
    {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},
    {0xff00, 0xff60},
    {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff},
    {0x1f900, 0x1f9ff},
    {0x20000, 0x3fffd},
});

// Combining marks and joiners, drawn over the preceding character.
constexpr auto kZeroWidth = std::to_array<Range>({
    {0x0300, 0x036f},
    {0x200b, 0x200f},
    {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f},
});

template <std::size_t n>
bool In(const std::array<Range, n>& ranges, char32_t c) {
  return std::ranges::any_of(ranges, [c](const Range& r) { return c >= r.first && c <= r.last; });
}

std::size_t ColumnsOf(char32_t c) {
  if (c < 0x20 || c == 0x7f || In(kZeroWidth, c)) return 0;
  return In(kWide, c) ? 2 : 1;
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Character character = ReadUtf8(text);
    width += ColumnsOf(character.code_point);
    text.remove_prefix(character.size_bytes);
  }
  return width;
}

}  // namespace kvorum::ctl
