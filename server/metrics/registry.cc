#include "server/metrics/registry.h"

#include <algorithm>

namespace kvorum::server {

void MetricsRegistry::Add(std::string_view name, Row row) {
  KV_CHECK(std::ranges::is_sorted(row.labels), "a metric's labels are not sorted");
  const bool is_new = rows_.try_emplace(name, std::move(row)).second;
  KV_CHECK(is_new, "a metric is registered twice");
}

void MetricsRegistry::Zero(std::string_view name, MetricType type, std::string_view help,
                           std::string_view because) {
  Add(name, {.type = type,
             .help = help,
             .labels = {},
             .zero_because = because,
             .collect = [](Samples& out) { out.Add({}, 0.0); }});
}

void MetricsRegistry::Empty(std::string_view name, MetricType type, std::vector<std::string> labels,
                            std::string_view help, std::string_view because) {
  Add(name, {.type = type,
             .help = help,
             .labels = std::move(labels),
             .zero_because = because,
             .collect = [](Samples&) {}});
}

void MetricsRegistry::ZeroHistogram(std::string_view name, std::vector<double> bounds,
                                    std::string_view help, std::string_view because) {
  HistogramValues none{.bounds = std::move(bounds), .counts = {}, .sum = 0};
  none.counts.resize(none.bounds.size() + 1);
  Add(name, {.type = MetricType::kHistogram,
             .help = help,
             .labels = {},
             .zero_because = because,
             .collect = [none = std::move(none)](Samples& out) { out.Add({}, none); }});
}

std::string MetricsRegistry::Scrape() const {
  std::string out;
  for (const auto& [name, row] : rows_) {
    Samples samples(name, row.labels);
    row.collect(samples);
    samples.Write(row.type, row.help, out);
  }
  return out;
}

}  // namespace kvorum::server
