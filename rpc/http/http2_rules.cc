#include "rpc/http/http2_rules.h"

#include <algorithm>

#include "base/letter_case.h"
#include "base/text/parse_number.h"

namespace kvorum::rpc {
namespace {

bool IsLetter(char c) { return LowerCase(c) >= 'a' && LowerCase(c) <= 'z'; }

}  // namespace

bool IsConnectionField(std::string_view name) {
  return name == "connection" || name == "keep-alive" || name == "proxy-connection" ||
         name == "transfer-encoding" || name == "upgrade";
}

bool IsAllowedTe(std::string_view value) { return EqualsInAnyCase(value, "trailers"); }

bool IsScheme(std::string_view value) {
  return !value.empty() && IsLetter(value.front()) && std::ranges::all_of(value, [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '+' || c == '-' || c == '.';
  });
}

std::optional<std::uint64_t> ParseContentLength(std::string_view value) {
  return ParseNumber<std::uint64_t>(value);
}

bool IsSameHost(std::string_view host, std::string_view authority, bool is_https) {
  const std::string_view own_port = is_https ? ":443" : ":80";
  for (std::string_view* name : {&host, &authority}) {
    if (name->ends_with(own_port)) name->remove_suffix(own_port.size());
  }
  return EqualsInAnyCase(host, authority);
}

}  // namespace kvorum::rpc
