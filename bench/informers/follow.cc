// Follows a prefix with our informer, for bench/compare_informers.py, as main.go does with those of
// others:
//
//   kvorum-informer-follow ENDPOINT PREFIX OBJECTS LISTENERS THREADS
//
// Listeners share the threads or, without any, have one each.
//
// Says {"heap_bytes": ..., "rss_bytes": ...} once every listener has received all objects. Then
// each line N on standard input begins a measure of N changes, which is answered by one line.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "bench/load/histogram.h"
#include "client/client.h"
#include "sync/informer/informer.h"
#include "sync/store/client_store.h"

namespace kvorum::bench {
namespace {

using Copy = sync::Informer<sync::BytesCodec>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(60);

void Say(const nlohmann::json& what) { std::cout << what.dump() << '\n' << std::flush; }

// Counts the notifications of each listener separately.
class Record {
 public:
  explicit Record(std::size_t listeners) : told_(listeners) {}

  void Expect(std::int64_t more) {
    const std::lock_guard lock(mutex_);
    lags_ = {};
    has_begun_ = false;
    goal_ += more;
  }
  void Tell(std::size_t listener, std::string_view value) {
    if (listener == 0) Measure(value);
    if (++told_[listener].count == goal_) complete_.release();
  }
  // Until every listener has received everything.
  bool Wait() {
    const auto end = Clock::now() + kPatience;
    return std::ranges::all_of(told_,
                               [&](const auto&) { return complete_.try_acquire_until(end); });
  }
  std::int64_t goal() const { return goal_; }
  std::int64_t least() const {
    return std::ranges::min_element(told_, {}, [](const Told& each) { return each.count.load(); })
        ->count;
  }
  Clock::time_point begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  double LagMicros(double part) const {
    const std::lock_guard lock(mutex_);
    return static_cast<double>(lags_.Quantile(part)) / 1000;
  }

 private:
  struct alignas(64) Told {
    std::atomic<std::int64_t> count = 0;
  };

  // The value tells when it was put, by the wall clock.
  void Measure(std::string_view value) {
    std::int64_t put_ns = 0;
    std::from_chars(value.data(), value.data() + value.size(), put_ns);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t lag = std::chrono::nanoseconds(now).count() - put_ns;
    const std::lock_guard lock(mutex_);
    lags_.Record(static_cast<std::uint64_t>(std::max<std::int64_t>(lag, 0)));
    if (!has_begun_) begun_ = Clock::now();
    has_begun_ = true;
  }

  std::vector<Told> told_;
  std::atomic<std::int64_t> goal_ = 0;
  std::counting_semaphore<> complete_{0};
  mutable std::mutex mutex_;  // guards what follows
  Histogram lags_;            // of the first listener
  Clock::time_point begun_;
  bool has_begun_ = false;
};

std::int64_t CpuMicros() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

std::int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

std::size_t HeapBytes() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

void Measure(Record& record, std::int64_t changes) {
  const std::int64_t before = record.least();
  record.Expect(changes);
  const std::int64_t used = CpuMicros();
  Say(nlohmann::json::object());
  const bool complete = record.Wait();
  const std::chrono::duration<double> seconds = Clock::now() - record.begun();
  Say({{"complete", complete},
       {"told", record.least() - before},
       {"seconds", seconds.count()},
       {"cpu_us", CpuMicros() - used},
       {"p50_us", record.LagMicros(0.5)},
       {"p99_us", record.LagMicros(0.99)}});
}

int FollowPrefix(const std::vector<std::string>& arguments) {
  const auto client = client::Client::Connect({.endpoints = {arguments[0]}});
  if (!client) return 1;
  sync::ClientStore store(**client);
  std::vector<std::unique_ptr<ThreadExecutor>> threads(std::stoul(arguments[4]));
  for (auto& thread : threads) thread = std::make_unique<ThreadExecutor>("listeners");
  ThreadExecutor executor("informer");
  Copy::Options options;
  options.source.prefix = arguments[1];
  Copy informer(store, executor, std::move(options));
  Record record(std::stoul(arguments[3]));
  record.Expect(std::stoll(arguments[2]));
  for (std::size_t i = 0; i < std::stoul(arguments[3]); ++i) {
    Executor* const own = threads.empty() ? nullptr : threads[i % threads.size()].get();
    const auto handle = informer.AddListener(
        {.executor = own},
        {.on_add = [&record, i](const auto& added, bool) { record.Tell(i, added->value()); },
         .on_update = [&record, i](const auto&,
                                   const auto& after) { record.Tell(i, after->value()); }});
    if (!handle) return 1;
  }
  if (!informer.Run() || !record.Wait()) return 1;
  Say({{"heap_bytes", HeapBytes()}, {"rss_bytes", ResidentBytes()}});
  for (std::string changes; std::getline(std::cin, changes);) Measure(record, std::stoll(changes));
  informer.Stop();
  return 0;
}

}  // namespace
}  // namespace kvorum::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 5) return 2;
  return kvorum::bench::FollowPrefix(arguments);
}
