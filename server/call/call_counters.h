// Calls counted by method and outcome, and the log of slow ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/error.h"
#include "rpc/service.h"

namespace kvorum::server {

// Calls by method and status code, for the metrics. Thread-safe; one relaxed increment per call.
class CallCounters {
 public:
  explicit CallCounters(std::size_t methods);
  void Started(std::uint32_t method) {
    Row(method).started.fetch_add(1, std::memory_order_relaxed);
  }
  void Ended(std::uint32_t method, Code code);
  std::uint64_t started(std::uint32_t method) const;
  std::uint64_t ended(std::uint32_t method, Code code) const;

 private:
  static constexpr std::size_t kCodes = 17;
  struct alignas(64) Counters {
    std::atomic<std::uint64_t> started{0};
    std::atomic<std::uint64_t> by_code[kCodes]{};
  };
  Counters& Row(std::uint32_t method) { return rows_[method]; }

  std::unique_ptr<Counters[]> rows_;
};

// Counts every call, and logs one that took longer than `slow` with its caller's address. Called
// once, when all methods are registered; the counters outlive the router.
void ObserveCalls(rpc::Router& router, CallCounters& counters, Duration slow);

}  // namespace kvorum::server
