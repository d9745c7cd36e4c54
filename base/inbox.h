// Hands values from any thread to an executor in batches: however much arrives until the posted
// task runs, one task is posted.
//
// Threading: Put and Wake are thread-safe; Take and TakeOrRest belong to the executor. The lock is
// a leaf: held for the change that the caller makes, never while posting. Ownership: the owner of
// both outlives the posted tasks. Bounds are the caller's, whose change looks at the batch before
// it adds to it. Costs: one lock a Put, one a Take; a Post only where none is outstanding.
#pragma once

#include <mutex>
#include <type_traits>
#include <utility>

#include "base/executor.h"

namespace kvorum {

// Batch: a value that begins empty, such as a vector.
template <class Batch>
class Inbox {
 public:
  using Drain = std::move_only_function<void()>;

  // `drain` runs on the executor and takes what is there.
  Inbox(Executor& executor, Drain drain) : executor_(executor), drain_(std::move(drain)) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // change(batch) adds to the batch, under the lock. One that returns false wants no task for it:
  // nothing was added, or it may wait for what comes next.
  template <class Change>
  void Put(Change&& change) {
    {
      std::lock_guard lock(mutex_);
      if constexpr (std::is_same_v<std::invoke_result_t<Change, Batch&>, bool>) {
        if (!change(batch_)) return;
      } else {
        change(batch_);
      }
      if (std::exchange(is_posted_, true)) return;
    }
    Post();
  }

  // Has the task run though nothing may have come: at once, or when the clock reaches `when`.
  void Wake() {
    if (!MarkPosted()) Post();
  }
  void WakeAt(TimePoint when) {
    if (!MarkPosted()) executor_.PostAt(when, [this] { drain_(); });
  }

  // Takes all that has come; the next Put posts a task again.
  Batch Take() {
    std::lock_guard lock(mutex_);
    is_posted_ = false;
    return std::exchange(batch_, {});
  }
  // The same for a task that goes on until nothing is left, maybe with pauses: as long as it is
  // given something, nothing else posts a task.
  Batch TakeOrRest() {
    std::lock_guard lock(mutex_);
    is_posted_ = !batch_.empty();
    return std::exchange(batch_, {});
  }

 private:
  void Post() {
    executor_.Post([this] { drain_(); });
  }
  // Whether a task was posted already.
  bool MarkPosted() {
    std::lock_guard lock(mutex_);
    return std::exchange(is_posted_, true);
  }

  Executor& executor_;
  Drain drain_;
  std::mutex mutex_;  // guards what follows
  Batch batch_{};
  bool is_posted_ = false;
};

}  // namespace kvorum
