// Watchers beside writes: opens streams of watchers, then puts at a rate or with so many in flight,
// and measures the cost of the events and the time from each put to its event. One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "bench/load/histogram.h"
#include "bench/load/process_stats.h"

namespace kvorum::bench {

struct WatchLoadOptions {
  std::string endpoint = "127.0.0.1:2379";
  std::size_t connections = 4;
  std::size_t streams = 100;
  std::size_t watchers_per_stream = 10;
  bool own_keys = false;  // each watcher has its own key; else all have one prefix
  bool idle = false;      // of keys that are never put
  std::size_t key_size = 32;
  std::size_t value_size = 256;
  std::uint64_t key_space = 10'000;
  double puts_per_second = 0;  // 0: closed loop
  std::size_t in_flight = 64;
  double warmup_seconds = 1;
  double seconds = 5;
  pid_t server_pid = 0;
};

struct WatchLoadReport {
  std::uint64_t puts = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  Histogram latency;      // from a put's start to the message that has its event
  Histogram put_latency;  // to its answer
  std::uint64_t elapsed_nanos = 0;
  std::uint64_t server_cpu_nanos = 0;
  std::uint64_t client_cpu_nanos = 0;
  // The server's memory before there were watchers, and with idle ones.
  std::uint64_t before_bytes = 0;
  std::uint64_t with_watchers_bytes = 0;
};

Result<WatchLoadReport> RunWatchLoad(const WatchLoadOptions& options);

}  // namespace kvorum::bench
