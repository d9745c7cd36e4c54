// The spans of a call in a trace, as a column of its method's row (server/call/api.h).
// server/tracing/request_spans.h has what each kind says.
#pragma once

#include <cstdint>

namespace kvorum::server {

enum class CallSpan : std::uint8_t {
  kPlain,     // its own span alone
  kProposal,  // the same, of a call that is a proposal
  kRange,
  kRangeStream,
  kPut,
  kDeleteRange,
  kTxn,
  kCompaction,
  kLeaseGrant,
  kLeaseRevoke,
  kLeaseKeepAlive,
  kWatch,
};

}  // namespace kvorum::server
