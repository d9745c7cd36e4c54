// Reports to the supervisor, while the member serves, its state (STATUS=) and that it works
// (WATCHDOG=1, as often as sd_watchdog_enabled(3) asks). It works as long as each of its threads
// takes a task: those that raft, apply and the client connections run on, which never wait for a
// disk or a peer. A thread that is stuck keeps the word back, and the supervisor ends the process.
//
// Works on one executor, and posts to the others; all outlive it or have stopped before.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"

namespace kvorum::server {

class RaftStatus;

class Supervision {
 public:
  struct Parts {
    std::vector<Executor*> threads;
    std::function<std::string()> status;
    std::function<void(std::string_view)> notify;
    Duration watchdog{};  // the supervisor's patience; 0: it has no watchdog
  };
  static constexpr Duration kInterval = std::chrono::seconds(1);

  Supervision(Executor& executor, Parts parts) : executor_(executor), parts_(std::move(parts)) {}
  // Runs until its executor has stopped.
  void Start();

 private:
  void Look();

  Executor& executor_;
  const Parts parts_;
  std::string told_;  // the last status
  std::atomic<std::size_t> unanswered_{0};
  TimePoint last_word_{};
};

// "leader in term 4", "follower of 8e9e05c52164694d in term 4", "no leader in term 5".
std::string StatusText(const RaftStatus& status);

// The patience of the supervisor with this process: its $WATCHDOG_USEC in the environment, unless
// $WATCHDOG_PID names another process. 0 for none.
Duration WatchdogOf(const char* microseconds, const char* pid);

}  // namespace kvorum::server
