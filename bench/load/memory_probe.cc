#include "bench/load/memory_probe.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/rng.h"

namespace kvorum::bench {
namespace {

constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) Line {
  std::uint32_t next = 0;
};

}  // namespace

std::vector<std::uint32_t> RandomCycle(std::uint32_t size, std::uint64_t seed) {
  std::vector<std::uint32_t> next(size);
  std::iota(next.begin(), next.end(), 0U);
  Rng random(seed);
  for (std::uint32_t last = size - 1; last > 0; --last) {
    std::swap(next[last], next[random.Below(last)]);
  }
  return next;
}

double RunMemoryProbe(const MemoryProbeOptions& options) {
  const std::size_t size =
      std::clamp<std::size_t>((options.size_mib << 20) / kLineBytes, 1, UINT32_MAX);
  std::vector<Line> lines(size);
  {
    const std::vector<std::uint32_t> next = RandomCycle(static_cast<std::uint32_t>(size), 1);
    for (std::size_t i = 0; i < size; ++i) lines[i].next = next[i];
  }
  std::uint32_t at = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < options.loads; ++i) at = lines[at].next;
  const auto taken = std::chrono::steady_clock::now() - begin;
  // The last load's outcome must be of use, or the compiler drops the loop.
  const volatile std::uint32_t end = at;
  static_cast<void>(end);
  return static_cast<double>(taken / std::chrono::nanoseconds(1)) /
         static_cast<double>(std::max<std::uint64_t>(options.loads, 1));
}

}  // namespace kvorum::bench
