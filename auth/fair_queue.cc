#include "auth/fair_queue.h"

#include <arpa/inet.h>

#include <functional>
#include <string>

namespace kvorum::auth {
namespace {

std::string HostOf(std::string_view remote) {
  std::string host(remote.substr(0, remote.rfind(':')));
  if (!host.starts_with('[')) return host;
  in6_addr address{};
  if (inet_pton(AF_INET6, host.substr(1, host.find_first_of("%]") - 1).c_str(), &address) != 1 ||
      IN6_IS_ADDR_V4MAPPED(&address))
    return host;
  return {reinterpret_cast<const char*>(address.s6_addr), 8};
}

}  // namespace

QueueKey QueueKeyOf(std::string_view remote, std::string_view user) {
  return {.address = std::hash<std::string>()(HostOf(remote)),
          .user = std::hash<std::string_view>()(user)};
}

}  // namespace kvorum::auth
