// The gateway's routes: each POST path with the method of the API that it calls.
// docs/operations/gateway.md lists them; tests/gateway/routes_test.cc compares.
#pragma once

#include <span>
#include <string_view>

#include "server/gateway/message_shape.h"

namespace kvorum::server::gateway {

struct Route {
  std::string_view path;    // "/v3/kv/range"
  std::string_view method;  // "/etcdserverpb.KV/Range", as the router has it
  const MessageShape* request = nullptr;
  const MessageShape* response = nullptr;
  bool reads_open_body = false;  // its requests are a stream
};

std::span<const Route> Routes();
// Null if there is none.
const Route* FindRoute(std::string_view path);

}  // namespace kvorum::server::gateway
