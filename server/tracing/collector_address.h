// The address of a collector as gRPC's Go client takes one: `host:port`, `[v6]:port`, a host alone
// (port 443), `dns:///host:port`, `passthrough:///host:port`, `unix:path`, `unix:///path`.
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace kvorum::server::tracing {

struct CollectorAddress {
  std::string host;
  std::string port;
  std::string unix_path;  // empty: host and port count
  std::string authority;  // for the request's header
};

CollectorAddress ParseCollectorAddress(std::string_view text);

}  // namespace kvorum::server::tracing
