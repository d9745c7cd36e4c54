// Which message each unary method's request must be: one row for every method of the API.
//
// Go's gRPC reads a request before anybody looks at it, so bytes that are no message of the
// method's are told so first, whoever sent them and whatever state the member is in, and are never
// executed. Here a handler reads its request itself. These rows are for the rest: methods whose
// request has no fields, which nobody would read, and calls that are refused before a handler sees
// them.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace kvorum::server {

struct BodyRule {
  std::string_view service;
  std::string_view method;
  // MalformedRequest, InvalidUtf8Request (kv_decode.h).
  Result<void> (*check)(std::string_view request);
  // Otherwise the request is to be checked before the handler is called.
  bool handler_reads;
};

std::span<const BodyRule> BodyRules();
// Null: there is no such method, or it is a stream.
const BodyRule* FindBodyRule(std::string_view service, std::string_view method);

}  // namespace kvorum::server
