// Decides when a silent client is pinged, and when it counts as gone.
//
// Used by one thread. Pure: the owner sends the ping, and sets its timer to next().
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace kvorum::rpc {

class Keepalive {
 public:
  enum class Action : std::uint8_t { kWait, kPing, kGiveUp };

  // A client that was silent for `interval` is pinged, and has `timeout` to send anything.
  Keepalive(Duration interval, Duration timeout, TimePoint now)
      : interval_(interval), timeout_(timeout), last_input_(now), next_(now + interval) {}

  void OnInput(TimePoint now) {
    last_input_ = now;
    pinged_ = false;
  }

  Action OnTimer(TimePoint now) {
    if (pinged_) return Action::kGiveUp;
    next_ = last_input_ + interval_;
    if (now < next_) return Action::kWait;
    pinged_ = true;
    next_ = now + timeout_;
    return Action::kPing;
  }

  TimePoint next() const { return next_; }

 private:
  const Duration interval_;
  const Duration timeout_;
  TimePoint last_input_;
  TimePoint next_;
  bool pinged_ = false;
};

}  // namespace kvorum::rpc
