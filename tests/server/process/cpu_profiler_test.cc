// The profile of processor time: samples, names, pprof's format.
#include "server/metrics/cpu_profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "server/metrics/pprof_format.h"
#include "server/metrics/symbols.h"

namespace kvorum::server {

// Visible, so that the symbol tables of every build have it. It calls next to nothing: without
// optimization load() is a function, and the innermost one of its samples.
[[gnu::noinline]] void BurnForTheProfiler(const std::atomic<bool>& ends) {
  volatile std::uint64_t value = 0;
  while (!ends.load(std::memory_order_relaxed)) {
    for (int i = 0; i < 10'000; ++i) value = value * 3 + 1;
  }
}

namespace {

// Samples until a condition holds; a busy machine may leave us little time.
template <typename Condition>
void CollectUntil(CpuProfiler& profiler, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    profiler.Collect();
  }
}

std::uint64_t SamplesOf(const CpuProfile& profile, const std::string& name, bool innermost) {
  Symbols symbols;
  std::uint64_t count = 0;
  for (const auto& [stack, samples] : profile.samples) {
    for (std::size_t i = 0; i < (innermost ? 1 : stack.size()); ++i) {
      if (symbols.NameAt(stack[i] - (i == 0 ? 0 : 1)).find(name) == std::string::npos) continue;
      count += samples;
      break;
    }
  }
  return count;
}

std::chrono::nanoseconds ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(CpuProfilerTest, FindsWhereOldAndNewThreadsAreBusy) {
  std::atomic<bool> ends{false};
  std::thread old([&] { BurnForTheProfiler(ends); });
  auto profiler = CpuProfiler::Start();
  ASSERT_TRUE(profiler.has_value());
  (*profiler)->Collect();
  std::thread fresh([&] { BurnForTheProfiler(ends); });
  const auto begin = ProcessorTime();
  CollectUntil(**profiler, [&] { return ProcessorTime() - begin > std::chrono::seconds(1); });
  ends = true;
  old.join();
  fresh.join();
  const CpuProfile profile = (*profiler)->Stop();
  // A hundred a second of processor time; a timer may be late.
  EXPECT_GT(SamplesOf(profile, "BurnForTheProfiler", /*innermost=*/true), 30U);
  EXPECT_EQ(profile.lost, 0U);
  EXPECT_EQ(profile.period, std::chrono::milliseconds(10));
}

TEST(CpuProfilerTest, OnlyOneRunsAtATime) {
  auto profiler = CpuProfiler::Start();
  ASSERT_TRUE(profiler.has_value());
  EXPECT_EQ(CpuProfiler::Start().error().message, "cpu profiling already in use");
  (*profiler)->Stop();
  EXPECT_TRUE(CpuProfiler::Start().has_value());  // and is dropped, unfinished
  EXPECT_TRUE(CpuProfiler::Start().has_value());
}

TEST(CpuProfilerTest, ThreadsThatComeAndGoBreakNothing) {
  auto profiler = CpuProfiler::Start();
  ASSERT_TRUE(profiler.has_value());
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    for (int each = 0; each < 8; ++each) threads.emplace_back([&] { BurnForTheProfiler(ends); });
    (*profiler)->Collect();
    ends = true;
    for (std::thread& thread : threads) thread.join();
    if (i % 10 == 9) (*profiler)->Collect();
  }
  (*profiler)->Stop();
}

TEST(SymbolsTest, NamesFunctionsOfTheProgramAndOfItsLibraries) {
  Symbols symbols;
  EXPECT_EQ(symbols.NameAt(reinterpret_cast<std::uintptr_t>(&BurnForTheProfiler) + 1),
            "kvorum::server::BurnForTheProfiler(std::atomic<bool> const&)");
  EXPECT_EQ(symbols.NameAt(0), "");
  EXPECT_EQ(symbols.ModuleAt(0), nullptr);
  const auto of_library = reinterpret_cast<std::uintptr_t>(&getppid);
  ASSERT_NE(symbols.ModuleAt(of_library), nullptr);
  EXPECT_THAT(symbols.NameAt(of_library), testing::HasSubstr("getppid"));
}

TEST(PprofFormatTest, IsAGzipFile) {
  CpuProfile profile;
  profile.period = std::chrono::milliseconds(10);
  profile.samples[{reinterpret_cast<std::uintptr_t>(&BurnForTheProfiler) + 1, 2}] = 7;
  const std::string bytes = EncodePprof(profile, {.begin_unix_ns = 5, .duration = {}});
  EXPECT_THAT(bytes, testing::StartsWith("\x1f\x8b"));
}

}  // namespace
}  // namespace kvorum::server
