// A closed loop of calls against a server, or the members of a cluster in turn: so many
// connections, so many calls in flight on each, every answer followed at once by the next call. One
// thread; its own cost is in its report.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/load/histogram.h"
#include "bench/load/link.h"
#include "bench/load/process_stats.h"
#include "bench/load/request.h"

namespace kvorum::bench {

enum class KeyOrder : std::uint8_t { kSequential, kRandom };

struct LoadOptions {
  std::vector<std::string> endpoints = {"127.0.0.1:2379"};  // each the next connection's
  RequestShape shape;
  KeyOrder order = KeyOrder::kRandom;
  std::uint64_t key_space = 100'000;
  std::uint64_t first_key = 0;  // keys are numbered from here on
  std::size_t connections = 8;
  std::size_t streams = 32;  // calls in flight on each connection
  // Measures for a time after a warm-up or, when count is not 0, that many calls without a warm-up.
  std::uint64_t count = 0;
  double warmup_seconds = 1;
  double seconds = 5;
  std::string token;  // sent with the calls; empty: none
  TlsFiles tls;
  // This part of the calls are puts, chosen at random; the others are the operation.
  double put_part = 0;
  double rate = 0;  // calls a second, at most; 0: as fast as they go
  std::uint64_t seed = 1;
  std::vector<pid_t> server_pids;  // none: nothing is reported about the servers
};

struct LoadReport {
  Histogram latency;  // of the answered calls
  std::uint64_t failures = 0;
  std::string first_failure;
  std::uint64_t answer_bytes = 0;
  std::uint64_t elapsed_nanos = 0;
  std::uint64_t client_cpu_nanos = 0;
  std::uint64_t server_cpu_nanos = 0;
  ProcessStats server;  // at the end, of all of them

  double CallsPerSecond() const {
    return static_cast<double>(latency.count()) * 1e9 / static_cast<double>(elapsed_nanos);
  }
};

// Errors: the server cannot be reached or breaks a connection, or a request does not fit one
// stream's window. A call that fails is counted, not an error.
Result<LoadReport> RunLoad(const LoadOptions& options);

}  // namespace kvorum::bench
