// A StopSignal whose waits move a test's clock instead of lasting. Used by one thread at a time.
#pragma once

#include <utility>
#include <vector>

#include "archive/store/stop_signal.h"
#include "tests/manual_clock.h"

namespace kvorum::archive {

class ClockedStop final : public StopSignal {
 public:
  explicit ClockedStop(ManualClock& clock) : clock_(clock) {}

  bool WaitFor(Duration time) override {
    waits_.push_back(time);
    if (waits_.size() == stop_at_wait_) Stop();
    if (!stopped()) clock_.Advance(time);
    return stopped();
  }
  // The signal comes while the nth wait lasts, from 1 on.
  void StopAtWait(std::size_t nth) { stop_at_wait_ = nth; }
  const std::vector<Duration>& waits() const { return waits_; }

 private:
  ManualClock& clock_;
  std::vector<Duration> waits_;
  std::size_t stop_at_wait_ = 0;
};

}  // namespace kvorum::archive
