// Decides which calls are traced and gives their spans identities.
//
// Thread-safe. A call that is not sampled costs a look at its metadata and no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rpc/call/call_context.h"
#include "server/tracing/sampler.h"
#include "server/tracing/span.h"
#include "server/tracing/span_sink.h"

namespace kvorum::server::tracing {

struct TracerOptions {
  std::int64_t samples_per_million = 0;  // of the traces that begin here
  std::size_t max_txn_ops = 0;           // beyond it a txn is refused
};

class Tracer {
 public:
  // The sink outlives the tracer.
  Tracer(const TracerOptions& options, SpanSink& sink);

  // The identity of a call's span, in the trace of its metadata or in a new one; nothing if the
  // call is not sampled.
  struct Begun {
    SpanContext context;
    SpanId parent_id{};  // all zero: a new trace
  };
  std::optional<Begun> Begin(const rpc::CallContext& call) const;

  static SpanId NewSpanId();
  std::size_t max_txn_ops() const { return max_txn_ops_; }
  SpanSink& sink() { return sink_; }

 private:
  const Sampler sampler_;
  const std::size_t max_txn_ops_;
  SpanSink& sink_;
};

}  // namespace kvorum::server::tracing
