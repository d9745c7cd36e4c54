// The processor time of threads, by name.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "server/metrics/registry.h"
#include "server/metrics/sources.h"

namespace kvorum::server {
namespace {

double CpuSecondsOf(const MetricsRegistry& registry, const std::string& thread) {
  // A scrape soon after another is given the same reading.
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const std::string text = registry.Scrape();
  const std::string series = "kvorum_thread_cpu_seconds_total{thread=\"" + thread + "\"} ";
  const std::size_t at = text.find(series);
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + series.size(), nullptr);
}

TEST(ThreadMetricsTest, TheTimeOfAThreadThatHasEndedStays) {
  if (!std::ifstream("/proc/self/task/" + std::to_string(::gettid()) + "/schedstat"))
    GTEST_SKIP() << "the kernel keeps no times of threads";
  MetricsRegistry registry;
  AddThreadMetrics(registry);
  double alive = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "that ends");
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    while (std::chrono::steady_clock::now() < end) {
    }
    alive = CpuSecondsOf(registry, "that ends");
  }).join();
  EXPECT_GT(alive, 0);
  EXPECT_GE(CpuSecondsOf(registry, "that ends"), alive);
}

}  // namespace
}  // namespace kvorum::server
