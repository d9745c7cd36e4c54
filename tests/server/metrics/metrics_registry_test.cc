// The text that the metrics are served in.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "server/metrics/registry.h"

namespace kvorum::server {
namespace {

TEST(GoFloatTest, NumbersReadAsGoPrintsThem) {
  EXPECT_EQ(GoFloat(0), "0");
  EXPECT_EQ(GoFloat(-1), "-1");
  EXPECT_EQ(GoFloat(20'480), "20480");
  EXPECT_EQ(GoFloat(999'999), "999999");
  EXPECT_EQ(GoFloat(1'000'000), "1e+06");
  EXPECT_EQ(GoFloat(2'147'483'648.0), "2.147483648e+09");
  EXPECT_EQ(GoFloat(18'446'744'073'709'551'615.0), "1.8446744073709552e+19");
  EXPECT_EQ(GoFloat(0.001), "0.001");
  EXPECT_EQ(GoFloat(0.0001), "0.0001");
  EXPECT_EQ(GoFloat(0.00001), "1e-05");
  EXPECT_EQ(GoFloat(5.6624000000000005e-05), "5.6624000000000005e-05");
  EXPECT_EQ(GoFloat(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(GoFloat(52.4288), "52.4288");
  EXPECT_EQ(GoFloat(1e300), "1e+300");
  EXPECT_EQ(GoFloat(std::nan("")), "NaN");
  EXPECT_EQ(GoFloat(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(GoFloat(-std::numeric_limits<double>::infinity()), "-Inf");
}

TEST(MetricsRegistryTest, MetricsAreSortedByNameAndSeriesByTheirLabels) {
  MetricsRegistry registry;
  registry.Gauge("b_gauge", "A gauge.", [] { return 2.5; });
  registry.Family("a_total", MetricType::kCounter, {"From", "To"}, "A family.", [](Samples& out) {
    out.Add({"b", "a"}, 1);
    out.Add({"a", "z"}, 2);
    out.Add({"a", "b"}, 3);
  });
  EXPECT_EQ(registry.Scrape(),
            "# HELP a_total A family.\n"
            "# TYPE a_total counter\n"
            "a_total{From=\"a\",To=\"b\"} 3\n"
            "a_total{From=\"a\",To=\"z\"} 2\n"
            "a_total{From=\"b\",To=\"a\"} 1\n"
            "# HELP b_gauge A gauge.\n"
            "# TYPE b_gauge gauge\n"
            "b_gauge 2.5\n");
}

TEST(MetricsRegistryTest, AMetricWithoutSeriesIsLeftOut) {
  MetricsRegistry registry;
  registry.Family("a", MetricType::kGauge, {"l"}, "None.", [](Samples&) {});
  EXPECT_EQ(registry.Scrape(), "");
}

TEST(MetricsRegistryTest, HelpAndLabelsAreEscaped) {
  MetricsRegistry registry;
  registry.Family("a", MetricType::kGauge, {"l"}, "A \"line\"\nand a \\.",
                  [](Samples& out) { out.Add({"a \"line\"\nand a \\"}, 0); });
  EXPECT_EQ(registry.Scrape(),
            "# HELP a A \"line\"\\nand a \\\\.\n"
            "# TYPE a gauge\n"
            "a{l=\"a \\\"line\\\"\\nand a \\\\\"} 0\n");
}

TEST(MetricsRegistryTest, AHistogramHasCumulativeBuckets) {
  Histogram times(DoublingBounds(0.001, 2));
  times.Observe(std::chrono::milliseconds(1));
  times.Observe(std::chrono::milliseconds(2));
  times.Observe(std::chrono::milliseconds(40));
  MetricsRegistry registry;
  registry.Histogram("h_seconds", "A histogram.", [&]() -> Histogram& { return times; });
  registry.Family("i", MetricType::kHistogram, {"op"}, "Another.",
                  [&](Samples& out) { out.Add({"Put"}, times.values()); });
  EXPECT_EQ(registry.Scrape(),
            "# HELP h_seconds A histogram.\n"
            "# TYPE h_seconds histogram\n"
            "h_seconds_bucket{le=\"0.001\"} 1\n"
            "h_seconds_bucket{le=\"0.002\"} 2\n"
            "h_seconds_bucket{le=\"+Inf\"} 3\n"
            "h_seconds_sum 0.043\n"
            "h_seconds_count 3\n"
            "# HELP i Another.\n"
            "# TYPE i histogram\n"
            "i_bucket{op=\"Put\",le=\"0.001\"} 1\n"
            "i_bucket{op=\"Put\",le=\"0.002\"} 2\n"
            "i_bucket{op=\"Put\",le=\"+Inf\"} 3\n"
            "i_sum{op=\"Put\"} 0.043\n"
            "i_count{op=\"Put\"} 3\n");
}

TEST(MetricsRegistryTest, ASummaryHasQuantiles) {
  MetricsRegistry registry;
  registry.Family("s", MetricType::kSummary, {}, "A summary.", [](Samples& out) {
    out.Add({}, SummaryValues{.quantiles = {{0, 0.5}, {0.25, 1}}, .sum = 3, .count = 2});
  });
  EXPECT_EQ(registry.Scrape(),
            "# HELP s A summary.\n"
            "# TYPE s summary\n"
            "s{quantile=\"0\"} 0.5\n"
            "s{quantile=\"0.25\"} 1\n"
            "s_sum 3\n"
            "s_count 2\n");
}

TEST(MetricsRegistryTest, ASubjectThatDoesNotExistIsZeroAndSaysWhy) {
  MetricsRegistry registry;
  registry.Zero("a", MetricType::kCounter, "Help.", "there is none");
  registry.ZeroHistogram("b", {1}, "Help.", "there is none");
  EXPECT_EQ(registry.Scrape(),
            "# HELP a Help.\n"
            "# TYPE a counter\n"
            "a 0\n"
            "# HELP b Help.\n"
            "# TYPE b histogram\n"
            "b_bucket{le=\"1\"} 0\n"
            "b_bucket{le=\"+Inf\"} 0\n"
            "b_sum 0\n"
            "b_count 0\n");
  EXPECT_EQ(registry.rows().at("a").zero_because, "there is none");
}

TEST(MetricsRegistryDeathTest, ANameStandsOnce) {
  MetricsRegistry registry;
  registry.Gauge("a", "Help.", [] { return 0; });
  EXPECT_DEATH(registry.Gauge("a", "Help.", [] { return 0; }), "registered twice");
}

}  // namespace
}  // namespace kvorum::server
