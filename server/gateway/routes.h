// The gateway's routes: each POST path with the method of the API that it calls, as the rows of
// server/call/api.h have them.
// docs/operations/gateway.md lists them; tests/gateway/routes_test.cc compares.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "proto/fields.h"

namespace kvorum::server::gateway {

struct Route {
  std::string_view path;  // "/v3/kv/range"
  std::string method;     // "/etcdserverpb.KV/Range", as the router has it
  const wire::Table* request = nullptr;
  const wire::Table* response = nullptr;
  bool reads_open_body = false;  // its requests are a stream
};

std::span<const Route> Routes();
// Null if there is none.
const Route* FindRoute(std::string_view path);

}  // namespace kvorum::server::gateway
