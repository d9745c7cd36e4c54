#include "server/tracing/sampler.h"

#include <cstddef>

namespace kvorum::server::tracing {

// The product in floating point is that of OpenTelemetry's Go SDK, to the last bit.
Sampler::Sampler(std::int64_t per_million)
    : bound_(per_million >= kMillion
                 ? std::uint64_t{1} << 63
                 : static_cast<std::uint64_t>(static_cast<double>(per_million) /
                                              static_cast<double>(kMillion) * 0x1p63)) {}

bool Sampler::Takes(const TraceId& trace_id) const {
  std::uint64_t low = 0;
  for (std::size_t i = 8; i < trace_id.size(); ++i) low = low << 8 | trace_id[i];
  return low >> 1 < bound_;
}

}  // namespace kvorum::server::tracing
