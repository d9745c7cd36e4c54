// SIGINT and SIGTERM as a request to stop, for commands that have something to release.
//
// To be created before any other thread, which inherits that both signals are blocked. The first
// signal stops the token; from the second one on they end the process as they do by default.
#pragma once

#include <stop_token>

#include "tools/signal_watch.h"

namespace kvorum::ctl {

class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  SignalWatch watch_;
};

}  // namespace kvorum::ctl
