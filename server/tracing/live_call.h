// A traced call until it ends: its own span, and those below it as its messages come and go.
//
// Thread-safe: the answer comes from any thread, the cancellation from the call's loop. The lock is
// held over a few lines, and two threads meet at it only when a call is cancelled as it is
// answered. The first End counts. Ownership: the tracer outlives it. Bounded: past kMaxInner live
// spans a stream's further ones are dropped and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "rpc/call/call_context.h"
#include "server/tracing/request_spans.h"
#include "server/tracing/span.h"
#include "server/tracing/tracer.h"

namespace kvorum::server::tracing {

class LiveCall {
 public:
  static constexpr std::size_t kMaxInner = 1024;

  // On the call's loop. The method's spans outlive the call.
  LiveCall(Tracer& tracer, Tracer::Begun begun, const MethodSpans& spans,
           const rpc::CallContext& call);

  // A message of the client; one of the server, or the beginning of it.
  void OnRequest(std::string_view message);
  void OnAnswer(std::string_view message);
  bool looks_at_answers() const { return shape_.shape != Shape::kPlain; }
  void End(const Error& status);

 private:
  // Spans that may be left out, but keep their place.
  using SpanPointer = std::unique_ptr<Span>;

  std::int64_t NowNanos() const;
  SpanPointer MakeInner(InnerSpan described);
  void EndInner(SpanPointer span);
  void OnWatchAnswer(std::string_view message);
  void AddFate(Span& span, const Error& status, std::int64_t now_ns) const;
  std::vector<SpanPointer> TakeAll();

  Tracer& tracer_;
  const MethodSpans& shape_;
  const TimePoint started_;
  const std::int64_t started_wall_ns_;

  std::mutex mutex_;  // guards what follows
  bool ended_ = false;
  bool has_request_ = false;
  bool proposes_ = false;
  std::int64_t proposed_ns_ = 0;
  SpanPointer server_;
  // The request's span, or those of messages that have no answer yet, in their order.
  std::deque<SpanPointer> inner_;
  std::unordered_map<std::int64_t, SpanPointer> watchers_;  // by their ids
};

}  // namespace kvorum::server::tracing
