// The numbers that the library keeps, as Prometheus reads them. Every metric is a row of one table
// (metrics.cc); a cell is one combination of its labels' values, and stands on the page for as long
// as its owner keeps it.
//
// Thread-safe. A cell costs a look-up of its labels when it is asked for, and base/metric.h's price
// when it is counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/metric.h"

namespace kvorum::sync {

// A number that goes up and down.
class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

enum class CounterName : std::uint8_t {
  kSourceRelists,
  kInformerResyncRounds,
  kInformerValueErrors,
  kAeFullSyncs,
  kWdNacks,
  kBusOverflows,
  kDnsQueries,
  kDnsTruncated,
  kDnsDropped,
  kExecRuns,
};
enum class GaugeName : std::uint8_t {
  kSourceRevision,
  kInformerObjects,
  kInformerQueueLength,
  kAeDirty,
  kAeBlocked,
  kAeNextFullSeconds,
  kStreams,
  kExecWaiting,
};
enum class HistogramName : std::uint8_t { kWdGenerationSeconds };

class Metrics {
 public:
  // The values of the labels that the metric's row names, in that order.
  using Labels = std::vector<std::string>;

  // The cell of these labels; all who ask for it while it lives share it.
  std::shared_ptr<Counter> Get(CounterName name, const Labels& labels = {});
  std::shared_ptr<Gauge> Get(GaugeName name, const Labels& labels = {});
  std::shared_ptr<Histogram> Get(HistogramName name, const Labels& labels = {});

  // All cells in Prometheus' text format.
  std::string Text() const;

 private:
  template <class Name, class Cell>
  using Family = std::map<std::pair<Name, Labels>, std::weak_ptr<Cell>>;
  template <class Name, class Cell, class Make>
  std::shared_ptr<Cell> Find(Family<Name, Cell>& family, Name name, const Labels& labels,
                             const Make& make);

  mutable std::mutex mutex_;
  Family<CounterName, Counter> counters_;
  Family<GaugeName, Gauge> gauges_;
  Family<HistogramName, Histogram> histograms_;
};

}  // namespace kvorum::sync
