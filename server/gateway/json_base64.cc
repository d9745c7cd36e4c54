#include "server/gateway/json_base64.h"

#include <algorithm>

#include "base/base64.h"

namespace kvorum::server::gateway {

std::optional<std::string> DecodeJsonBytes(std::string_view text) {
  const bool is_padded = text.size() % 4 == 0;
  if (!is_padded && text.contains('=')) return std::nullopt;
  std::string standard;
  if (text.find_first_of("-_\r\n") != std::string_view::npos) {
    const bool is_url = text.find_first_of("-_") != std::string_view::npos;
    if (is_url && text.find_first_of("+/") != std::string_view::npos) return std::nullopt;
    standard = text;
    std::erase_if(standard, [](char c) { return c == '\r' || c == '\n'; });
    std::ranges::replace(standard, '-', '+');
    std::ranges::replace(standard, '_', '/');
    text = standard;
  }
  auto bytes = DecodeBase64(is_padded ? Base64::kStandard : Base64::kUnpadded, text);
  if (!bytes) return std::nullopt;
  return *std::move(bytes);
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
