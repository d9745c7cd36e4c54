#include "server/process/settings/yaml_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/text/go_number.h"
#include "base/words.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kNulls[] = {"", "~", "null", "Null", "NULL"};
constexpr std::string_view kTrue[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                      "True", "TRUE", "on",  "On",  "ON"};
constexpr std::string_view kFalse[] = {"n",     "N",     "no",  "No",  "NO", "false",
                                       "False", "FALSE", "off", "Off", "OFF"};
constexpr std::string_view kNoNumbers[] = {".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
                                           "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN"};
// Larger whole numbers are written with an exponent.
constexpr double kMostWhole = 1e21;

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool LooksLikeDecimal(std::string_view text) {
  const auto skip_digits = [&text] {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(digits);
    return digits;
  };
  const auto skip_sign = [&text] {
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  };
  skip_sign();
  std::size_t digits = skip_digits();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    digits += skip_digits();
  }
  if (digits == 0) return false;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    skip_sign();
    if (skip_digits() == 0) return false;
  }
  return text.empty();
}

}  // namespace

Result<void> ResolvePlain(std::string_view text, YamlNode& node) {
  using enum YamlNode::Kind;
  node.kind = kString;
  node.text = text;
  if (IsOneOf(text, kNulls)) {
    node.kind = kNull;
  } else if (IsOneOf(text, kTrue)) {
    node.kind = kBool;
    node.text = "true";
  } else if (IsOneOf(text, kFalse)) {
    node.kind = kBool;
    node.text = "false";
  } else if (IsOneOf(text, kNoNumbers)) {
    return Fail(Code::kInvalidArgument, std::string(text) + " is not a valid setting value");
  } else if (text.find_first_of("0123456789") != std::string_view::npos &&
             std::string_view("0123456789+-.").contains(text[0])) {
    std::string digits(text);
    std::erase(digits, '_');
    if (const auto whole = ParseInt(digits, 0); whole.has_value()) {
      node.kind = kNumber;
      node.text = std::to_string(*whole);
    } else if (const auto large = ParseUint(digits, 0); large.has_value()) {
      node.kind = kNumber;
      node.text = std::to_string(*large);
    } else if (LooksLikeDecimal(digits)) {
      const double number = std::strtod(digits.c_str(), nullptr);
      if (!std::isfinite(number)) return {};  // too large for a number: a string
      node.kind = kNumber;
      node.text = std::trunc(number) == number && std::abs(number) < kMostWhole
                      ? fmt::format("{:.0f}", number)
                      : fmt::format("{}", number);
    }
  }
  return {};
}

}  // namespace kvorum::server
