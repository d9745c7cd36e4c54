#include "tools/text/metrics_page.h"

#include <gtest/gtest.h>

#include <limits>

namespace kvorum::ctl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::string_view kPage = R"(# HELP up Something {odd} 1
# TYPE up gauge
up 1
resident_bytes 1.048576e+07
calls_total{method="Put",code="OK"} 3
calls_total{method="Put",code="Unavailable"} 1
calls_total{method="Range",code="OK"} 10 1700000000000
odd{text="a } b,c\"=d"} 7
broken
also_broken{ 1
text nothing
took_seconds_bucket{le="0.1"} 5
took_seconds_bucket{le="0.2"} 9
took_seconds_bucket{le="+Inf"} 10
took_seconds_sum 1.2
took_seconds_count 10
)";

TEST(MetricsPageTest, ValuesAreFoundByNameAndLabel) {
  const MetricsPage page = MetricsPage::Parse(kPage);
  EXPECT_EQ(page.Value("up"), 1);
  EXPECT_EQ(page.Value("resident_bytes"), 10485760);
  EXPECT_EQ(page.Value("calls_total"), 14);
  EXPECT_EQ(page.Value("calls_total", R"(method="Put")"), 4);
  EXPECT_EQ(page.Value("calls_total", R"(code="OK")"), 13);
  EXPECT_EQ(page.Value("calls_total", R"(ode="OK")"), std::nullopt);
  EXPECT_EQ(page.Value("odd"), 7);
  EXPECT_EQ(page.Value("took_seconds_count"), 10);
}

TEST(MetricsPageTest, WhatCannotBeReadIsSkipped) {
  const MetricsPage page = MetricsPage::Parse(kPage);
  EXPECT_EQ(page.Value("broken"), std::nullopt);
  EXPECT_EQ(page.Value("also_broken"), std::nullopt);
  EXPECT_EQ(page.Value("text"), std::nullopt);
  EXPECT_EQ(MetricsPage::Parse("").Value("up"), std::nullopt);
}

TEST(MetricsPageTest, QuantilesAreEstimatedWithinTheirBucket) {
  const HistogramCounts counts = MetricsPage::Parse(kPage).Histogram("took_seconds");
  EXPECT_EQ(counts, (HistogramCounts{{0.1, 5}, {0.2, 9}, {kInfinity, 10}}));
  EXPECT_DOUBLE_EQ(*Quantile(counts, 0.5), 0.1);
  EXPECT_DOUBLE_EQ(*Quantile(counts, 0.7), 0.15);
  EXPECT_DOUBLE_EQ(*Quantile(counts, 0.99), 0.2) << "beyond the last bound nothing is known";
  EXPECT_EQ(Quantile({}, 0.5), std::nullopt);
  EXPECT_EQ(Quantile({{0.1, 0}, {kInfinity, 0}}, 0.5), std::nullopt);
}

TEST(MetricsPageTest, TheDifferenceIsWhatCameBetween) {
  const HistogramCounts before = {{0.1, 5}, {kInfinity, 6}};
  const HistogramCounts now = {{0.1, 5}, {kInfinity, 9}};
  EXPECT_EQ(Difference(now, before), (HistogramCounts{{0.1, 0}, {kInfinity, 3}}));
  EXPECT_EQ(Difference(before, now), before) << "after a restart the counts begin anew";
  EXPECT_EQ(Difference(now, {}), now);
}

}  // namespace
}  // namespace kvorum::ctl
