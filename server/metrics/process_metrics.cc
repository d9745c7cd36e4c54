// The process as the kernel sees it, and the names of Go's runtime with what comes closest here.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "server/metrics/shared_reading.h"
#include "server/metrics/sources.h"

namespace kvorum::server {
namespace {

using enum MetricType;

constexpr const char* kNoCollector = "memory is freed as soon as it is unused";
constexpr const char* kNoSpans = "the C library's heap has no such part";

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// The fields of /proc/self/stat from the third on (state is 0).
std::vector<double> StatFields() {
  const std::string stat = ReadAll("/proc/self/stat");
  std::vector<double> fields;
  std::istringstream rest(stat.substr(std::min(stat.size(), stat.rfind(')') + 2)));
  for (std::string field; rest >> field;) fields.push_back(std::strtod(field.c_str(), nullptr));
  fields.resize(std::max<std::size_t>(fields.size(), 50));
  return fields;
}
// The names of proc(5), less three.
constexpr std::size_t kUtime = 11;
constexpr std::size_t kStime = 12;
constexpr std::size_t kThreads = 17;
constexpr std::size_t kStartTime = 19;
constexpr std::size_t kVsize = 20;
constexpr std::size_t kRss = 21;

double PerTick(double ticks) { return ticks / static_cast<double>(sysconf(_SC_CLK_TCK)); }

double BootTime() {
  const std::string stat = ReadAll("/proc/stat");
  const std::size_t at = stat.find("\nbtime ");
  return at == std::string::npos ? 0 : std::strtod(stat.c_str() + at + 7, nullptr);
}

std::size_t OpenFiles() {
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error))
    ++count;
  return count > 0 ? count - 1 : 0;  // without the one that lists them
}

double Limit(int resource) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return static_cast<double>(limit.rlim_cur);
}

struct Traffic {
  double received = 0;
  double sent = 0;
};
// The bytes of all interfaces of the host, or of the container, as in Go's library.
Traffic NetworkTraffic() {
  std::istringstream lines(ReadAll("/proc/self/net/netstat"));
  Traffic traffic;
  for (std::string names, values; std::getline(lines, names) && std::getline(lines, values);) {
    if (!names.starts_with("IpExt:")) continue;
    std::istringstream name_list(names);
    std::istringstream value_list(values);
    std::string name;
    std::string value;
    while (name_list >> name && value_list >> value) {
      if (name == "InOctets") traffic.received = std::strtod(value.c_str(), nullptr);
      if (name == "OutOctets") traffic.sent = std::strtod(value.c_str(), nullptr);
    }
  }
  return traffic;
}

void AddKernelRows(MetricsRegistry& registry, const SharedReading<std::vector<double>>& stat) {
  const SharedReading<std::size_t> open_files(OpenFiles);
  const SharedReading<Traffic> traffic(NetworkTraffic);
  registry.Counter("process_cpu_seconds_total", "Processor time, user and system.", [stat] {
    const std::vector<double> fields = stat();
    return PerTick(fields[kUtime] + fields[kStime]);
  });
  registry.Gauge("process_open_fds", "Open file descriptors.", open_files);
  registry.Gauge("process_max_fds", "The limit of file descriptors.",
                 [] { return Limit(RLIMIT_NOFILE); });
  registry.Gauge("os_fd_used", "Open file descriptors.", open_files);
  registry.Gauge("os_fd_limit", "The limit of file descriptors.",
                 [] { return Limit(RLIMIT_NOFILE); });
  registry.Gauge("process_virtual_memory_bytes", "Address space.",
                 [stat] { return stat()[kVsize]; });
  registry.Gauge("process_virtual_memory_max_bytes", "The limit of the address space.",
                 [] { return Limit(RLIMIT_AS); });
  registry.Gauge("process_resident_memory_bytes", "Memory, mapped pages of files included.",
                 [stat] { return stat()[kRss] * static_cast<double>(sysconf(_SC_PAGESIZE)); });
  registry.Gauge("process_start_time_seconds", "The Unix time of the start.",
                 [stat] { return BootTime() + PerTick(stat()[kStartTime]); });
  registry.Counter("process_network_receive_bytes_total",
                   "Bytes received by all processes that share this network.",
                   [traffic] { return traffic().received; });
  registry.Counter("process_network_transmit_bytes_total",
                   "Bytes sent by all processes that share this network.",
                   [traffic] { return traffic().sent; });
}

void AddHeapRows(MetricsRegistry& registry, const SharedReading<std::vector<double>>& stat) {
  const SharedReading<struct mallinfo2> heap(mallinfo2);
  const auto in_use = [heap] {
    const struct mallinfo2 read = heap();
    return read.uordblks + read.hblkhd;
  };
  const auto from_system = [heap] {
    const struct mallinfo2 read = heap();
    return read.arena + read.hblkhd;
  };
  for (const char* name : {"go_memstats_alloc_bytes", "go_memstats_heap_alloc_bytes",
                           "go_memstats_heap_inuse_bytes"}) {
    registry.Gauge(name, "Bytes of the C library's heap that are in use.", in_use);
  }
  for (const char* name : {"go_memstats_heap_sys_bytes", "go_memstats_sys_bytes"})
    registry.Gauge(name, "Bytes that the heap has from the system.", from_system);
  registry.Gauge("go_memstats_heap_idle_bytes", "Bytes that the heap keeps unused.",
                 [heap] { return heap().fordblks; });
  registry.Gauge("go_goroutines", "Threads.", [stat] { return stat()[kThreads]; });
  registry.Gauge("go_threads", "Threads.", [stat] { return stat()[kThreads]; });
  registry.Gauge("go_sched_gomaxprocs_threads", "Processors.",
                 [] { return std::thread::hardware_concurrency(); });
  registry.Family("go_info", kGauge, {"version"}, "The compiler, with the value 1.",
                  [](Samples& out) { out.Add({"gcc" __VERSION__}, 1); });
}

void AddAbsentGoRows(MetricsRegistry& registry) {
  registry.Add(
      "go_gc_duration_seconds",
      {.type = kSummary,
       .help = "Pauses of a garbage collection.",
       .labels = {},
       .zero_because = kNoCollector,
       .collect = [](Samples& out) {
         out.Add({}, SummaryValues{.quantiles = {{0, 0}, {0.25, 0}, {0.5, 0}, {0.75, 0}, {1, 0}}});
       }});
  for (const char* name :
       {"go_gc_gogc_percent", "go_gc_gomemlimit_bytes", "go_memstats_gc_sys_bytes",
        "go_memstats_last_gc_time_seconds", "go_memstats_next_gc_bytes"})
    registry.Zero(name, kGauge, "About garbage collection.", kNoCollector);
  for (const char* name : {"go_memstats_buck_hash_sys_bytes", "go_memstats_heap_objects",
                           "go_memstats_heap_released_bytes", "go_memstats_mcache_inuse_bytes",
                           "go_memstats_mcache_sys_bytes", "go_memstats_mspan_inuse_bytes",
                           "go_memstats_mspan_sys_bytes", "go_memstats_other_sys_bytes",
                           "go_memstats_stack_inuse_bytes", "go_memstats_stack_sys_bytes"})
    registry.Zero(name, kGauge, "A part of Go's heap.", kNoSpans);
  for (const char* name :
       {"go_memstats_alloc_bytes_total", "go_memstats_frees_total", "go_memstats_mallocs_total"})
    registry.Zero(name, kCounter, "Allocations since the start.", "allocations are not counted");
}

}  // namespace

void AddProcessMetrics(MetricsRegistry& registry) {
  const SharedReading<std::vector<double>> stat(StatFields);
  AddKernelRows(registry, stat);
  AddHeapRows(registry, stat);
  AddAbsentGoRows(registry);
}

}  // namespace kvorum::server
