#include "base/text/metric_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace kvorum {
namespace {

void AppendEscaped(std::string_view text, bool in_quotes, std::string& out) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && in_quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

void AppendLabel(std::string_view name, std::string_view value, char before, std::string& out) {
  out.append(1, before).append(name).append("=\"");
  AppendEscaped(value, true, out);
  out += '"';
}

}  // namespace

std::string_view Name(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
    case MetricType::kSummary:
      return "summary";
  }
  return {};
}

std::string GoFloat(double value) {
  // strconv's for the shortest form; fmt's %v has 21.
  constexpr int kFirstExponent = 6;
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // The exponent that Go would choose its form by is that of the shortest digits.
  std::array<char, 64> digits{};
  auto end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::scientific).ptr;
  const std::string_view scientific(digits.begin(), end);
  int exponent = 0;
  const std::size_t at = scientific.find('e') + (scientific.contains("e+") ? 2 : 1);
  std::from_chars(scientific.begin() + at, scientific.end(), exponent);
  if (exponent < -4 || exponent >= kFirstExponent) return std::string(scientific);
  end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed).ptr;
  return {digits.begin(), end};
}

void Samples::Line(Series& series, std::string_view suffix, double value, std::string_view extra,
                   double extra_value) const {
  std::string& out = series.lines;
  out.append(name_).append(suffix);
  char before = '{';
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    AppendLabel(labels_[i], series.values[i], before, out);
    before = ',';
  }
  if (!extra.empty()) {
    AppendLabel(extra, GoFloat(extra_value), before, out);
    before = ',';
  }
  if (before == ',') out += '}';
  out.append(1, ' ').append(GoFloat(value)).append(1, '\n');
}

void Samples::Add(LabelValues values, double value) {
  Series series{.values = std::move(values), .lines = {}};
  Line(series, "", value);
  series_.push_back(std::move(series));
}

void Samples::Add(LabelValues values, const HistogramValues& histogram) {
  Series series{.values = std::move(values), .lines = {}};
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    count += histogram.counts[i];
    const double bound =
        i < histogram.bounds.size() ? histogram.bounds[i] : std::numeric_limits<double>::infinity();
    Line(series, "_bucket", static_cast<double>(count), "le", bound);
  }
  Line(series, "_sum", histogram.sum);
  Line(series, "_count", static_cast<double>(count));
  series_.push_back(std::move(series));
}

void Samples::Add(LabelValues values, const SummaryValues& summary) {
  Series series{.values = std::move(values), .lines = {}};
  for (const auto& [quantile, value] : summary.quantiles)
    Line(series, "", value, "quantile", quantile);
  Line(series, "_sum", summary.sum);
  Line(series, "_count", static_cast<double>(summary.count));
  series_.push_back(std::move(series));
}

void Samples::Write(MetricType type, std::string_view help, std::string& out) {
  if (series_.empty()) return;
  std::ranges::sort(series_, {}, &Series::values);
  out.append("# HELP ").append(name_).append(1, ' ');
  AppendEscaped(help, false, out);
  out.append("\n# TYPE ").append(name_).append(1, ' ').append(Name(type)).append(1, '\n');
  for (const Series& series : series_) out += series.lines;
}

}  // namespace kvorum
