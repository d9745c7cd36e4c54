// The one list of metrics: a row for each, with its name, its help and a function that reads it
// when somebody asks. Nothing is pushed into it; the numbers live where they are counted
// (base/metric.h) or are facts that the server has anyway.
//
// Filled by one thread, then read-only; Scrape is thread-safe as far as the rows' functions are.
// A name stands once.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/metric.h"
#include "base/text/metric_text.h"

namespace kvorum::server {

class MetricsRegistry {
 public:
  using Collect = std::move_only_function<void(Samples&) const>;
  struct Row {
    MetricType type = MetricType::kGauge;
    std::string_view help;
    std::vector<std::string> labels;  // sorted
    // For a metric of etcd's whose subject does not exist here: says why it is always 0.
    std::string_view zero_because;
    Collect collect;
  };

  void Add(std::string_view name, Row row);

  // ---- a line for a metric ----
  // `read` returns a number.
  void Counter(std::string_view name, std::string_view help, auto read) {
    One(name, MetricType::kCounter, help, std::move(read));
  }
  void Gauge(std::string_view name, std::string_view help, auto read) {
    One(name, MetricType::kGauge, help, std::move(read));
  }
  // `read` returns a kvorum::Histogram.
  void Histogram(std::string_view name, std::string_view help, auto read) {
    Add(name,
        {.type = MetricType::kHistogram,
         .help = help,
         .labels = {},
         .zero_because = {},
         .collect = [read = std::move(read)](Samples& out) { out.Add({}, read().values()); }});
  }
  // `collect` adds the series.
  void Family(std::string_view name, MetricType type, std::vector<std::string> labels,
              std::string_view help, Collect collect) {
    Add(name, {.type = type,
               .help = help,
               .labels = std::move(labels),
               .zero_because = {},
               .collect = std::move(collect)});
  }
  void Zero(std::string_view name, MetricType type, std::string_view help,
            std::string_view because);
  // The same for one with labels: it has no series.
  void Empty(std::string_view name, MetricType type, std::vector<std::string> labels,
             std::string_view help, std::string_view because);
  void ZeroHistogram(std::string_view name, std::vector<double> bounds, std::string_view help,
                     std::string_view because);

  // A series of kvorum_queue_used and of kvorum_queue_limit: a queue whose name stands in the last
  // column of the table of bounds in docs/architecture.md. Both functions return a number.
  void Queue(std::string_view name, std::string_view unit, auto used, auto limit) {
    queues_.push_back({.name = name,
                       .unit = unit,
                       .used = [used] { return static_cast<double>(used()); },
                       .limit = [limit] { return static_cast<double>(limit()); }});
  }
  struct QueueRow {
    std::string_view name;
    std::string_view unit;
    std::function<double()> used;
    std::function<double()> limit;
  };
  const std::vector<QueueRow>& queues() const { return queues_; }

  // All metrics by name, in the text format.
  std::string Scrape() const;
  const std::map<std::string_view, Row>& rows() const { return rows_; }

 private:
  void One(std::string_view name, MetricType type, std::string_view help, auto read) {
    Add(name, {.type = type,
               .help = help,
               .labels = {},
               .zero_because = {},
               .collect = [read = std::move(read)](Samples& out) {
                 out.Add({}, static_cast<double>(read()));
               }});
  }

  std::map<std::string_view, Row> rows_;
  std::vector<QueueRow> queues_;
};

}  // namespace kvorum::server
