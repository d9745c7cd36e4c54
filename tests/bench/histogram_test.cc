#include "bench/load/histogram.h"

#include <gtest/gtest.h>

namespace kvorum::bench {
namespace {

TEST(HistogramTest, AnEmptyOneHasNoQuantiles) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.Quantile(0.5), 0U);
  EXPECT_EQ(histogram.Quantile(1.0), 0U);
}

TEST(HistogramTest, SmallDurationsAreExact) {
  Histogram histogram;
  for (std::uint64_t nanos = 1; nanos <= 100; ++nanos) histogram.Record(nanos);
  EXPECT_EQ(histogram.Quantile(0.5), 50U);
  EXPECT_EQ(histogram.Quantile(0.99), 99U);
  EXPECT_EQ(histogram.Quantile(1.0), 100U);
}

TEST(HistogramTest, AQuantileIsOffByNoMoreThanItsBucketIsWide) {
  for (std::uint64_t nanos = 1; nanos < std::uint64_t{1} << 40; nanos = nanos * 9 / 8 + 1) {
    Histogram histogram;
    histogram.Record(nanos);
    histogram.Record(nanos);
    histogram.Record(std::uint64_t{1} << 41);  // so that the maximum does not clamp
    const auto found = static_cast<double>(histogram.Quantile(0.5));
    EXPECT_NEAR(found, static_cast<double>(nanos), static_cast<double>(nanos) * 0.016) << nanos;
  }
}

TEST(HistogramTest, WhatIsTooLongIsCountedAndItsMaximumKept) {
  Histogram histogram;
  histogram.Record(UINT64_MAX);
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.max(), UINT64_MAX);
  EXPECT_GT(histogram.Quantile(0.5), std::uint64_t{1} << 39);
}

}  // namespace
}  // namespace kvorum::bench
