// The network stack's own time for one call and its answer over loopback: the floor of any request.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "bench/load/histogram.h"

namespace kvorum::bench {

struct EchoProbeOptions {
  std::size_t size_bytes = 344;  // a put of 32 + 256 bytes
  std::uint64_t count = 20'000;
};

// Sends so many bytes over TCP to a thread that sends them back, one round trip after another, both
// with blocking calls. Errors: the sockets fail.
Result<Histogram> RunEchoProbe(const EchoProbeOptions& options);

}  // namespace kvorum::bench
