#include "base/net/ip_text.h"

#include <optional>

#include "base/letter_case.h"
#include "base/text/go_quote.h"

namespace kvorum {
namespace {

constexpr std::size_t kGroups = 8;

bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Builds the error texts about one address.
class Refusal {
 public:
  explicit Refusal(std::string_view text) : text_(text) {}
  std::string Because(std::string_view reason) const {
    return "ParseAddr(" + GoQuote(text_) + "): " + std::string(reason);
  }
  std::string Because(std::string_view reason, std::string_view rest) const {
    return rest.empty() ? Because(reason) : Because(reason) + " (at " + GoQuote(rest) + ")";
  }

 private:
  std::string_view text_;
};

// Returns the fault, if any, of four decimal numbers, which may be the end of a longer text.
std::optional<std::string> DottedProblem(std::string_view text, const Refusal& refusal) {
  unsigned value = 0;
  std::size_t digits = 0;
  std::size_t dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (IsDigit(text[i])) {
      if (digits == 1 && value == 0)
        return refusal.Because("IPv4 field has octet with leading zero");
      value = value * 10 + static_cast<unsigned>(text[i] - '0');
      ++digits;
      if (value > 255) return refusal.Because("IPv4 field has value >255");
      continue;
    }
    if (text[i] != '.') return refusal.Because("unexpected character", rest);
    if (digits == 0 || rest.size() == 1)
      return refusal.Because("IPv4 field must have at least one digit", rest);
    if (dots == 3) return refusal.Because("IPv4 address too long");
    ++dots;
    value = 0;
    digits = 0;
  }
  if (dots < 3) return refusal.Because("IPv4 address too short");
  return std::nullopt;
}

// Returns the fault, if any, of groups of hexadecimal digits between colons.
std::optional<std::string> GroupsProblem(std::string_view text, const Refusal& refusal) {
  std::size_t groups = 0;
  bool has_gap = text.starts_with("::");
  if (has_gap) text.remove_prefix(2);
  if (has_gap && text.empty()) return std::nullopt;
  while (groups < kGroups) {
    std::size_t digits = 0;
    while (digits < text.size() && IsHexDigit(text[digits])) {
      if (++digits > 4) return refusal.Because("each group must have 4 or less digits", text);
    }
    if (digits == 0) {
      return refusal.Because("each colon-separated field must have at least one digit", text);
    }
    if (digits < text.size() && text[digits] == '.') {
      if (!has_gap && groups != kGroups - 2) {
        return refusal.Because(
            "embedded IPv4 address must replace the final 2 fields of the address", text);
      }
      if (groups + 2 > kGroups) {
        return refusal.Because(
            "too many hex fields to fit an embedded IPv4 at the end of the address", text);
      }
      if (auto problem = DottedProblem(text, refusal)) return problem;
      text = {};
      groups += 2;
      break;
    }
    ++groups;
    text.remove_prefix(digits);
    if (text.empty()) break;
    if (text.front() != ':') return refusal.Because("unexpected character, want colon", text);
    if (text.size() == 1) return refusal.Because("colon must be followed by more characters", text);
    text.remove_prefix(1);
    if (text.front() != ':') continue;
    if (has_gap) return refusal.Because("multiple :: in address", text);
    has_gap = true;
    text.remove_prefix(1);
    if (text.empty()) break;
  }
  if (!text.empty()) return refusal.Because("trailing garbage after address", text);
  if (groups < kGroups && !has_gap) return refusal.Because("address string too short");
  if (groups == kGroups && has_gap)
    return refusal.Because("the :: must expand to at least one field of zeros");
  return std::nullopt;
}

}  // namespace

std::expected<IpKind, std::string> ClassifyIp(std::string_view text) {
  const Refusal refusal(text);
  const std::size_t first = text.find_first_of(".:%");
  if (first == std::string_view::npos)
    return std::unexpected(refusal.Because("unable to parse IP"));
  if (text[first] == '%') return std::unexpected(refusal.Because("missing IPv6 address"));
  if (text[first] == '.') {
    if (auto problem = DottedProblem(text, refusal)) return std::unexpected(*std::move(problem));
    return IpKind::kV4;
  }
  const std::size_t percent = text.find('%');
  if (percent + 1 == text.size())
    return std::unexpected(refusal.Because("zone must be a non-empty string"));
  if (auto problem = GroupsProblem(text.substr(0, percent), refusal))
    return std::unexpected(*std::move(problem));
  return percent == std::string_view::npos ? IpKind::kV6 : IpKind::kV6WithZone;
}

}  // namespace kvorum
