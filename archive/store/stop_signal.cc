#include "archive/store/stop_signal.h"

namespace kvorum::archive {

void StopSignal::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

bool StopSignal::WaitFor(Duration time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return stopped(); });
}

}  // namespace kvorum::archive
