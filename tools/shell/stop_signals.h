// SIGINT and SIGTERM as a request to stop, for commands that have something to release.
//
// To be created before any other thread, which inherits that both signals are blocked. The first
// signal stops the token; however many come later, they do not break off what the command does at
// its end (timeout(1) and supervisors signal the process and then its group, a terminal both, and
// people press the keys again). The end has a bound: kCleanUp after the first signal the process
// ends as that signal does by default. Thread-safe, but for RunThrough, which one thread calls;
// callbacks of the token run on the watch's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "tools/shell/signal_watch.h"

namespace kvorum::ctl {

class StopSignals {
 public:
  // Longer than the calls that a command ends with: their time-outs are 10 s, and an agent may make
  // three.
  static constexpr std::chrono::seconds kCleanUp{45};

  explicit StopSignals(std::chrono::milliseconds clean_up = kCleanUp);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  // Runs work that a signal ends by itself or not at all, such as a program of the user's: the time
  // of the bound does not run meanwhile, and is whole again afterwards.
  void RunThrough(const std::function<void()>& work);

 private:
  // Ends the process once the time has passed; returns if it is to stop.
  void Bound(const std::stop_token& stop, int signal);

  const std::chrono::milliseconds clean_up_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_working_ = false;  // guarded by the mutex
  std::jthread bound_;       // begun by the watch's thread
  SignalWatch watch_;        // the last: no thread is begun any more once it has gone
};

}  // namespace kvorum::ctl
