#include "server/process/flag_value.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/duration_text.h"
#include "base/go_quote.h"
#include "base/url.h"
#include "server/process/feature_gates.h"

namespace kvorum::server {
namespace {

enum class NumberError : std::uint8_t { kSyntax, kRange };

std::string ReasonOf(NumberError error) {
  return error == NumberError::kSyntax ? "parse error" : "value out of range";
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

struct BaseAndDigits {
  unsigned base = 10;
  std::string_view digits;
  bool has_prefix = false;  // two characters of it
};
BaseAndDigits CutPrefix(std::string_view text) {
  if (!text.starts_with('0') || text.size() == 1) return {.digits = text};
  if (text.size() > 2) {
    const std::string_view rest = text.substr(2);
    if (Lower(text[1]) == 'x') return {.base = 16, .digits = rest, .has_prefix = true};
    if (Lower(text[1]) == 'o') return {.base = 8, .digits = rest, .has_prefix = true};
    if (Lower(text[1]) == 'b') return {.base = 2, .digits = rest, .has_prefix = true};
  }
  return {.base = 8, .digits = text.substr(1), .has_prefix = true};
}

// Between two digits each; a prefix counts as one.
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
  const char lower = Lower(c);
  if (lower >= 'a' && lower <= 'z') return static_cast<unsigned>(lower - 'a') + 10;
  return std::numeric_limits<unsigned>::max();
}

// The number without its sign.
std::expected<std::uint64_t, NumberError> ParseMagnitude(std::string_view text) {
  if (text.empty()) return std::unexpected(NumberError::kSyntax);
  const auto [base, digits, has_prefix] = CutPrefix(text);
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    const unsigned digit = DigitValue(c);
    if (digit >= base) return std::unexpected(NumberError::kSyntax);
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / base)
      return std::unexpected(NumberError::kRange);
    value = value * base + digit;
  }
  if (!UnderscoresFit(digits, has_prefix)) return std::unexpected(NumberError::kSyntax);
  return value;
}

template <class T>
ValueProblem ProblemOf(const std::expected<T, std::string>& parsed) {
  if (parsed.has_value()) return std::nullopt;
  return parsed.error();
}

bool IsOneOf(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

constexpr auto kClusterStates = std::to_array<std::string_view>({"new", "existing"});
constexpr auto kDiscoveryFallbacks = std::to_array<std::string_view>({"exit", "proxy"});
constexpr auto kV2Deprecations = std::to_array<std::string_view>(
    {"write-only", "write-only-skip-check", "write-only-drop-data", "gone"});

}  // namespace

std::optional<bool> ParseBool(std::string_view text) {
  static constexpr std::string_view kTrue[] = {"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::string_view kFalse[] = {"0", "f", "F", "FALSE", "false", "False"};
  if (IsOneOf(text, kTrue)) return true;
  if (IsOneOf(text, kFalse)) return false;
  return std::nullopt;
}

std::expected<std::uint64_t, std::string> ParseUnsigned(std::string_view text) {
  const auto magnitude = ParseMagnitude(text);
  if (!magnitude.has_value()) return std::unexpected(ReasonOf(magnitude.error()));
  return *magnitude;
}

std::expected<std::int64_t, std::string> ParseSigned(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const auto magnitude = ParseMagnitude(text);
  if (!magnitude.has_value()) return std::unexpected(ReasonOf(magnitude.error()));
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (*magnitude > kMost + (is_negative ? 1 : 0))
    return std::unexpected(ReasonOf(NumberError::kRange));
  // The lowest number's magnitude is that of no positive one.
  return static_cast<std::int64_t>(is_negative ? 0 - *magnitude : *magnitude);
}

ValueProblem CheckSigned(std::string_view text) { return ProblemOf(ParseSigned(text)); }

ValueProblem CheckUnsigned(std::string_view text) { return ProblemOf(ParseUnsigned(text)); }

ValueProblem CheckUnsigned32(std::string_view text) {
  const auto magnitude = ParseMagnitude(text);
  const bool is_syntax_error = !magnitude.has_value() && magnitude.error() == NumberError::kSyntax;
  if (magnitude.has_value() && *magnitude <= std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return "strconv.ParseUint: parsing " + GoQuote(text) + ": " +
         (is_syntax_error ? "invalid syntax" : "value out of range");
}

ValueProblem CheckDuration(std::string_view text) {
  if (ParseDuration(text).has_value()) return std::nullopt;
  return "parse error";
}

ValueProblem CheckUrls(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto urls = ParseUrls(text);
  if (urls.has_value()) return std::nullopt;
  return urls.error().message;
}

ValueProblem CheckOrigins(std::string_view text) {
  if (text == "*") return std::nullopt;
  const auto urls = ParseUrls(text);
  if (urls.has_value()) return std::nullopt;
  return urls.error().message;
}

ValueProblem CheckFeatureGates(std::string_view text) { return ProblemOf(ParseFeatureGates(text)); }

ValueProblem CheckClusterState(std::string_view text) {
  if (IsOneOf(text, kClusterStates)) return std::nullopt;
  return "invalid value";
}

ValueProblem CheckDiscoveryFallback(std::string_view text) {
  if (IsOneOf(text, kDiscoveryFallbacks)) return std::nullopt;
  return "invalid value";
}

ValueProblem CheckV2Deprecation(std::string_view text) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    if (!IsOneOf(word, kV2Deprecations)) return "invalid value " + GoQuote(word);
    if (comma == std::string_view::npos) return std::nullopt;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace kvorum::server
