// Decides which traces are recorded: those that their caller records, and of those that begin here
// a share, chosen by the trace's id so that all members decide alike.
//
// A plain value.
#pragma once

#include <cstdint>
#include <optional>

#include "server/tracing/span_context.h"

namespace kvorum::server::tracing {

class Sampler {
 public:
  static constexpr std::int64_t kMillion = 1'000'000;

  // `per_million` of the traces that begin here, from 0 to a million.
  explicit Sampler(std::int64_t per_million);

  // False: no trace that begins here is recorded.
  bool begins_traces() const { return bound_ > 0; }
  // For a trace that begins here.
  bool Takes(const TraceId& trace_id) const;

 private:
  std::uint64_t bound_;  // of the id's last 63 bits; 2^63: all
};

}  // namespace kvorum::server::tracing
