// Executors run tasks. In production an executor is a thread with a queue (executor.h), in the
// simulation a lane of one seeded scheduler. Tasks of one executor run one at a time, in the order
// they were posted.
#pragma once

#include <functional>
#include <utility>

#include "base/clock.h"

namespace kvorum {

using Task = std::move_only_function<void()>;

// Thread-safe. A hand-off of many values is one Post of a batch, never a Post per value on a hot
// path.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Post(Task task) = 0;
  // Like Post, for a short task that never waits: the calling thread may run it, if the executor
  // has nothing else to do. That saves the wake-up of the executor's thread. The caller must hold
  // no lock that the task may take.
  virtual void Lend(Task task) { Post(std::move(task)); }
  // Runs the task once the clock has reached `when`.
  virtual void PostAt(TimePoint when, Task task) = 0;
  virtual const Clock& clock() const = 0;
};

}  // namespace kvorum
