// A process's CPU time and memory as the kernel reports them in /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/error.h"

namespace kvorum::bench {

struct ProcessStats {
  std::uint64_t cpu_nanos = 0;       // user and system, all threads
  std::uint64_t rss_bytes = 0;       // resident
  std::uint64_t rss_anon_bytes = 0;  // of it: not backed by a file

  ProcessStats& operator+=(const ProcessStats& other);
};

// Errors: no such process.
Result<ProcessStats> ReadProcessStats(pid_t pid);

// User and system CPU of this process.
std::uint64_t OwnCpuNanos();

}  // namespace kvorum::bench
