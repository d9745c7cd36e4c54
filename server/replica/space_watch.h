// Raises the NOSPACE alarm in this member's own name while its disks run low, whether it leads or
// follows and whether clients write through it or not: only the whole cluster's refusal of writes
// keeps a follower's disk from filling up with writes that others accept. If the alarm is disarmed
// while the disks are low, it is raised again.
//
// Runs on one executor, checks once a second. The owner stops the executor before it destroys the
// watch.
#pragma once

#include <functional>

#include "base/executor.h"

namespace kvorum::server {

class SpaceWatch {
 public:
  struct Hooks {
    // Checks the disks: true if they have room for accepted writes and some more.
    std::function<bool()> has_space;
    // True if this member's alarm is raised already.
    std::function<bool()> alarm_stands;
    // Proposes the alarm; `answered` runs on any thread when it was applied, or failed.
    std::function<void(Task answered)> raise;
  };

  SpaceWatch(Executor& executor, Hooks hooks) : executor_(executor), hooks_(std::move(hooks)) {}

  void Start();
  // Nothing is proposed from now on. Any thread.
  void Stop();

 private:
  void Look();
  void LookLater();

  Executor& executor_;
  const Hooks hooks_;
  bool is_raising_ = false;
  bool stopped_ = false;
};

}  // namespace kvorum::server
