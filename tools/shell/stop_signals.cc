#include "tools/shell/stop_signals.h"

#include <signal.h>

namespace kvorum::ctl {

StopSignals::StopSignals() : watch_({SIGINT, SIGTERM}) {
  watch_.Listen([this](int signal) {
    const auto now = std::chrono::steady_clock::now();
    if (!stop_.stop_requested()) {
      asked_ = now;
      stop_.request_stop();
      return;
    }
    if (now - asked_ < kOneRequest) return;
    watch_.Unblock();
    raise(signal);
  });
}

}  // namespace kvorum::ctl
