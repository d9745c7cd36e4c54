// Where work runs. In production an executor is a thread with a queue, in the simulation a lane of
// one seeded scheduler. Tasks of one executor run one at a time, in the order they were posted.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace kvorum {

using Task = std::move_only_function<void()>;

// Thread-safe. A hand-off of many values is one Post of a batch, never a Post per value on a hot
// path.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Post(Task task) = 0;
  // Runs the task once the clock has reached `when`.
  virtual void PostAt(TimePoint when, Task task) = 0;
  virtual const Clock& clock() const = 0;
};

// One thread, named after its role as `ps -T` shows it. The destructor runs what was posted with
// Post, drops what waits for its time, and joins; a task must not destroy its own executor.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(std::string name);
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  void Post(Task task) override;
  void PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return SystemClock(); }
  // Runs what was posted before the call, then ends the thread. Later posts are dropped.
  void Stop();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task> queue_;
  std::multimap<TimePoint, Task> timed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace kvorum
