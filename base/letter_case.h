// ASCII characters: digits, and the upper and lower case of letters, since names of headers and
// hosts are case-insensitive. Other bytes are unchanged.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace kvorum {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

constexpr char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

constexpr char UpperCase(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

inline std::string LowerCase(std::string text) {
  for (char& c : text) c = LowerCase(c);
  return text;
}

inline std::string UpperCase(std::string text) {
  for (char& c : text) c = UpperCase(c);
  return text;
}

constexpr bool EqualsInAnyCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return LowerCase(x) == LowerCase(y); });
}

}  // namespace kvorum
