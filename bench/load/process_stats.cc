#include "bench/load/process_stats.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace kvorum::bench {
namespace {

constexpr std::uint64_t kNanosPerSecond = 1'000'000'000;

// Fields 14 and 15 of /proc/<pid>/stat, in clock ticks. The second field, the program's name in
// parentheses, may contain spaces: counting starts after its last parenthesis.
Result<std::uint64_t> ReadCpuNanos(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) {
    return Fail(Code::kNotFound, fmt::format("no process with the id {}", pid));
  }
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  const auto ticks_per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return (user_ticks + system_ticks) * (kNanosPerSecond / ticks_per_second);
}

std::uint64_t TimevalNanos(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kNanosPerSecond +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

}  // namespace

ProcessStats& ProcessStats::operator+=(const ProcessStats& other) {
  cpu_nanos += other.cpu_nanos;
  rss_bytes += other.rss_bytes;
  rss_anon_bytes += other.rss_anon_bytes;
  return *this;
}

Result<ProcessStats> ReadProcessStats(pid_t pid) {
  ProcessStats stats;
  KV_TRY(stats.cpu_nanos, ReadCpuNanos(pid));
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name;
    std::uint64_t kib = 0;
    fields >> name >> kib;
    if (name == "VmRSS:") stats.rss_bytes = kib * 1024;
    if (name == "RssAnon:") stats.rss_anon_bytes = kib * 1024;
  }
  return stats;
}

std::uint64_t OwnCpuNanos() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return TimevalNanos(usage.ru_utime) + TimevalNanos(usage.ru_stime);
}

}  // namespace kvorum::bench
