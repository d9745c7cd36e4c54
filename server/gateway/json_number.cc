// Integers of JSON numbers (json_reader.h), which may have a fraction and an exponent.
#include <algorithm>
#include <string>

#include "base/letter_case.h"
#include "base/text/parse_number.h"
#include "server/gateway/json_reader.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::size_t kMaxDigits = 20;  // of the largest 64-bit number

std::string_view TakeDigits(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, IsDigit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

struct Parts {
  bool negative = false;
  std::string_view whole;     // without a leading zero
  std::string_view fraction;  // without zeros at its end
  std::string_view exponent;  // with its sign
};

// Nothing if there is no number. Leaves in `text` what follows it.
std::optional<Parts> TakeNumber(std::string_view& text) {
  Parts parts;
  if (text.starts_with('-')) {
    parts.negative = true;
    text.remove_prefix(1);
  }
  if (text.empty() || !IsDigit(text.front())) return std::nullopt;
  if (text.front() == '0') {
    text.remove_prefix(1);
  } else {
    parts.whole = TakeDigits(text);
  }
  if (text.size() >= 2 && text[0] == '.' && IsDigit(text[1])) {
    text.remove_prefix(1);
    parts.fraction = TakeDigits(text);
    parts.fraction = parts.fraction.substr(0, parts.fraction.find_last_not_of('0') + 1);
  }
  if (text.size() >= 2 && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    const std::string_view start = text;
    if (text[0] == '+' || text[0] == '-') {
      text.remove_prefix(1);
      if (text.empty()) return std::nullopt;
    }
    TakeDigits(text);
    parts.exponent = start.substr(0, start.size() - text.size());
  }
  return parts;
}

std::optional<int> ExponentOf(std::string_view text) {
  if (text.empty()) return 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  return ParseNumber<int>(text);
}

// The digits of the integer, with its sign.
std::optional<std::string> Normalized(std::string_view number) {
  const auto parts = TakeNumber(number);
  if (!parts) return std::nullopt;
  if (parts->whole.empty() && parts->fraction.empty()) return "0";
  const auto exponent = ExponentOf(parts->exponent);
  if (!exponent) return std::nullopt;
  std::string digits = parts->negative ? "-" : "";
  if (*exponent >= 0) {
    const auto shift = static_cast<std::size_t>(*exponent);
    if (parts->fraction.size() > shift || parts->whole.size() + shift > kMaxDigits)
      return std::nullopt;
    digits.append(parts->whole).append(parts->fraction);
    return digits.append(shift - parts->fraction.size(), '0');
  }
  const auto shift = static_cast<std::size_t>(-static_cast<std::int64_t>(*exponent));
  if (!parts->fraction.empty() || parts->whole.size() < shift) return std::nullopt;
  const std::size_t kept = parts->whole.size() - shift;
  if (parts->whole.find_first_not_of('0', kept) != std::string_view::npos) return std::nullopt;
  return digits.append(parts->whole.substr(0, kept));
}

template <class Integer>
std::optional<Integer> Parse(std::string_view number) {
  const auto digits = Normalized(number);
  if (!digits) return std::nullopt;
  return ParseNumber<Integer>(*digits);
}

}  // namespace

std::optional<std::int64_t> IntegerOf(std::string_view number) {
  return Parse<std::int64_t>(number);
}

std::optional<std::uint64_t> UnsignedOf(std::string_view number) {
  return Parse<std::uint64_t>(number);
}

std::string_view NumberIn(std::string_view text) {
  std::string_view rest = text;
  if (!TakeNumber(rest)) return {};
  const auto goes_on = [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-+._").find(c) != std::string_view::npos;
  };
  if (!rest.empty() && goes_on(rest.front())) return {};
  return text.substr(0, text.size() - rest.size());
}

}  // namespace kvorum::server::gateway
