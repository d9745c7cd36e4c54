// Bytes as %XX, the escapes of URLs. Which bytes are escaped is the user's rule.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text/parse_number.h"

namespace kvorum {

inline constexpr std::size_t kPercentEscapeBytes = 3;

inline void AppendPercentEscape(std::string& out, char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  out += {'%', kDigits[value >> 4U], kDigits[value & 15U]};
}

// The byte of the escape that the text begins with; nothing if it begins with none.
inline std::optional<char> PercentEscapeAt(std::string_view text) {
  if (text.size() < kPercentEscapeBytes || text.front() != '%') return std::nullopt;
  return ParseNumber<unsigned char>(text.substr(1, 2), 16).transform([](unsigned char byte) {
    return static_cast<char>(byte);
  });
}

// A malformed escape, and one of a byte that `stays_escaped` names, is kept as it is.
inline std::string PercentDecode(std::string_view text, std::string_view stays_escaped = {}) {
  std::string decoded;
  decoded.reserve(text.size());
  while (!text.empty()) {
    const auto escaped = PercentEscapeAt(text);
    const bool stays = !escaped.has_value() || stays_escaped.contains(*escaped);
    decoded += stays ? text.front() : *escaped;
    text.remove_prefix(stays ? 1 : kPercentEscapeBytes);
  }
  return decoded;
}

}  // namespace kvorum
