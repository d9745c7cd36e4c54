#include "tools/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "tools/quote.h"

namespace kvorum::ctl {
namespace {

std::unexpected<std::string> Malformed(std::string_view function, std::string_view text,
                                       std::string_view why) {
  return std::unexpected(fmt::format("strconv.{}: parsing {}: {}", function, Quote(text), why));
}

// Takes the prefix that names the base off; 10 if there is none.
int TakeBase(std::string_view& digits) {
  if (digits.size() < 2 || digits.front() != '0') return 10;
  const char letter = static_cast<char>(digits[1] | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (base == 0) return 8;
  digits.remove_prefix(2);
  return base;
}

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr auto kUnits = std::to_array<Unit>({{"ns", 1},
                                             {"us", 1'000},
                                             {"µs", 1'000},
                                             {"μs", 1'000},
                                             {"ms", 1'000'000},
                                             {"s", 1'000'000'000},
                                             {"m", 60'000'000'000},
                                             {"h", 3'600'000'000'000}});

bool IsNumberPart(char c) { return c == '.' || (c >= '0' && c <= '9'); }

}  // namespace

Parsed<std::uint64_t> ParseHexId(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument)
    return Malformed("ParseUint", text, "invalid syntax");
  if (error != std::errc{}) return Malformed("ParseUint", text, "value out of range");
  return id;
}

Parsed<std::int64_t> ParseInt(std::string_view text, int base) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (base == 0) base = TakeBase(digits);
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (digits.empty() || end != digits.data() + digits.size() ||
      error == std::errc::invalid_argument)
    return Malformed("ParseInt", text, "invalid syntax");
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (error != std::errc() || magnitude > kMax + (negative ? 1 : 0))
    return Malformed("ParseInt", text, "value out of range");
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

Parsed<bool> ParseBool(std::string_view text) {
  constexpr auto kTrue = std::to_array<std::string_view>({"1", "t", "T", "true", "TRUE", "True"});
  constexpr auto kFalse =
      std::to_array<std::string_view>({"0", "f", "F", "false", "FALSE", "False"});
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return Malformed("ParseBool", text, "invalid syntax");
}

Parsed<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return std::unexpected(fmt::format("time: {} {}", why, Quote(text)));
  };
  constexpr std::string_view kInvalid = "invalid duration";
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return std::chrono::nanoseconds(0);
  if (rest.empty()) return fail(kInvalid);

  long double total_ns = 0;
  while (!rest.empty()) {
    const auto number_end =
        static_cast<std::size_t>(std::ranges::find_if_not(rest, IsNumberPart) - rest.begin());
    const std::string_view number = rest.substr(0, number_end);
    if (number.empty() || number == "." || std::ranges::count(number, '.') > 1)
      return fail(kInvalid);
    rest.remove_prefix(number_end);
    const auto unit_end =
        static_cast<std::size_t>(std::ranges::find_if(rest, IsNumberPart) - rest.begin());
    const std::string_view name = rest.substr(0, unit_end);
    if (name.empty()) return fail("missing unit in duration");
    const auto unit = std::ranges::find(kUnits, name, &Unit::name);
    if (unit == kUnits.end()) return fail(fmt::format("unknown unit {} in duration", Quote(name)));
    rest.remove_prefix(unit_end);
    total_ns +=
        std::strtold(std::string(number).c_str(), nullptr) * static_cast<long double>(unit->ns);
  }
  if (total_ns >= 0x1p63L) return fail(kInvalid);
  const auto ns = static_cast<std::int64_t>(total_ns);
  return std::chrono::nanoseconds(negative ? -ns : ns);
}

std::string HumanBytes(std::uint64_t size_bytes) {
  constexpr auto kSuffixes =
      std::to_array<std::string_view>({"B", "kB", "MB", "GB", "TB", "PB", "EB"});
  if (size_bytes < 10) return fmt::format("{} B", size_bytes);
  auto suffix = kSuffixes.begin();
  std::uint64_t unit = 1;
  while (size_bytes / unit >= 1000) {
    unit *= 1000;
    ++suffix;
  }
  const double value =
      std::floor(static_cast<double>(size_bytes) / static_cast<double>(unit) * 10 + 0.5) / 10;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, *suffix);
}

}  // namespace kvorum::ctl
