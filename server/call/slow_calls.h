// The log lines of a unary call that was slow, in etcd's words: "request stats", "apply request
// took too long" of a read, "trace". Nothing is done for a call that was fast, unless lines of
// level debug are wanted, which every call has.
//
// Thread-safe. Only requests of the KV service are shown, those of at most 16 KiB
// (CallContext::KeepRequest); what is shown has no value in it (request_summary.h).
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log/logging.h"
#include "rpc/call/service.h"

namespace kvorum::server {

class SlowCalls {
 public:
  struct Limits {
    Duration call = std::chrono::milliseconds(300);   // --warning-unary-request-duration
    Duration apply = std::chrono::milliseconds(100);  // --warning-apply-duration; 0: never
  };
  explicit SlowCalls(const Limits& limits)
      : limits_(limits),
        shortest_(std::min(
            {limits.call, kTraced, limits.apply > Duration::zero() ? limits.apply : kTraced})) {}

  void OnEnd(const rpc::CallContext& call, const rpc::CallEnd& end) const {
    if (end.duration > shortest_ || LogEnabled(LogLevel::kDebug)) Log(call, end);
  }

 private:
  // A call that takes longer has a trace, as in etcd, where that cannot be set.
  static constexpr Duration kTraced = std::chrono::milliseconds(100);

  static std::vector<std::string> StepsOf(const rpc::CallContext& call, const rpc::CallEnd& end,
                                          bool only_reads);
  void Log(const rpc::CallContext& call, const rpc::CallEnd& end) const;

  const Limits limits_;
  const Duration shortest_;
};

}  // namespace kvorum::server
