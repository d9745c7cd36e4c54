// A member's metrics, read from Prometheus' text format. Immutable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::ctl {

// The cumulative counts of a histogram by upper bound (+Inf last), as the page gives them.
using HistogramCounts = std::map<double, double>;

class MetricsPage {
 public:
  // Takes what can be read: a line in another form is skipped.
  static MetricsPage Parse(std::string_view text);

  // The sample without labels, else the sum over all labels; nothing if there is none.
  std::optional<double> Value(std::string_view name) const;
  // The sum over samples that have this label: label="value".
  std::optional<double> Value(std::string_view name, std::string_view label) const;
  // Over all labels.
  HistogramCounts Histogram(std::string_view name) const;

 private:
  struct Sample {
    std::string labels;  // as the page writes them, without braces
    double value = 0;
  };
  std::multimap<std::string, Sample, std::less<>> samples_;
};

// The value below which this share of the observations lies, as Prometheus' histogram_quantile
// estimates it: linear within a bucket. Nothing if there was no observation.
std::optional<double> Quantile(const HistogramCounts& counts, double share);

// The observations made between two readings; all of `now` if a count went back: the member has
// been started anew.
HistogramCounts Difference(const HistogramCounts& now, const HistogramCounts& before);

}  // namespace kvorum::ctl
