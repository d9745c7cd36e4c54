// The spans below a call's own: its name and its attributes, as etcd 3.7 has them. The rows of the
// API (server/call/api.h) say which method has which.
//
// Pure functions of the request's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/call_span.h"
#include "base/error.h"
#include "server/tracing/span.h"

namespace kvorum::server::tracing {

struct InnerSpan {
  std::string_view name;  // static storage
  std::vector<Attribute> attributes;
};

// The way in which a call's spans come about.
enum class Shape : std::uint8_t {
  kPlain,     // the call's own span alone
  kRequest,   // one below it, of the first message
  kRenewals,  // one for each message, until its answer
  kWatchers,  // one for each watcher, until it is cancelled
};

struct MethodSpans {
  Shape shape = Shape::kPlain;
  // Null for kPlain. Nothing for a message that does not get as far as this in etcd: it cannot be
  // read, or breaks the API's rules.
  std::optional<InnerSpan> (*describe)(std::string_view message, std::size_t max_txn_ops) = nullptr;
  // True if such a message is a proposal for the log.
  bool (*proposes)(std::string_view message) = nullptr;
  // True if the span has an event for an error of the proposal itself.
  bool tells_failures = true;
};

const MethodSpans& SpansOf(CallSpan span);

// True for the errors of checks before the handler, where etcd has no span yet.
bool IsBeforeHandler(const Error& error);

// The fate of a proposal, by the call's outcome.
struct ProposalFate {
  bool was_sent = true;
  bool was_answered = true;
  std::string_view exception;  // the error's text where the request failed outside of the log
};
ProposalFate FateOf(const Error& outcome);

}  // namespace kvorum::server::tracing
