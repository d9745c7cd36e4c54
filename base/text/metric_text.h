// The text format 0.0.4 of Prometheus, as Go's client library writes it: one block a metric, its
// series sorted by the values of their labels, numbers as strconv prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metric.h"

namespace kvorum {

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram, kSummary };
std::string_view Name(MetricType type);

// Label values in the order of the metric's label names.
using LabelValues = std::vector<std::string>;

// Quantiles and their values.
struct SummaryValues {
  std::vector<std::pair<double, double>> quantiles;
  double sum = 0;
  std::uint64_t count = 0;
};

// Collects the series of one metric. Used by one thread.
class Samples {
 public:
  Samples(std::string_view name, const std::vector<std::string>& labels)
      : name_(name), labels_(labels) {}

  void Add(LabelValues values, double value);
  void Add(LabelValues values, const HistogramValues& histogram);
  void Add(LabelValues values, const SummaryValues& summary);

  // Appends the block, or nothing for a metric without series.
  void Write(MetricType type, std::string_view help, std::string& out);

 private:
  struct Series {
    LabelValues values;
    std::string lines;
  };
  // Writes a line of the series; the extra label (if it has a name) is the last one.
  void Line(Series& series, std::string_view suffix, double value, std::string_view extra = {},
            double extra_value = 0) const;

  const std::string_view name_;
  const std::vector<std::string>& labels_;
  std::vector<Series> series_;
};

// The shortest decimal that reads back as the number, like strconv.FormatFloat(f, 'g', -1, 64).
std::string GoFloat(double value);

}  // namespace kvorum
