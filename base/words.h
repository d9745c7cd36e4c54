// Cutting texts: blanks around them, separators between their parts. Joining such parts, and
// finding one among words.
#pragma once

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvorum {

inline constexpr std::string_view kBlanks = " \t\n\r\v\f";

constexpr std::string_view Trim(std::string_view text, std::string_view blanks = kBlanks) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// The text before the first mark, and the text after it if the mark is there.
constexpr std::pair<std::string_view, std::optional<std::string_view>> Cut(std::string_view text,
                                                                           char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

// "a,,b" has three parts; an empty text has one, which is empty.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

inline std::string Join(const std::ranges::input_range auto& parts, std::string_view separator) {
  std::string text;
  std::string_view before;
  for (const auto& part : parts) {
    text.append(before).append(part);
    before = separator;
  }
  return text;
}

// The text is one of the words.
constexpr bool IsOneOf(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

}  // namespace kvorum
