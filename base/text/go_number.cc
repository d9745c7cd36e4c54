#include "base/text/go_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/letter_case.h"
#include "base/text/go_quote.h"

namespace kvorum {
namespace {

Error Malformed(std::string_view function, std::string_view text, Code code) {
  const std::string_view why = code == Code::kOutOfRange ? "value out of range" : "invalid syntax";
  return {code, fmt::format("strconv.{}: parsing {}: {}", function, GoQuote(text), why)};
}

struct BaseAndDigits {
  unsigned base = 10;
  std::string_view digits;
  bool has_prefix = false;
};
BaseAndDigits CutPrefix(std::string_view text) {
  if (!text.starts_with('0') || text.size() == 1) return {.digits = text};
  if (text.size() > 2) {
    const std::string_view rest = text.substr(2);
    if (LowerCase(text[1]) == 'x') return {.base = 16, .digits = rest, .has_prefix = true};
    if (LowerCase(text[1]) == 'o') return {.base = 8, .digits = rest, .has_prefix = true};
    if (LowerCase(text[1]) == 'b') return {.base = 2, .digits = rest, .has_prefix = true};
  }
  return {.base = 8, .digits = text.substr(1), .has_prefix = true};
}

// Underscores must be between two digits each; a prefix counts as a digit.
bool UnderscoresFit(std::string_view digits, bool has_prefix) {
  bool after_digit = has_prefix;
  for (const char c : digits) {
    if (c == '_' && !after_digit) return false;
    after_digit = c != '_';
  }
  return after_digit || digits.empty();
}

unsigned DigitValue(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  const char lower = LowerCase(c);
  if (lower >= 'a' && lower <= 'z') return static_cast<unsigned>(lower - 'a') + 10;
  return std::numeric_limits<unsigned>::max();
}

// Returns the number without its sign, or the reason why the text is not a number.
std::expected<std::uint64_t, Code> ParseMagnitude(std::string_view text, int wanted_base) {
  if (text.empty()) return std::unexpected(Code::kInvalidArgument);
  const bool names_base = wanted_base == 0;
  const auto [base, digits, has_prefix] =
      names_base ? CutPrefix(text)
                 : BaseAndDigits{.base = static_cast<unsigned>(wanted_base), .digits = text};
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c == '_' && names_base) continue;
    const unsigned digit = DigitValue(c);
    if (digit >= base) return std::unexpected(Code::kInvalidArgument);
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / base)
      return std::unexpected(Code::kOutOfRange);
    value = value * base + digit;
  }
  if (!UnderscoresFit(digits, has_prefix)) return std::unexpected(Code::kInvalidArgument);
  return value;
}

}  // namespace

Result<std::int64_t> ParseInt(std::string_view text, int base) {
  const bool is_negative = text.starts_with('-');
  const auto magnitude =
      ParseMagnitude(text.substr(is_negative || text.starts_with('+') ? 1 : 0), base);
  if (!magnitude) return Fail(Malformed("ParseInt", text, magnitude.error()));
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (*magnitude > kMost + (is_negative ? 1 : 0))
    return Fail(Malformed("ParseInt", text, Code::kOutOfRange));
  // The magnitude of the lowest number is one more than that of the highest.
  return static_cast<std::int64_t>(is_negative ? 0 - *magnitude : *magnitude);
}

Result<std::uint64_t> ParseUint(std::string_view text, int base, int bits) {
  const auto magnitude = ParseMagnitude(text, base);
  if (!magnitude) return Fail(Malformed("ParseUint", text, magnitude.error()));
  if (bits < 64 && *magnitude >> bits != 0)
    return Fail(Malformed("ParseUint", text, Code::kOutOfRange));
  return *magnitude;
}

Result<bool> ParseBool(std::string_view text) {
  constexpr auto kTrue = std::to_array<std::string_view>({"1", "t", "T", "true", "TRUE", "True"});
  constexpr auto kFalse =
      std::to_array<std::string_view>({"0", "f", "F", "false", "FALSE", "False"});
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return Fail(Malformed("ParseBool", text, Code::kInvalidArgument));
}

}  // namespace kvorum
