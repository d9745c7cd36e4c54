// SIGINT and SIGTERM as a request to stop, for commands that have something to release.
//
// To be created before any other thread, which inherits that both signals are blocked. The first
// signal stops the token. One that comes within kOneRequest of it is the same request (timeout(1)
// and supervisors signal the process and then its group, a terminal both); a later one ends the
// process as it does by default. Thread-safe; callbacks of the token run on the watch's thread.
#pragma once

#include <chrono>
#include <stop_token>

#include "tools/shell/signal_watch.h"

namespace kvorum::ctl {

class StopSignals {
 public:
  static constexpr std::chrono::seconds kOneRequest{1};

  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::chrono::steady_clock::time_point asked_;  // the watch's thread's
  SignalWatch watch_;
};

}  // namespace kvorum::ctl
