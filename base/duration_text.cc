#include "base/duration_text.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace kvorum {

using std::chrono::nanoseconds;

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

}  // namespace kvorum
