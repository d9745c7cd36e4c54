// The threads as the kernel sees them: how long each has computed, and how long it was ready and
// had no processor. Threads of one name count together.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "server/metrics/shared_reading.h"
#include "server/metrics/sources.h"

namespace kvorum::server {
namespace {

struct ThreadTimes {
  std::uint64_t computed_ns = 0;
  std::uint64_t delayed_ns = 0;
  std::uint64_t turns = 0;  // on a processor
};

// A thread that ends meanwhile is left out. Empty where the kernel keeps no such numbers.
std::map<std::string, ThreadTimes> ReadThreads() {
  std::map<std::string, ThreadTimes> threads;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/task", error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream comm(it->path() / "comm");
    std::ifstream schedstat(it->path() / "schedstat");
    std::string name;
    ThreadTimes read;
    if (!std::getline(comm, name) ||
        !(schedstat >> read.computed_ns >> read.delayed_ns >> read.turns))
      continue;
    ThreadTimes& all = threads[name];
    all.computed_ns += read.computed_ns;
    all.delayed_ns += read.delayed_ns;
    all.turns += read.turns;
  }
  return threads;
}

using TimesByThread = std::map<std::string, ThreadTimes>;

void AddThreads(MetricsRegistry& registry, std::string_view name, std::string_view help,
                const SharedReading<TimesByThread>& read, std::uint64_t ThreadTimes::* part,
                double scale) {
  registry.Family(name, MetricType::kCounter, {"thread"}, help, [read, part, scale](Samples& out) {
    for (const auto& [thread, times] : read())
      out.Add({thread}, static_cast<double>(times.*part) * scale);
  });
}

}  // namespace

void AddThreadMetrics(MetricsRegistry& registry) {
  constexpr double kSeconds = 1e-9;
  const SharedReading<TimesByThread> threads(ReadThreads);
  AddThreads(registry, "kvorum_thread_cpu_seconds_total", "Processor time of threads.", threads,
             &ThreadTimes::computed_ns, kSeconds);
  AddThreads(registry, "kvorum_thread_delay_seconds_total",
             "Time that threads were ready to run and had no processor.", threads,
             &ThreadTimes::delayed_ns, kSeconds);
  AddThreads(registry, "kvorum_thread_turns_total", "Times that threads were given a processor.",
             threads, &ThreadTimes::turns, 1);
}

}  // namespace kvorum::server
