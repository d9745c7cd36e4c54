// Executors with a thread of their own. Those who only post tasks read the light task.h.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/task.h"

namespace kvorum {

// An executor with its own thread, named after its role as `ps -T` shows it. The destructors
// run tasks given to Post, drop tasks that wait for their time, and join; a task must not destroy
// its own executor.
class OwnThread : public Executor {
 public:
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  void PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return SystemClock(); }
  // Runs the tasks posted before the call, then ends the thread. Later posts are dropped.
  void Stop();

 protected:
  OwnThread() = default;
  // Queues the timed tasks whose time has come.
  void TakeDue();
  // Waits for a post, or for the next timed task.
  void Sleep(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task> queue_;
  std::multimap<TimePoint, Task> timed_;
  bool stopping_ = false;
  std::thread
      thread_;  // started by the class that runs the tasks, which stops it in its destructor
};

// Runs its tasks on its thread, or those that are lent to it on their callers'.
class ThreadExecutor : public OwnThread {
 public:
  explicit ThreadExecutor(std::string_view name);
  ~ThreadExecutor() override;
  void Post(Task task) override;
  void Lend(Task task) override;

 private:
  void Run();
  // Runs the queued tasks with the lock released meanwhile.
  void RunQueued(std::unique_lock<std::mutex>& lock, std::vector<Task>& batch);

  bool running_ = false;           // a thread runs a task
  bool waits_for_lender_ = false;  // the own thread, which must be woken when that task has ended
};

// An executor for short tasks that never wait. A task runs on the thread that posts it, unless
// another thread is already running this executor's tasks; then that thread runs it too (flat
// combining, Hendler et al. 2010). This saves a thread wake-up per hand-off. A poster runs tasks
// for a few rounds at most; then the executor's own thread, which also runs the timed tasks, takes
// over. A poster must hold no lock that a task may take.
class CombiningExecutor final : public OwnThread {
 public:
  explicit CombiningExecutor(std::string_view name);
  ~CombiningExecutor() override;
  void Post(Task task) override;

 private:
  void RunThread();
  // Runs the queued tasks, in at most `rounds` rounds, with the lock released meanwhile.
  void RunQueued(std::unique_lock<std::mutex>& lock, int rounds);

  bool running_ = false;      // a thread is running tasks, or its own thread was woken to
  bool handed_over_ = false;  // its own thread was woken to run tasks
};

}  // namespace kvorum
