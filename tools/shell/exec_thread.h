// Runs the program of --exec, one run at a time, on its own thread. What failed is run again
// after a pause, which grows from a second to half a minute while runs go on failing: what the
// program makes is to end as the keys are.
//
// Thread-safe. The destructor drops what waits, and ends a run in progress as RunProgram does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tools/shell/reporter.h"

namespace kvorum::ctl {

struct ExecRun {
  std::string about;                          // for the warning about a failure
  std::vector<std::string> environment = {};  // beside the command's own
  std::string input = {};
};

// Called on the thread.
struct ExecWork {
  // The next run; nothing: none is due. Asked after each Wake, until nothing is due.
  std::function<std::optional<ExecRun>()> next;
  // Reports how the run that `next` gave last has ended.
  std::function<void(bool is_ok)> ended;
  // The pause is over: what has failed is due again.
  std::function<void()> retry;
};

class ExecThread {
 public:
  static constexpr std::chrono::seconds kFirstPause{1};
  static constexpr std::chrono::seconds kLongestPause{30};

  // `command` is a line for the shell. A run that fails is a warning, and the next one follows.
  // The password of kvorumctl's own environment is not passed on.
  ExecThread(std::string command, const std::vector<std::string>& environment, Reporter& reporter,
             ExecWork work);
  void Wake();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  void Run(const std::stop_token& stop);
  // False: it is to stop.
  bool WaitForWork(const std::stop_token& stop);
  bool RunOnce(const ExecRun& run, const std::stop_token& stop);

  const std::vector<std::string> command_;
  const std::vector<std::string> environment_;
  Reporter& reporter_;
  const ExecWork work_;
  TimePoint retry_at_ = TimePoint::max();  // max: nothing has failed
  std::chrono::seconds pause_ = kFirstPause;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool is_due_ = false;  // guarded by the mutex
  std::jthread thread_;
};

}  // namespace kvorum::ctl
