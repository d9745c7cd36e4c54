// What the disk itself takes for one small durable append: the floor under a put's latency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "bench/load/histogram.h"

namespace kvorum::bench {

struct SyncProbeOptions {
  std::string dir = ".";
  std::size_t size_bytes = 344;  // a put of 32 + 256 bytes as a log record
  std::uint64_t count = 2000;
  bool preallocated = false;  // else each append grows the file
};

// Appends and syncs (fdatasync), one after another, in a file of its own that it removes. The
// durations are of the pair. Errors: the folder cannot be written.
Result<Histogram> RunSyncProbe(const SyncProbeOptions& options);

}  // namespace kvorum::bench
