// Calls counted by method and outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/metric.h"
#include "base/thread_cells.h"
#include "rpc/call/service.h"
#include "server/call/slow_calls.h"
#include "server/call/slow_writes.h"

namespace kvorum::server {

// Calls by method and status code, for the metrics. Thread-safe; two additions to the thread's own
// cells per call, two more for a Range.
class CallCounters {
 public:
  static constexpr std::size_t kCodes = 17;

  explicit CallCounters(std::size_t methods) : methods_(methods), cells_(methods * kPerMethod) {}
  // Times the calls of every method from now on. Called before the first call.
  void TimeAll();

  void Started(std::uint32_t method) { cells_.Add(Cell(method, kStarted), 1); }
  void Ended(std::uint32_t method, Code code) {
    cells_.Add(Cell(method, static_cast<std::size_t>(code)), 1);
  }
  void StreamMessages(std::uint32_t method, std::uint64_t received, std::uint64_t sent);
  void Took(std::uint32_t method, Duration duration) {
    if (!times_.empty()) times_[method]->Observe(duration);
  }
  // Times the calls of this unary method by their success, under the name of its kind of entry.
  void TimeRequests(const rpc::MethodInfo& method);
  void RequestEnded(std::uint32_t method, const rpc::CallEnd& end) {
    if (method < requests_.size() && requests_[method] != nullptr)
      requests_[method]->times[end.code == Code::kOk ? 1 : 0].Observe(end.duration);
  }
  void RangeTook(const rpc::CallEnd& end) {
    (end.code == Code::kOk ? ranges_ : failed_ranges_).Observe(end.duration);
  }

  std::uint64_t started(std::uint32_t method) const { return Sum(method, kStarted); }
  std::uint64_t ended(std::uint32_t method, Code code) const {
    return Sum(method, static_cast<std::size_t>(code));
  }
  // Messages of a stream's calls.
  std::uint64_t received(std::uint32_t method) const { return Sum(method, kReceived); }
  std::uint64_t sent(std::uint32_t method) const { return Sum(method, kSent); }
  // Null unless all are timed.
  const Histogram* times(std::uint32_t method) const {
    return times_.empty() ? nullptr : times_[method].get();
  }
  struct RequestTimes {
    std::string type;  // "Put"
    Histogram times[2]{Histogram(DoublingBounds(0.001, 14)),
                       Histogram(DoublingBounds(0.001, 14))};  // by success
  };
  // By method; null for those that are not timed.
  const std::vector<std::unique_ptr<RequestTimes>>& requests() const { return requests_; }
  const Histogram& ranges() const { return ranges_; }
  const Histogram& failed_ranges() const { return failed_ranges_; }

 private:
  // After those of the codes.
  static constexpr std::size_t kStarted = kCodes;
  static constexpr std::size_t kReceived = kCodes + 1;
  static constexpr std::size_t kSent = kCodes + 2;
  static constexpr std::size_t kPerMethod = kCodes + 3;
  static std::size_t Cell(std::uint32_t method, std::size_t what) {
    return method * kPerMethod + what;
  }
  std::uint64_t Sum(std::uint32_t method, std::size_t what) const {
    return cells_.Sum(Cell(method, what));
  }

  const std::size_t methods_;
  ThreadCells cells_;
  std::vector<std::unique_ptr<Histogram>> times_;
  std::vector<std::unique_ptr<RequestTimes>> requests_;
  Histogram ranges_{DoublingBounds(0.0001, 20)};
  Histogram failed_ranges_{DoublingBounds(0.0001, 20)};
};

// Counts every call, logs the slow ones, and charges the slow writes to what they waited for.
// Called once, when all methods are registered; counters and writes outlive the router.
void ObserveCalls(rpc::Router& router, CallCounters& counters, SlowWrites& writes,
                  SlowCalls::Limits limits);

}  // namespace kvorum::server
