// Takes spans that have ended. Thread-safe; no call waits in it.
#pragma once

#include <memory>

#include "server/tracing/span.h"

namespace kvorum::server::tracing {

class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void Add(std::unique_ptr<Span> span) = 0;
  // A span that was never made.
  virtual void CountDropped() = 0;
};

}  // namespace kvorum::server::tracing
