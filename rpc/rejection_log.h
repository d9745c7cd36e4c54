// Tells of connections that TLS refused, in the words that operators look for, and at most a few a
// second: a flood of bad handshakes must not be one of log lines.
//
// Belongs to its loop.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "rpc/tls_listen.h"

struct ssl_st;

namespace kvorum::rpc {

class RejectionLog {
 public:
  // `ssl` may be null. A client that just left is told of at the debug level.
  void Add(TimePoint now, TlsFailure kind, std::string_view peer, const ssl_st* ssl,
           std::string_view why);

 private:
  TimePoint second_;
  int lines_ = 0;
  std::uint64_t suppressed_ = 0;
};

}  // namespace kvorum::rpc
