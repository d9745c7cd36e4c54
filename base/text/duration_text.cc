#include "base/text/duration_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

#include "base/letter_case.h"
#include "base/text/go_quote.h"

namespace kvorum {

using std::chrono::nanoseconds;

namespace {

// Formats a number of units as in "12.034", the fraction without trailing zeros.
std::string Decimal(std::uint64_t value, int fraction_digits) {
  std::uint64_t scale = 1;
  for (int i = 0; i < fraction_digits; ++i) scale *= 10;
  std::string out = std::to_string(value / scale);
  if (value % scale == 0) return out;
  const std::string fraction = std::to_string(value % scale);
  out += '.';
  out.append(static_cast<std::size_t>(fraction_digits) - fraction.size(), '0');
  out += fraction;
  out.erase(out.find_last_not_of('0') + 1);
  return out;
}

struct Unit {
  std::string_view name;
  std::uint64_t ns;
};
constexpr Unit kUnits[] = {
    {"ns", 1},         {"us", 1'000},        {"µs", 1'000},  // the micro sign
    {"μs", 1'000},                                           // the Greek letter
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};

template <class Predicate>
std::string_view TakeWhile(std::string_view& text, Predicate fits) {
  const auto end = std::ranges::find_if_not(text, fits);
  const std::string_view taken = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

// 0.`digits` of the unit, truncated to nanoseconds.
std::uint64_t FractionOf(std::uint64_t unit_ns, std::string_view digits) {
  constexpr std::size_t kMostDigits = 18;  // further digits are below a nanosecond for every unit
  std::uint64_t value = 0;
  double scale = 1;
  for (const char c : digits.substr(0, kMostDigits)) {
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    scale *= 10;
  }
  return static_cast<std::uint64_t>(static_cast<double>(value) *
                                    (static_cast<double>(unit_ns) / scale));
}

}  // namespace

Result<nanoseconds> ParseDuration(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kInvalidArgument, "time: " + std::string(why) + " " + GoQuote(text));
  };
  constexpr std::string_view kInvalid = "invalid duration";
  constexpr auto kLongest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::string_view rest = text;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return nanoseconds(0);
  if (rest.empty()) return refuse(kInvalid);
  std::uint64_t total_ns = 0;
  while (!rest.empty()) {
    const std::string_view whole = TakeWhile(rest, IsDigit);
    const bool has_point = rest.starts_with('.');
    if (has_point) rest.remove_prefix(1);
    const std::string_view fraction = has_point ? TakeWhile(rest, IsDigit) : std::string_view();
    if (whole.empty() && fraction.empty()) return refuse(kInvalid);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), count);
    if (error == std::errc::result_out_of_range || count > kLongest + 1) return refuse(kInvalid);
    const std::string_view name = TakeWhile(rest, [](char c) { return c != '.' && !IsDigit(c); });
    if (name.empty()) return refuse("missing unit in duration");
    const auto unit = std::ranges::find(kUnits, name, &Unit::name);
    if (unit == std::end(kUnits)) return refuse("unknown unit " + GoQuote(name) + " in duration");
    if (count > kLongest / unit->ns) return refuse(kInvalid);
    total_ns += count * unit->ns + FractionOf(unit->ns, fraction);
    if (total_ns > kLongest) return refuse(kInvalid);
  }
  const auto ns = static_cast<std::int64_t>(total_ns);
  return nanoseconds(is_negative ? -ns : ns);
}

std::string FormatDuration(nanoseconds d) {
  const std::string sign = d.count() < 0 ? "-" : "";
  const std::uint64_t ns = d.count() < 0 ? 0 - static_cast<std::uint64_t>(d.count())
                                         : static_cast<std::uint64_t>(d.count());
  constexpr std::uint64_t kSecond = 1'000'000'000;
  constexpr std::uint64_t kMinute = 60 * kSecond;
  if (ns == 0) return "0s";
  if (ns < 1'000) return sign + Decimal(ns, 0) + "ns";
  if (ns < 1'000'000) return sign + Decimal(ns, 3) + "µs";
  if (ns < kSecond) return sign + Decimal(ns, 6) + "ms";
  std::string out = sign;
  if (ns >= 60 * kMinute) out += std::to_string(ns / (60 * kMinute)) + "h";
  if (ns >= kMinute) out += std::to_string(ns / kMinute % 60) + "m";
  return out + Decimal(ns % kMinute, 9) + "s";
}

}  // namespace kvorum
