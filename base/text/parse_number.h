// A number that is the whole text: no blanks, no plus sign, a minus sign only where T has one.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace kvorum {

// Nothing if the text is not a number, or not one that T holds.
template <class T, class... Base>
  requires(std::integral<T> || (std::floating_point<T> && sizeof...(Base) == 0))
std::optional<T> ParseNumber(std::string_view text, Base... base) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace kvorum
