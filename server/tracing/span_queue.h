// Ended spans on their way from any thread to the exporter's.
//
// Push is thread-safe and never waits: one atomic exchange in a loop, no lock. Take belongs to the
// exporter. Bounded in spans and bytes, counted until Release, so those that the exporter holds
// count too; a span beyond a bound is dropped and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>

#include "base/metric.h"
#include "server/tracing/span.h"

namespace kvorum::server::tracing {

class SpanQueue {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

  // A batch is enough to be exported before its time.
  SpanQueue(std::size_t batch_spans, std::size_t max_spans)
      : batch_spans_(batch_spans), max_spans_(max_spans) {}
  ~SpanQueue();
  SpanQueue(const SpanQueue&) = delete;
  SpanQueue& operator=(const SpanQueue&) = delete;

  // True if this span completes a batch, for the caller to wake the exporter.
  bool Push(std::unique_ptr<Span> span);
  // Everything pushed so far, the oldest first, after what `spans` holds.
  void Take(std::deque<std::unique_ptr<Span>>& spans);
  // The exporter is done with a span.
  void Release(const Span& span);

  std::size_t waiting() const { return count_.load(std::memory_order_relaxed); }
  std::size_t waiting_bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t dropped() const { return dropped_.value(); }
  void CountDropped(std::size_t spans) { dropped_.Add(spans); }

 private:
  const std::size_t batch_spans_;
  const std::size_t max_spans_;
  std::atomic<Span*> newest_{nullptr};  // a stack, linked by Span::next
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> bytes_{0};
  Counter dropped_;
};

}  // namespace kvorum::server::tracing
