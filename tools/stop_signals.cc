#include "tools/stop_signals.h"

#include <signal.h>

namespace kvorum::ctl {

StopSignals::StopSignals() : watch_({SIGINT, SIGTERM}) {
  watch_.Listen([this](int signal) {
    if (stop_.request_stop()) return;
    watch_.Unblock();
    raise(signal);
  });
}

}  // namespace kvorum::ctl
