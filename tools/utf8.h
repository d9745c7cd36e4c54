// UTF-8, character by character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvorum::ctl {

struct Utf8Character {
  char32_t code_point = 0xfffd;
  std::size_t size_bytes = 1;
  bool valid = false;  // false: one byte that begins no valid character
};

// The first character of a text that is not empty.
Utf8Character ReadUtf8(std::string_view text);

void AppendUtf8(char32_t code_point, std::string& out);

// Not a surrogate, and within Unicode.
constexpr bool IsScalarValue(char32_t c) { return c < 0xd800 || (c > 0xdfff && c <= 0x10ffff); }

// How many columns of a terminal the text takes.
std::size_t DisplayWidth(std::string_view text);

}  // namespace kvorum::ctl
