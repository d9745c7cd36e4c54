// The cost of a metric where it is counted, and of a scrape.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/metric.h"
#include "server/metrics/registry.h"

namespace kvorum::server {
namespace {

void CounterAdd(benchmark::State& state) {
  static Counter counter;
  for (auto _ : state) counter.Add();
}
BENCHMARK(CounterAdd)->Threads(1)->Threads(2);

// For comparison: one atomic that all threads share.
void SharedAtomicAdd(benchmark::State& state) {
  static std::atomic<std::uint64_t> counter;
  for (auto _ : state) counter.fetch_add(1, std::memory_order_relaxed);
}
BENCHMARK(SharedAtomicAdd)->Threads(1)->Threads(2);

void HistogramObserve(benchmark::State& state) {
  static Histogram histogram(DoublingBounds(0.0001, 20));
  std::uint64_t ticks = 1;
  for (auto _ : state) histogram.Observe(ticks = (ticks * 3) & 0xfffffffff);
}
BENCHMARK(HistogramObserve)->Threads(1)->Threads(2);

// About as many series as a server has.
void Scrape(benchmark::State& state) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 150; ++i) made.push_back("metric_" + std::to_string(i));
    return made;
  }();
  Histogram histogram(DoublingBounds(0.0001, 20));
  MetricsRegistry registry;
  for (std::size_t i = 0; i < 100; ++i)
    registry.Gauge(names[i], "A gauge.", [i] { return 1.5 * static_cast<double>(i); });
  for (std::size_t i = 100; i < 149; ++i) {
    registry.Histogram(names[i], "A histogram.",
                       [&histogram]() -> Histogram& { return histogram; });
  }
  registry.Family(names[149], MetricType::kCounter, {"code", "method"}, "A family.",
                  [](Samples& out) {
                    for (int method = 0; method < 50; ++method) {
                      for (int code = 0; code < 17; ++code)
                        out.Add({std::to_string(code), std::to_string(method)}, code);
                    }
                  });
  std::size_t bytes = 0;
  for (auto _ : state) bytes = registry.Scrape().size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(Scrape);

}  // namespace
}  // namespace kvorum::server
