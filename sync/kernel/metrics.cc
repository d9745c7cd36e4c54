#include "sync/kernel/metrics.h"

#include <string_view>
#include <utility>

#include "base/text/metric_text.h"

namespace kvorum::sync {
namespace {

struct Row {
  std::string_view name;
  std::vector<std::string> labels;
  std::string_view help;
};

Row RowOf(CounterName name) {
  switch (name) {
    case CounterName::kSourceRelists:
      return {"kvsync_source_relists_total",
              {"reason"},
              "The lists that a source made, by what made it list."};
    case CounterName::kInformerResyncRounds:
      return {"kvsync_informer_resync_rounds_total", {}, "The resync rounds that were begun."};
    case CounterName::kInformerValueErrors:
      return {"kvsync_informer_value_errors_total",
              {},
              "The values that could not be read, and the index functions that threw."};
    case CounterName::kAeFullSyncs:
      return {"kvsync_ae_full_syncs_total", {"result"}, "The full syncs of an agent."};
    case CounterName::kWdNacks:
      return {"kvsync_wd_nack_total", {"node", "type"}, "The responses that a subscriber refused."};
    case CounterName::kBusOverflows:
      return {"kvsync_bus_overflow_total",
              {"subscriber"},
              "The times that a subscriber's queue was full."};
    case CounterName::kDnsQueries:
      return {"kvsync_dns_queries_total",
              {"type", "rcode"},
              "The DNS packets that were answered, by the question's type and the answer's code."};
    case CounterName::kDnsTruncated:
      return {"kvsync_dns_truncated_total", {}, "The DNS answers that did not fit over UDP."};
    case CounterName::kDnsDropped:
      return {"kvsync_dns_dropped_total",
              {"reason"},
              "The DNS questions and connections beyond their bounds, which got no answer."};
    case CounterName::kExecRuns:
      return {"kvsync_exec_runs_total", {"result"}, "The runs of --exec that have ended."};
  }
  return {};
}

Row RowOf(GaugeName name) {
  switch (name) {
    case GaugeName::kSourceRevision:
      return {
          "kvsync_source_revision", {"prefix"}, "The revision that a source is known to be at."};
    case GaugeName::kInformerObjects:
      return {"kvsync_informer_objects", {}, "The objects in an informer's store."};
    case GaugeName::kInformerQueueLength:
      return {"kvsync_informer_queue_length",
              {"listener"},
              "The notifications that wait for a listener."};
    case GaugeName::kAeDirty:
      return {"kvsync_ae_dirty", {}, "The entries that the store does not have as the agent does."};
    case GaugeName::kAeBlocked:
      return {"kvsync_ae_blocked",
              {},
              "The entries that wait for the next full sync for want of permission."};
    case GaugeName::kAeNextFullSeconds:
      return {"kvsync_ae_next_full_seconds", {}, "The time until an agent's next full sync."};
    case GaugeName::kStreams:
      return {"kvsync_streams", {"node"}, "The open streams of a subscriber."};
    case GaugeName::kExecWaiting:
      return {"kvsync_exec_waiting",
              {},
              "The changes whose run of --exec has failed and is to be repeated."};
  }
  return {};
}

Row RowOf(HistogramName name) {
  switch (name) {
    case HistogramName::kWdGenerationSeconds:
      return {"kvsync_wd_generation_seconds",
              {"reason", "result", "node"},
              "The time that it took to make a snapshot."};
  }
  return {};
}

// Bounds from 1 ms to 16 s.
std::vector<double> GenerationBounds() { return DoublingBounds(0.001, 15); }

double ValueOf(const Counter& cell) { return static_cast<double>(cell.value()); }
double ValueOf(const Gauge& cell) { return cell.value(); }
HistogramValues ValueOf(const Histogram& cell) { return cell.values(); }

template <class Family>
void AppendFamily(std::string& text, const Family& family, MetricType type) {
  for (auto at = family.begin(); at != family.end();) {
    const auto name = at->first.first;
    const Row row = RowOf(name);
    Samples samples(row.name, row.labels);
    for (; at != family.end() && at->first.first == name; ++at) {
      const auto cell = at->second.lock();
      if (cell == nullptr) continue;
      Metrics::Labels values = at->first.second;
      values.resize(row.labels.size());
      samples.Add(std::move(values), ValueOf(*cell));
    }
    samples.Write(type, row.help, text);
  }
}

}  // namespace

template <class Name, class Cell, class Make>
std::shared_ptr<Cell> Metrics::Find(Family<Name, Cell>& family, Name name, const Labels& labels,
                                    const Make& make) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<Cell>& place = family[{name, labels}];
  if (auto cell = place.lock()) return cell;
  auto cell = make();
  place = cell;
  // Those whose owners have gone go with the next one that is made.
  std::erase_if(family, [](const auto& entry) { return entry.second.expired(); });
  return cell;
}

std::shared_ptr<Counter> Metrics::Get(CounterName name, const Labels& labels) {
  return Find(counters_, name, labels, [] { return std::make_shared<Counter>(); });
}

std::shared_ptr<Gauge> Metrics::Get(GaugeName name, const Labels& labels) {
  return Find(gauges_, name, labels, [] { return std::make_shared<Gauge>(); });
}

std::shared_ptr<Histogram> Metrics::Get(HistogramName name, const Labels& labels) {
  return Find(histograms_, name, labels,
              [] { return std::make_shared<Histogram>(GenerationBounds()); });
}

std::string Metrics::Text() const {
  std::string text;
  const std::lock_guard lock(mutex_);
  AppendFamily(text, counters_, MetricType::kCounter);
  AppendFamily(text, gauges_, MetricType::kGauge);
  AppendFamily(text, histograms_, MetricType::kHistogram);
  return text;
}

}  // namespace kvorum::sync
