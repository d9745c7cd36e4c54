#include "server/tracing/collector_address.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace kvorum::server::tracing {
namespace {

constexpr std::string_view kDefaultPort = "443";

}  // namespace

rpc::DialTarget ParseCollectorAddress(std::string_view text) {
  rpc::DialTarget address;
  if (text.starts_with("unix:")) {
    text.remove_prefix(std::string_view("unix:").size());
    if (text.starts_with("//")) text.remove_prefix(2);
    address.unix_path = text;
    address.authority = "localhost";
    return address;
  }
  constexpr std::array<std::string_view, 2> kResolvers{"dns:", "passthrough:"};
  for (const std::string_view resolver : kResolvers) {
    if (!text.starts_with(resolver)) continue;
    text.remove_prefix(resolver.size());
    // A name between the second and the third slash is that of a server to ask.
    if (text.starts_with("//"))
      text = text.substr(std::min(text.find('/', 2), text.size() - 1) + 1);
    break;
  }
  address.authority = text;
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos && text.find(']', colon) == text.npos &&
                        (text.starts_with('[') || text.find(':') == colon);
  std::string_view host = has_port ? text.substr(0, colon) : text;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  address.host = host;
  address.port = has_port && colon + 1 < text.size() ? text.substr(colon + 1) : kDefaultPort;
  return address;
}

}  // namespace kvorum::server::tracing
