#include "server/process/settings/flag_value.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/text/duration_text.h"
#include "base/text/go_number.h"
#include "base/words.h"

namespace kvorum::server {
namespace {

using std::chrono::nanoseconds;

std::vector<std::string> SplitCommas(std::string_view text) {
  const auto parts = Split(text, ',');
  return {parts.begin(), parts.end()};
}

}  // namespace

ValueProblem Assign(const Flag& flag, std::string_view text, Options& options) {
  if (flag.check != nullptr) {
    if (auto problem = flag.check(text)) return problem;
  }
  if (flag.check == CheckUrls && text.empty()) return std::nullopt;
  const auto store = [&](auto field, auto parsed) -> ValueProblem {
    if (!parsed.has_value()) return NumberProblem(parsed.error());
    options.*field = *parsed;
    return std::nullopt;
  };
  return std::visit(
      [&](auto field) -> ValueProblem {
        using T = decltype(field);
        if constexpr (std::is_same_v<T, Text>) {
          if (field.boolean && !ParseBool(text)) return "parse error";
        } else if constexpr (std::is_same_v<T, std::string Options::*>) {
          options.*field = text;
        } else if constexpr (std::is_same_v<T, std::uint64_t Options::*>) {
          return store(field, ParseUint(text, 0));
        } else if constexpr (std::is_same_v<T, std::int64_t Options::*>) {
          return store(field, ParseInt(text, 0));
        } else if constexpr (std::is_same_v<T, bool Options::*>) {
          return store(field, ParseBool(text));
        } else if constexpr (std::is_same_v<T, nanoseconds Options::*>) {
          return store(field, ParseDuration(text));
        } else {
          options.*field = SplitCommas(text);
        }
        return std::nullopt;
      },
      flag.field);
}

bool EqualsDefault(const Flag& flag, std::string_view text) {
  if (text == flag.default_text) return true;
  if (IsBoolean(flag)) return ParseBool(text) == ParseBool(flag.default_text);
  const auto as_duration = ParseDuration(text);
  const auto default_duration = ParseDuration(flag.default_text);
  return as_duration && default_duration && *as_duration == *default_duration;
}

}  // namespace kvorum::server
