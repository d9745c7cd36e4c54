// One RPC as a row: how its request is read and its response written, who may call it, what a
// learner serves of it, what it costs and what its request must satisfy. The rows stand in api.h;
// gRPC, the services themselves, tests and fuzzers read them from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/service.h"
#include "server/call/asker.h"
#include "server/messages/kv_encode.h"

namespace kvorum::server {

template <class RequestType, class ResponseType>
struct Method {
  using Request = RequestType;
  using Response = ResponseType;

  std::string_view service;
  std::string_view name;
  // MalformedRequest, InvalidUtf8Request (kv_decode.h). Views in the request point into `bytes`.
  Result<Request> (*decode)(std::string_view bytes);
  // Null: the handler encodes what it reads while it reads it.
  SharedBytes (*encode)(const ResponseHeader& header, const Response& response);
  // Judged when the call enters; what a request does to keys is judged again where it happens
  // (access.h). Null: anybody may call, whatever token they show.
  Result<void> (*admits)(const Asker& asker, const Request& request);
  // What a member without a vote serves, which must not promise anything in the cluster's name.
  // Null: nothing.
  bool (*learner_serves)(const Request& request) = nullptr;
  // Bytes that it may add to the database, for the quota. Null: none.
  std::uint64_t (*cost_bytes)(const Request& request) = nullptr;
  // The API's rules for a request. Null: there are none that are not seen where it is applied.
  Result<void> (*check)(const Request& request, std::size_t max_txn_ops) = nullptr;
};

// A stream's messages are its handler's to read and to judge.
struct StreamMethod {
  std::string_view service;
  std::string_view name;
  rpc::MethodKind kind;
  // Judged when the stream begins. Null: anybody may begin one.
  Result<void> (*admits)(const Asker& asker);
};

// A request with the bytes that it points into, which are also what goes into the log.
template <class Request>
struct Received {
  Request request;
  SharedBytes bytes;
};

}  // namespace kvorum::server
