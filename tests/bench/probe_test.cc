// That the machine's probes do the work that they time.
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/load/echo_probe.h"
#include "bench/load/memory_probe.h"
#include "bench/load/sync_probe.h"

namespace kvorum::bench {
namespace {

TEST(ProbeTest, ARandomCycleMeetsEachNumberBeforeTheFirstAgain) {
  for (const std::uint32_t size : {1U, 2U, 3U, 1000U}) {
    const std::vector<std::uint32_t> next = RandomCycle(size, 7);
    std::uint32_t steps = 0;
    std::uint32_t at = 0;
    do {
      at = next[at];
      ++steps;
    } while (at != 0 && steps <= size);
    EXPECT_EQ(steps, size);
  }
}

TEST(ProbeTest, ALoadTakesTime) {
  EXPECT_GT(RunMemoryProbe({.size_mib = 1, .loads = 100'000}), 0.05);
}

TEST(ProbeTest, EchoCountsEachRoundTrip) {
  const auto latency = RunEchoProbe({.size_bytes = 100'000, .count = 20});
  ASSERT_TRUE(latency.has_value()) << latency.error().message;
  EXPECT_EQ(latency->count(), 20U);
  EXPECT_GT(latency->Quantile(0.5), 0U);
}

TEST(ProbeTest, SyncWritesInEveryKindOfSpaceAndLeavesNoFile) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "kvorum-probe-test";
  std::filesystem::create_directory(dir);
  for (const ProbeSpace space : {ProbeSpace::kNone, ProbeSpace::kReserved, ProbeSpace::kZeroed}) {
    const auto latency = RunSyncProbe({.dir = dir, .count = 3, .space = space});
    ASSERT_TRUE(latency.has_value()) << latency.error().message;
    EXPECT_EQ(latency->count(), 3U);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  std::filesystem::remove(dir);
}

TEST(ProbeTest, SyncTellsThatAFolderIsNotThere) {
  EXPECT_FALSE(RunSyncProbe({.dir = "/nonexistent"}).has_value());
}

}  // namespace
}  // namespace kvorum::bench
