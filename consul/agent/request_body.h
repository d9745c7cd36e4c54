// The body of a request to /v1/agent. Pure, but for the answer to a body that is not JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "consul/http/exchange.h"

namespace kvorum::consul {

inline constexpr std::string_view kDecodeFailed = "Request decode failed: ";

// JSON; null is as good as an object without members, as Go's decoder takes it. Nothing: 400 has
// been answered.
inline std::optional<Json> AgentBody(Exchange& exchange) {
  auto body = JsonBody(exchange, kDecodeFailed);
  if (body.has_value() && body->is_null()) *body = Json::object();
  return body;
}

}  // namespace kvorum::consul
