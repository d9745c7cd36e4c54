#include "base/net/resolved_url.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/freed_by.h"
#include "base/net/url.h"

namespace kvorum {

std::string ResolvedUrl(const std::string& url) {
  const auto parsed = Url::Parse(url);
  if (!parsed.has_value() || parsed->unix_socket()) return url;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(parsed->host().c_str(), nullptr, &hints, &found) != 0) return url;
  const std::unique_ptr<addrinfo, FreedBy<freeaddrinfo>> guard(found);
  const addrinfo* best = found;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET) continue;
    best = each;
    break;
  }
  std::array<char, NI_MAXHOST> address{};
  if (getnameinfo(best->ai_addr, best->ai_addrlen, address.data(), address.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return url;
  }
  return (parsed->tls() ? "https://" : "http://") + std::string(address.data()) + ":" +
         std::to_string(parsed->dial_port());
}

bool SameUrls(const UrlResolver& resolve, std::vector<std::string> a, std::vector<std::string> b) {
  if (a.size() != b.size()) return false;
  std::ranges::sort(a);
  std::ranges::sort(b);
  if (a == b) return true;
  if (!resolve) return false;
  for (auto* urls : {&a, &b}) {
    for (std::string& url : *urls) url = resolve(url);
    std::ranges::sort(*urls);
  }
  return a == b;
}

}  // namespace kvorum
