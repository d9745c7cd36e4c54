// One RPC as a row: how its request is decoded and its response encoded, who may call it, whether a
// learner serves it, its quota cost and the rules for its request; its routes in the JSON gateway;
// what lines about slow calls and traces say of it. The rows are in api.h; gRPC, the gateway, the
// log, traces, tests and fuzzers read them from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/call_span.h"
#include "api/entries/request_summary.h"
#include "api/kv_encode.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "rpc/call/service.h"
#include "server/call/asker.h"

namespace kvorum::server {

// The gateway's POST paths, separated by spaces; empty: it has none.
struct JsonRoutes {
  std::string_view paths = {};
  // "Range" for RangeRequest and RangeResponse of the service's package; empty: the method's name.
  std::string_view messages = {};
};

// etcd's count of what an answer tells of: nothing said, always 0, the rows.
enum class AnswerCount : std::uint8_t { kUnsaid, kZero, kRows };

// The method's part in lines about slow calls (slow_calls.h), in etcd's words.
struct SlowLine {
  std::string_view operation = {};    // in a trace; empty: it has none
  std::string_view read_prefix = {};  // of a call that only reads
  // Null: its requests are not shown, and not kept for that.
  CallSummary (*summarize)(std::string_view request) = nullptr;
  AnswerCount count = AnswerCount::kUnsaid;
};

template <class RequestType, class ResponseType>
struct Method {
  using Request = RequestType;
  using Response = ResponseType;

  std::string_view service;
  std::string_view name;
  JsonRoutes json = {};
  // Errors are MalformedRequest, InvalidUtf8Request (kv_decode.h). The request refers to `bytes`.
  Result<Request> (*decode)(std::string_view bytes);
  // Null: the handler encodes the response while it reads.
  SharedBytes (*encode)(const ResponseHeader& header, const Response& response);
  // Called when the call enters; a request's access to keys is checked again where it happens
  // (access.h). Null: anybody may call, with any token.
  Result<void> (*admits)(const Asker& asker, const Request& request);
  // True for requests that a member without a vote serves, which must not promise anything in the
  // cluster's name. Null: none.
  bool (*learner_serves)(const Request& request) = nullptr;
  // The bytes that it may add to the database, for the quota. Null: none.
  std::uint64_t (*cost_bytes)(const Request& request) = nullptr;
  // The API's rules for a request. Null: all rules are checked where it is applied.
  Result<void> (*check)(const Request& request, std::size_t max_txn_ops) = nullptr;
  SlowLine slow = {};
  CallSpan span = CallSpan::kPlain;
};

// The handler decodes and checks a stream's messages.
struct StreamMethod {
  std::string_view service;
  std::string_view name;
  JsonRoutes json = {};
  rpc::MethodKind kind;
  // Called when the stream begins. Null: anybody may begin one.
  Result<void> (*admits)(const Asker& asker);
  // True if a member without a vote serves it.
  bool learner_serves = false;
  CallSpan span = CallSpan::kPlain;
};

// A request with the bytes that it refers to, which also go into the log.
template <class Request>
struct Received {
  Request request;
  SharedBytes bytes;
};

}  // namespace kvorum::server
