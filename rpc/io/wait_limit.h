// The end of a wait: a time, which another thread may shorten.
#pragma once

#include <algorithm>
#include <functional>

#include "base/clock.h"

namespace kvorum::rpc {

struct WaitLimit {
  TimePoint at;
  // If set, the sooner of both counts. Asked again whenever `wake_fd` is readable, an eventfd that
  // the waiter then empties.
  std::function<TimePoint()> shorter = {};
  int wake_fd = -1;

  WaitLimit(TimePoint when) : at(when) {}  // NOLINT(google-explicit-constructor): a time is one
  WaitLimit(TimePoint when, std::function<TimePoint()> ask, int wake)
      : at(when), shorter(std::move(ask)), wake_fd(wake) {}

  TimePoint Now() const { return shorter == nullptr ? at : std::min(at, shorter()); }
  WaitLimit NoLaterThan(TimePoint when) const {
    WaitLimit sooner = *this;
    sooner.at = std::min(at, when);
    return sooner;
  }
};

}  // namespace kvorum::rpc
