// Bounds what a client may do often that costs it next to nothing: pings, and streams that are
// reset by it before they were answered, or for its fault.
//
// Used by one thread. Pure: given an event and its time, it says whether the event is still
// allowed; a client that was refused is to be hung up on.
#pragma once

#include "base/clock.h"

namespace kvorum::rpc {

struct Options;

class FloodLimits {
 public:
  // Keeps the options.
  FloodLimits(const Options& options, TimePoint now);

  // Headers or data were sent: the client's next ping is free.
  void OnSent() { sent_since_ping_ = true; }
  // `idle`: the client has no calls. As in grpc-go.
  [[nodiscard]] bool AllowPing(TimePoint now, bool idle);
  [[nodiscard]] bool AllowReset(TimePoint now);

 private:
  const Options& options_;
  bool sent_since_ping_ = false;
  int ping_strikes_ = 0;
  TimePoint last_ping_;
  double reset_tokens_;
  TimePoint reset_refill_;
};

}  // namespace kvorum::rpc
