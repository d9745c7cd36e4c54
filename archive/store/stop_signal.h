// Ends the calls of a store that wait: for an answer within a second, for the next try at once.
// Thread-safe; must outlive the stores that watch it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace kvorum::archive {

class StopSignal {
 public:
  virtual ~StopSignal() = default;

  // For ever.
  void Stop();
  bool stopped() const { return stopped_; }
  // Returns after this time, or at once when stopped: true if stopped. A test's own sets its clock
  // instead of waiting.
  virtual bool WaitFor(Duration time);

 private:
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace kvorum::archive
