#include "tools/text/metrics_page.h"

#include <cmath>
#include <limits>

#include "base/text/parse_number.h"
#include "base/words.h"

namespace kvorum::ctl {
namespace {

std::optional<double> ValueIn(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  return ParseNumber<double>(text);
}

bool HasLabel(std::string_view labels, std::string_view label) {
  const std::size_t at = labels.find(label);
  if (at == std::string_view::npos) return false;
  const bool starts = at == 0 || labels[at - 1] == ',';
  const std::size_t end = at + label.size();
  return starts && (end == labels.size() || labels[end] == ',');
}

std::optional<double> UpperBound(std::string_view labels) {
  constexpr std::string_view kBound = "le=\"";
  const std::size_t at = labels.find(kBound);
  if (at == std::string_view::npos) return std::nullopt;
  labels.remove_prefix(at + kBound.size());
  return ValueIn(labels.substr(0, labels.find('"')));
}

}  // namespace

MetricsPage MetricsPage::Parse(std::string_view text) {
  MetricsPage page;
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t name_end = line.find_first_of("{ ");
    if (name_end == std::string_view::npos) continue;
    Sample sample;
    std::string_view rest = line.substr(name_end);
    if (rest.starts_with('{')) {
      // A value after the last brace: label values may hold braces.
      const std::size_t end = rest.rfind('}');
      if (end == std::string_view::npos) continue;
      sample.labels = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
    }
    // A timestamp may follow the value.
    const auto value = ValueIn(Cut(Trim(rest), ' ').first);
    if (!value) continue;
    sample.value = *value;
    page.samples_.emplace(line.substr(0, name_end), std::move(sample));
  }
  return page;
}

std::optional<double> MetricsPage::Value(std::string_view name) const { return Value(name, ""); }

std::optional<double> MetricsPage::Value(std::string_view name, std::string_view label) const {
  std::optional<double> sum;
  const auto [begin, end] = samples_.equal_range(name);
  for (auto it = begin; it != end; ++it)
    if (label.empty() || HasLabel(it->second.labels, label))
      sum = sum.value_or(0) + it->second.value;
  return sum;
}

HistogramCounts MetricsPage::Histogram(std::string_view name) const {
  HistogramCounts counts;
  const auto [begin, end] = samples_.equal_range(std::string(name) + "_bucket");
  for (auto it = begin; it != end; ++it)
    if (const auto bound = UpperBound(it->second.labels)) counts[*bound] += it->second.value;
  return counts;
}

std::optional<double> Quantile(const HistogramCounts& counts, double share) {
  if (counts.empty() || counts.rbegin()->second <= 0) return std::nullopt;
  const double rank = share * counts.rbegin()->second;
  double lower = 0;
  double below = 0;
  for (const auto& [bound, count] : counts) {
    if (count >= rank && count > below) {
      if (std::isinf(bound)) return lower;
      return lower + (bound - lower) * (rank - below) / (count - below);
    }
    lower = bound;
    below = count;
  }
  return lower;
}

HistogramCounts Difference(const HistogramCounts& now, const HistogramCounts& before) {
  HistogramCounts difference = now;
  for (auto& [bound, count] : difference) {
    const auto it = before.find(bound);
    if (it == before.end()) continue;
    if (it->second > count) return now;
    count -= it->second;
  }
  return difference;
}

}  // namespace kvorum::ctl
