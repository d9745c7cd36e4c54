// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing past U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvorum {

// The length of the valid sequence at the start of the text; 0 if there is none.
std::size_t Utf8SequenceLength(std::string_view text);

bool IsValidUtf8(std::string_view text);

struct Utf8Character {
  char32_t code_point = 0xfffd;
  std::size_t size_bytes = 1;
  bool valid = false;  // false: one byte that starts no valid character
};

// The first character of a text that is not empty.
Utf8Character ReadUtf8(std::string_view text);

// Appends the code point, which must be a scalar value.
void AppendUtf8(char32_t code_point, std::string& out);

// True for a code point that is not a surrogate and within Unicode.
constexpr bool IsScalarValue(char32_t c) { return c < 0xd800 || (c > 0xdfff && c <= 0x10ffff); }

}  // namespace kvorum
