#include "base/duration_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace kvorum {

using std::chrono::nanoseconds;

namespace {

// "12.034" of a number of units; the fraction without its trailing zeros.
std::string Decimal(std::uint64_t value, int fraction_digits) {
  std::uint64_t scale = 1;
  for (int i = 0; i < fraction_digits; ++i) scale *= 10;
  std::string out = fmt::format("{}", value / scale);
  if (value % scale == 0) return out;
  out += fmt::format(".{:0{}}", value % scale, fraction_digits);
  out.erase(out.find_last_not_of('0') + 1);
  return out;
}

}  // namespace

Result<nanoseconds> ParseDuration(std::string_view text) {
  const auto refuse = [&] {
    return Fail(Code::kInvalidArgument, "time: invalid duration \"" + std::string(text) + "\"");
  };
  std::string_view rest = text;
  bool negative = false;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return nanoseconds(0);
  if (rest.empty()) return refuse();
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      // longer names before their prefixes
      {"ns", 1},   {"us", 1e3}, {"µs", 1e3}, {"μs", 1e3},
      {"ms", 1e6}, {"s", 1e9},  {"m", 60e9}, {"h", 3600e9}};
  double total = 0;
  while (!rest.empty()) {
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    double number = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + digits, number, std::chars_format::fixed);
    if (digits == 0 || error != std::errc{} || end != rest.data() + digits) return refuse();
    rest.remove_prefix(digits);
    const auto unit =
        std::ranges::find_if(kUnits, [&](const auto& u) { return rest.starts_with(u.first); });
    if (unit == std::end(kUnits)) return refuse();
    total += number * unit->second;
    rest.remove_prefix(unit->first.size());
  }
  if (total > 9.2e18) return refuse();
  return nanoseconds(static_cast<std::int64_t>(negative ? -total : total));
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
  if (ns >= 60 * kMinute) out += fmt::format("{}h", ns / (60 * kMinute));
  if (ns >= kMinute) out += fmt::format("{}m", ns / kMinute % 60);
  return out + Decimal(ns % kMinute, 9) + "s";
}

}  // namespace kvorum
