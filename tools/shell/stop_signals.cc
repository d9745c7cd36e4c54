#include "tools/shell/stop_signals.h"

#include <signal.h>

namespace kvorum::ctl {

StopSignals::StopSignals(std::chrono::milliseconds clean_up)
    : clean_up_(clean_up), watch_({SIGINT, SIGTERM}) {
  watch_.Listen([this](int signal) {
    if (stop_.stop_requested()) return;
    bound_ = std::jthread([this, signal](const std::stop_token& stop) { Bound(stop, signal); });
    stop_.request_stop();
  });
}

void StopSignals::RunThrough(const std::function<void()>& work) {
  const auto set = [this](bool is_working) {
    {
      const std::lock_guard lock(mutex_);
      is_working_ = is_working;
    }
    changed_.notify_all();
  };
  set(true);
  work();
  set(false);
}

void StopSignals::Bound(const std::stop_token& stop, int signal) {
  std::unique_lock lock(mutex_);
  do {
    if (!changed_.wait(lock, stop, [this] { return !is_working_; })) return;
    const auto end = std::chrono::steady_clock::now() + clean_up_;
    changed_.wait_until(lock, stop, end, [this] { return is_working_; });
    if (stop.stop_requested()) return;
  } while (is_working_);
  watch_.Unblock();
  raise(signal);
}

}  // namespace kvorum::ctl
