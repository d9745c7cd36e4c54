// The threads as the kernel sees them: how long each has computed, and how long it was ready and
// had no processor. Threads of one name count together, those that have ended too.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
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

struct ThreadReading {
  std::string name;
  ThreadTimes times;
};

using TimesByThread = std::map<std::string, ThreadTimes>;

void Add(TimesByThread& sums, const ThreadReading& reading) {
  ThreadTimes& sum = sums[reading.name];
  sum.computed_ns += reading.times.computed_ns;
  sum.delayed_ns += reading.times.delayed_ns;
  sum.turns += reading.times.turns;
}

// By the thread's number. Empty where the kernel keeps no such numbers.
std::map<std::string, ThreadReading> ReadLiveThreads() {
  std::map<std::string, ThreadReading> threads;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/task", error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream comm(it->path() / "comm");
    std::ifstream schedstat(it->path() / "schedstat");
    ThreadReading read;
    if (std::getline(comm, read.name) &&
        (schedstat >> read.times.computed_ns >> read.times.delayed_ns >> read.times.turns))
      threads.emplace(it->path().filename(), std::move(read));
  }
  return threads;
}

// A counter may not go down when a thread ends: what the last reading had of it stays in the sum.
// Its time after that reading is left out.
TimesByThread ReadThreads() {
  static std::mutex mutex;
  static std::map<std::string, ThreadReading> last;
  static TimesByThread ended;
  const std::lock_guard lock(mutex);
  std::map<std::string, ThreadReading> now = ReadLiveThreads();
  for (const auto& [number, before] : last) {
    const auto found = now.find(number);
    // The number may be another thread's by now.
    const bool lives = found != now.end() && found->second.name == before.name &&
                       found->second.times.computed_ns >= before.times.computed_ns;
    if (!lives) Add(ended, before);
  }
  TimesByThread sums = ended;
  for (const auto& [number, reading] : now) Add(sums, reading);
  last = std::move(now);
  return sums;
}

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
