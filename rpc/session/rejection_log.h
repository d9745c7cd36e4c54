// Logs connections that TLS refused, in the words that operators look for, at most a few a second:
// a flood of bad handshakes must not cause a flood of log lines.
//
// Belongs to its loop.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/log/log_rate.h"
#include "rpc/tls/tls_listen.h"

struct ssl_st;

namespace kvorum::rpc {

class RejectionLog {
 public:
  // `ssl` may be null. A client that just left is logged at debug level.
  void Add(TimePoint now, TlsFailure kind, std::string_view peer, const ssl_st* ssl,
           std::string_view why);

 private:
  LogRate rate_;
};

}  // namespace kvorum::rpc
