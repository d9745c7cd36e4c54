// One I/O thread: waits for sockets, timers and posted tasks, and handles them in batches.
//
// A wake-up runs in this order: every ready socket is read and its complete requests are handed to
// their handlers; due timers run; then the posts of other threads (tasks, answers, stream
// operations); then the batch hooks; then each connection with pending output writes once. So a
// hook sees all work of one wake-up and can start one ReadIndex, or submit one batch of proposals,
// for all of it; and answers it gives at once leave with the same write.
//
// Post, PostAt and InThread are thread-safe; the rest belongs to the loop's thread, or to the
// owner's before Start.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "rpc/io/mailbox.h"
#include "rpc/io/timer_heap.h"

struct epoll_event;

namespace kvorum::rpc {

class Loop final : public Executor {
 public:
  // Handles the events of a file descriptor. Called with the events that are ready; must not delete
  // itself there.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void OnReady(bool readable, bool writable) = 0;
  };
  // An object that wants to write at the end of the wake-up.
  class Flushable {
   public:
    virtual ~Flushable() = default;
    virtual void Flush() = 0;

   private:
    friend class Loop;
    bool flush_queued_ = false;
  };

  Loop(std::uint32_t index, std::string thread_name);
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Start();
  // Ends the thread after the present wake-up. Later posts are dropped.
  void Stop();

  void Post(Task task) override;
  void PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return SystemClock(); }
  bool InThread() const { return Current() == this; }
  // The loop whose thread this is, or null.
  static Loop* Current();
  std::uint32_t index() const { return index_; }

  // Adds a hook that runs once per wake-up, as described above, in the order of addition. Add hooks
  // before Start.
  void AddBatchHook(std::move_only_function<void()> hook) { hooks_.push_back(std::move(hook)); }
  // The time of this wake-up; one clock read serves all of it.
  TimePoint now() const { return now_; }

  // Sockets: level-triggered. A watcher must be removed before its descriptor is closed.
  void Watch(int fd, Watcher& watcher, bool readable, bool writable);
  void Rewatch(int fd, Watcher& watcher, bool readable, bool writable);
  void Unwatch(int fd, Watcher& watcher);
  // Arms or moves a timer; it fires on this thread.
  void Arm(Timer& timer, TimePoint when) { timers_.Arm(timer, when); }
  void Disarm(Timer& timer) { timers_.Disarm(timer); }
  // Calls Flush once at the end of this wake-up. If queued from within Flush, at the end of the
  // next one, which then does not sleep.
  void QueueFlush(Flushable& flushable);
  void DropFlush(Flushable& flushable);
  // The next wake-up comes at once. For code that calls handlers while flushing, when this
  // wake-up's hooks have already run.
  void StayAwake() { stay_awake_ = true; }
  // Runs the task at the end of this wake-up, after the flushes (for objects that delete
  // themselves).
  void Later(Task task) { later_.push_back(std::move(task)); }

  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

 private:
  void Run();
  void WaitForEvents();
  int WaitMillis();
  void RunFlushes();

  const std::uint32_t index_;
  const std::string thread_name_;
  std::shared_ptr<Mailbox> mailbox_;
  int epoll_fd_ = -1;
  TimePoint now_;
  TimerHeap timers_;
  std::vector<std::move_only_function<void()>> hooks_;
  std::vector<Flushable*> flushes_;
  std::vector<Flushable*> flushing_;
  std::vector<Task> later_;
  // The events of the current wait; entries of watchers removed meanwhile are nulled.
  std::unique_ptr<epoll_event[]> events_;
  int event_count_ = 0;
  bool stay_awake_ = false;
  bool stopping_ = false;  // the thread's
  std::thread thread_;
};

}  // namespace kvorum::rpc
