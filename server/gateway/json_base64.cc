#include "server/gateway/json_base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace kvorum::server::gateway {
namespace {

constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNoDigit = 0xff;

using Values = std::array<std::uint8_t, 256>;

consteval Values ValuesOf(std::string_view alphabet) {
  Values values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr Values kStandardValues = ValuesOf(kStandard);
constexpr Values kUrlValues = ValuesOf(kUrl);

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

// The padding at the end, where `digits` digits of the last four were read: the first '=' is taken
// already.
bool IsPadding(std::string_view rest, unsigned digits) {
  if (digits < 2) return false;
  const auto equal_signs = std::ranges::count(rest, '=');
  const auto line_ends = std::ranges::count_if(rest, IsLineEnd);
  return static_cast<std::size_t>(equal_signs + line_ends) == rest.size() &&
         equal_signs == (digits == 2 ? 1 : 0);
}

}  // namespace

std::optional<std::string> DecodeJsonBytes(std::string_view text) {
  const bool is_url = text.find_first_of("-_") != std::string_view::npos;
  const Values& values = is_url ? kUrlValues : kStandardValues;
  const bool padded = text.size() % 4 == 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  unsigned digits = 0;  // in `bits`
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint8_t value = values[static_cast<unsigned char>(text[i])];
    if (value == kNoDigit) {
      if (IsLineEnd(text[i])) continue;
      if (!padded || text[i] != '=' || !IsPadding(text.substr(i + 1), digits)) return std::nullopt;
      bits <<= 6 * (4 - digits);
      bytes += static_cast<char>(bits >> 16);
      if (digits == 3) bytes += static_cast<char>(bits >> 8);
      return bytes;
    }
    bits = bits << 6 | value;
    if (++digits < 4) continue;
    bytes += static_cast<char>(bits >> 16);
    bytes += static_cast<char>(bits >> 8);
    bytes += static_cast<char>(bits);
    bits = 0;
    digits = 0;
  }
  if (digits == 0) return bytes;
  if (padded || digits == 1) return std::nullopt;
  bits <<= 6 * (4 - digits);
  bytes += static_cast<char>(bits >> 16);
  if (digits == 3) bytes += static_cast<char>(bits >> 8);
  return bytes;
}

void AppendJsonBytes(std::string& out, std::string_view bytes) {
  std::size_t i = 0;
  const auto byte = [bytes](std::size_t at) -> std::uint32_t {
    return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
  };
  for (; i < bytes.size(); i += 3) {
    const std::uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    const std::size_t left = bytes.size() - i;
    const char group[] = {kStandard[bits >> 18], kStandard[bits >> 12 & 63],
                          left > 1 ? kStandard[bits >> 6 & 63] : '=',
                          left > 2 ? kStandard[bits & 63] : '='};
    out.append(group, sizeof(group));
  }
}

bool EndsWithSpace(std::string_view text) {
  if (text.empty()) return false;
  if (const char last = text.back(); last == ' ' || (last >= '\t' && last <= '\r')) return true;
  constexpr std::string_view kSpaces[] = {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001",
                                          "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
                                          "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
                                          "\u2029", "\u202f", "\u205f", "\u3000"};
  return std::ranges::any_of(kSpaces,
                             [text](std::string_view space) { return text.ends_with(space); });
}

}  // namespace kvorum::server::gateway
