// Runs the program of --exec, one run at a time, on a thread of its own.
//
// Thread-safe. The destructor drops what waits, and ends a run in progress as RunProgram does.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tools/reporter.h"

namespace kvorum::ctl {

struct ExecRun {
  std::string about;                          // for the warning about a failure
  std::vector<std::string> environment = {};  // beside the command's own
  std::string input = {};
};

class ExecThread {
 public:
  // The next run; nothing: none is due. Called on the thread after each Wake, until nothing is due.
  using Next = std::function<std::optional<ExecRun>()>;

  // `command` is a line for the shell. A run that fails is a warning, and the next one follows.
  ExecThread(std::string command, std::vector<std::string> environment, Reporter& reporter,
             Next next);
  void Wake();

 private:
  void Run(const std::stop_token& stop);
  void RunOnce(const ExecRun& run, const std::stop_token& stop);

  const std::vector<std::string> command_;
  const std::vector<std::string> environment_;
  Reporter& reporter_;
  const Next next_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool is_due_ = false;  // guarded by the mutex
  std::jthread thread_;
};

}  // namespace kvorum::ctl
