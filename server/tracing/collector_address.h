// The address of a collector as gRPC's Go client takes one: `host:port`, `[v6]:port`, a host alone
// (port 443), `dns:///host:port`, `passthrough:///host:port`, `unix:path`, `unix:///path`.
//
// Pure functions.
#pragma once

#include <string_view>

#include "rpc/io/dial_target.h"

namespace kvorum::server::tracing {

rpc::DialTarget ParseCollectorAddress(std::string_view text);

}  // namespace kvorum::server::tracing
