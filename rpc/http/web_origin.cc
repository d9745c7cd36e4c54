#include "rpc/http/web_origin.h"

#include <algorithm>

#include "base/letter_case.h"

namespace kvorum::rpc {
namespace {

constexpr std::string_view kPlainScheme = "http://";
constexpr std::string_view kSecureScheme = "https://";

// The part behind the scheme; empty for an origin that names no host ("null").
std::string_view AuthorityOf(std::string_view origin) {
  for (const std::string_view scheme : {kPlainScheme, kSecureScheme}) {
    if (EqualsInAnyCase(origin.substr(0, scheme.size()), scheme))
      return origin.substr(scheme.size());
  }
  return {};
}

}  // namespace

std::string_view AskedHost(const HttpRequest& request) {
  return request.Header("host").value_or("");
}

std::string_view HostnameOf(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) return host;
  const std::string_view name = host.substr(0, colon);
  constexpr std::string_view kMarks = ":[]";
  if (!name.starts_with('[')) return name.find_first_of(kMarks) == name.npos ? name : host;
  const std::size_t end = name.find(']');
  if (end == name.npos || end + 1 != name.size()) return host;
  const std::string_view inner = name.substr(1, end - 1);
  return inner.find_first_of("[]") == inner.npos ? inner : host;
}

std::string WithPort(std::string_view origin) {
  std::string lower = LowerCase(std::string(origin));
  const std::string_view authority = AuthorityOf(lower);
  if (authority.empty() || HostnameOf(authority) != authority) return lower;
  return lower + (lower.starts_with(kSecureScheme) ? ":443" : ":80");
}

bool IsOwnOrigin(std::string_view origin, const HttpRequest& request) {
  const std::string_view scheme = request.is_secure ? kSecureScheme : kPlainScheme;
  return WithPort(origin) == WithPort(std::string(scheme) + std::string(AskedHost(request)));
}

bool IsFromOtherHost(const HttpRequest& request) {
  const std::string_view asked = HostnameOf(AskedHost(request));
  return std::ranges::any_of(request.headers, [asked](const HttpHeader& header) {
    return header.name == "origin" &&
           !EqualsInAnyCase(HostnameOf(AuthorityOf(header.value)), asked);
  });
}

}  // namespace kvorum::rpc
