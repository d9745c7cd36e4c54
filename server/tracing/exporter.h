// Sends ended spans to a collector in batches, from its own thread ("otlp"): a full batch at
// once, fewer after their time. The times and sizes are those of OpenTelemetry's Go SDK.
//
// Add and the counters are thread-safe, and never wait. A batch that cannot be delivered is tried
// again within the time for an export if its error is of those that may pass, then dropped; dropped
// spans are counted and logged, at most once a minute. Stop sends what is there, but not for longer
// than its limit; a look-up of the collector's name that is under way may hold it up beyond that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/metric.h"
#include "base/rng.h"
#include "server/tracing/collector_connection.h"
#include "server/tracing/otel_environment.h"
#include "server/tracing/otlp_encode.h"
#include "server/tracing/span.h"
#include "server/tracing/span_queue.h"
#include "server/tracing/span_sink.h"

namespace kvorum::server::tracing {

// The time before another attempt; nothing if the error is final or no attempt fits before the
// limit. `attempt` counts up from 0.
std::optional<Duration> RetryDelay(const Error& error, int attempt, Duration left, Rng& rng);

class Exporter final : public SpanSink {
 public:
  Exporter(std::string address, Resource resource, ExportSettings settings = {});
  ~Exporter() override;
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  void Add(std::unique_ptr<Span> span) override;
  void CountDropped() override { queue_.CountDropped(1); }
  // Spans that are added afterwards are lost. Once.
  void Stop(Duration limit);

  std::uint64_t exported() const { return exported_.value(); }
  std::uint64_t dropped() const { return queue_.dropped(); }
  std::size_t waiting() const { return queue_.waiting(); }
  std::size_t waiting_bytes() const { return queue_.waiting_bytes(); }

 private:
  using Batch = std::span<const std::unique_ptr<Span>>;

  void Run();
  void Sleep(TimePoint until);
  void ExportReady(std::size_t at_least);
  void Export(Batch batch);
  // With its repetitions. The number of spans that the collector took.
  Result<std::size_t> Send(Batch batch);
  void LogLosses(TimePoint now);
  // The end of what is being sent: `own`, or that of Stop if it is sooner.
  TimePoint LimitOf(TimePoint own) const;
  bool stopping() const { return stop_limit_ns_.load(std::memory_order_acquire) != 0; }

  const std::string address_;
  const Resource resource_;
  const ExportSettings settings_;
  const int wake_fd_;
  std::atomic<std::int64_t> stop_limit_ns_{0};  // 0: not stopping
  SpanQueue queue_{settings_.batch_spans, settings_.queue_spans};
  Counter exported_;

  // The thread's own.
  CollectorConnection connection_;
  Rng rng_;
  std::deque<std::unique_ptr<Span>> ready_;
  std::string last_error_;
  std::uint64_t logged_dropped_ = 0;
  TimePoint next_log_;
  std::thread thread_;  // the last one: uses the others
};

}  // namespace kvorum::server::tracing
