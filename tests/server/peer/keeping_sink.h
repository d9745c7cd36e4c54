// Keeps the answer of a handler of HTTP requests.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "rpc/http/http.h"

namespace kvorum::server {

struct KeepingSink final : rpc::HttpSink {
  void Complete(rpc::HttpResponse response) override { kept = std::move(response); }
  std::optional<rpc::HttpResponse> kept;
};

// "200 body"
inline std::string StatusAndBody(const rpc::HttpResponse& response) {
  return std::to_string(response.status) + " " + Join(response.body);
}

}  // namespace kvorum::server
