// The disk's own time for one small durable append: the floor of a put's latency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "bench/load/histogram.h"

namespace kvorum::bench {

// The file's space before the first append. In space that is only reserved, the first write to each
// block still changes the file system's metadata; in zeros, as of our log's segments, none does.
enum class ProbeSpace : std::uint8_t { kNone, kReserved, kZeroed };

struct SyncProbeOptions {
  std::string dir = ".";
  std::size_t size_bytes = 344;  // a put of 32 + 256 bytes as a log record
  std::uint64_t count = 2000;
  ProbeSpace space = ProbeSpace::kNone;
};

// Appends and syncs (fdatasync), one after another, in a separate file that it removes. The
// durations are of the pair. Errors: the directory cannot be written.
Result<Histogram> RunSyncProbe(const SyncProbeOptions& options);

}  // namespace kvorum::bench
