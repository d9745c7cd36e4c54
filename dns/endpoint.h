// The place that a service's value names: HOST:PORT or HOST alone, with an IPv6 address in brackets
// where a port follows. HOST is an address or a host name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dns/message.h"

namespace kvorum::dns {

struct Endpoint {
  Host host;
  std::uint16_t port = 0;  // 0: none is named
};

// Nothing if the value has another form; it has no answers then.
std::optional<Endpoint> ParseEndpoint(std::string_view value);

// HOST alone.
std::optional<Host> ParseHost(std::string_view text);

// A label of letters, digits, hyphens and underscores.
bool IsHostLabel(std::string_view label);

}  // namespace kvorum::dns
