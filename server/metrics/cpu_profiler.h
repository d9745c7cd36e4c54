// A sampling profiler of this process: which stacks its threads spend processor time in. Each
// thread has a timer on its own processor time, whose signal (SIGPROF) notes the stack in a ring
// that Collect empties. A thread that does not run costs nothing, and without a profiler there is
// neither timer nor handler.
//
// Used by one thread. At most one at a time in a process. The signal's handler takes no lock and
// allocates nothing: GCC 12's unwinder finds its tables without either. Bounds: 4,096 samples
// between two Collects and 16,384 different stacks of at most 64 frames; the rest is counted as
// lost.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <vector>

#include "base/error.h"

namespace kvorum::server {

struct CpuProfile {
  // From the innermost frame outwards: the address that was executed, then return addresses.
  using Stack = std::vector<std::uintptr_t>;
  std::map<Stack, std::uint64_t> samples;
  std::uint64_t lost = 0;
  std::chrono::nanoseconds period{};
};

class CpuProfiler {
 public:
  // kUnavailable while another one runs.
  static Result<std::unique_ptr<CpuProfiler>> Start();
  ~CpuProfiler();
  CpuProfiler(const CpuProfiler&) = delete;
  CpuProfiler& operator=(const CpuProfiler&) = delete;

  // Takes what was sampled, and samples threads that are new. Call it ten times a second.
  void Collect();
  // Ends the sampling; once.
  CpuProfile Stop();

 private:
  struct Ring;

  CpuProfiler();
  void WatchThreads();
  void EmptyRing();

  std::unique_ptr<Ring> ring_;
  std::map<pid_t, timer_t> timers_;
  CpuProfile profile_;
};

}  // namespace kvorum::server
