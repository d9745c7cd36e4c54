#include "base/metric.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "tests/manual_clock.h"

namespace kvorum {
namespace {

using std::chrono::milliseconds;

TEST(MetricTest, ACounterAddsUpAllThreads) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) counter.Add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  counter.Add(5);
  EXPECT_EQ(counter.value(), 80'005u);
}

TEST(MetricTest, ThreadsBeyondThePlacesShareOne) {
  constexpr int kThreads = ThreadPlace::kOwned + 20;
  ThreadCells cells(2);
  std::vector<std::thread> threads;
  std::atomic<int> arrived = 0;
  std::vector<std::uint8_t> places(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      places[static_cast<std::size_t>(i)] = ThreadPlace::Here();
      ++arrived;
      while (arrived < kThreads) std::this_thread::yield();  // all of them live at once
      for (int n = 0; n < 1000; ++n) cells.Add(1, 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cells.Sum(0), 0u);
  EXPECT_EQ(cells.Sum(1), 2'000u * kThreads);
  std::multiset<std::uint8_t> taken(places.begin(), places.end());
  EXPECT_GE(taken.count(ThreadPlace::kShared), 20u);
  for (const std::uint8_t place : places) {
    if (place != ThreadPlace::kShared) {
      EXPECT_EQ(taken.count(place), 1u);
    }
  }
}

TEST(MetricTest, AThreadGoesOnWithTheCellsOfOneThatEnded) {
  ThreadCells cells(1);
  for (int i = 0; i < ThreadPlace::kOwned * 2; ++i) {
    std::thread([&] {
      EXPECT_NE(ThreadPlace::Here(), ThreadPlace::kShared);
      cells.Add(0, 1);
    }).join();
  }
  EXPECT_EQ(cells.Sum(0), ThreadPlace::kOwned * 2u);
}

TEST(MetricTest, WhatOneThreadAddsAnotherMayTakeAway) {
  ThreadCells cells(1);
  cells.Add(0, 3);
  std::thread([&] { cells.Add(0, static_cast<std::uint64_t>(-2)); }).join();
  EXPECT_EQ(cells.Sum(0), 1u);
}

TEST(MetricTest, AHistogramCountsUpToAndIncludingItsBounds) {
  Histogram histogram(DoublingBounds(0.001, 3));
  EXPECT_EQ(histogram.values().bounds, (std::vector<double>{0.001, 0.002, 0.004}));
  for (const int ms : {0, 1, 2, 3, 4, 5, 500}) histogram.Observe(milliseconds(ms));
  const HistogramValues values = histogram.values();
  EXPECT_EQ(values.counts, (std::vector<std::uint64_t>{2, 1, 2, 2}));
  EXPECT_DOUBLE_EQ(values.sum, 0.515);
}

TEST(MetricTest, AHistogramMayCountInOtherUnits) {
  Histogram pauses(DoublingBounds(0.5, 2), Histogram::kMilliseconds);
  pauses.Observe(std::chrono::microseconds(600));
  EXPECT_EQ(pauses.values().counts, (std::vector<std::uint64_t>{0, 1, 0}));
  EXPECT_DOUBLE_EQ(pauses.values().sum, 0.6);
  Histogram plain(DoublingBounds(1, 24), 1);
  plain.Observe(9'000'000'000);
  EXPECT_EQ(plain.values().counts.back(), 1u);
  EXPECT_DOUBLE_EQ(plain.values().sum, 9e9);
}

TEST(MetricTest, ATimeIsObservedAtItsEnd) {
  ManualClock clock;
  Histogram histogram(DoublingBounds(1, 1));
  {
    const ObservedTime time(histogram, clock);
    clock.Advance(std::chrono::seconds(2));
  }
  EXPECT_EQ(histogram.values().counts, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_DOUBLE_EQ(histogram.values().sum, 2);
}

}  // namespace
}  // namespace kvorum
