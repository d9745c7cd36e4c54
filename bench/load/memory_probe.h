// Memory's own time for one load that no cache holds and that the next one depends on: the floor of
// a step through an index larger than the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvorum::bench {

struct MemoryProbeOptions {
  std::size_t size_mib = 256;
  std::uint64_t loads = 5'000'000;
};

// Follows pointers through all cache lines of that much memory in random order, with pages of the
// usual size (so the translation's misses count, too). Returns nanoseconds a load.
double RunMemoryProbe(const MemoryProbeOptions& options);

// A random permutation of the numbers below `size` that is a single cycle (Sattolo 1986): following
// it from anywhere meets each of them before the first again. Precondition: size > 0.
std::vector<std::uint32_t> RandomCycle(std::uint32_t size, std::uint64_t seed);

}  // namespace kvorum::bench
