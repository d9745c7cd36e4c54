// Hands values from any thread to an executor in batches: one task is posted for however many
// values arrive until it runs.
//
// Threading: Put and Wake are thread-safe; Take and TakeOrRest belong to the executor. The lock is
// a leaf: held for the caller's change, never while posting. Ownership: the owner of inbox and
// executor outlives the posted tasks. Bounds: the caller's change checks the batch before it adds
// to it. Cost: one lock per Put, one per Take; a Post only if none is outstanding.
#pragma once

#include <mutex>
#include <type_traits>
#include <utility>

#include "base/task.h"

namespace kvorum {

// Batch is a type whose default value is empty, such as a vector.
template <class Batch>
class Inbox {
 public:
  using Drain = std::move_only_function<void()>;

  // `drain` runs on the executor and takes the batch.
  Inbox(Executor& executor, Drain drain) : executor_(executor), drain_(std::move(drain)) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // change(batch) adds to the batch, under the lock. It returns false if it needs no task: nothing
  // was added, or the addition may wait for the next one.
  template <class Change>
  void Put(Change&& change) {
    if (Add(change)) Post();
  }
  // The same for what the task does quickly and without waiting: the calling thread may run it
  // (Executor::Lend).
  template <class Change>
  void PutAndLend(Change&& change) {
    if (Add(change)) executor_.Lend([this] { drain_(); });
  }

  // Runs the task although there may be no values: at once, or when the clock reaches `when`.
  void Wake() {
    if (!MarkPosted()) Post();
  }
  void WakeAt(TimePoint when) {
    if (!MarkPosted()) executor_.PostAt(when, [this] { drain_(); });
  }

  // Takes all values that have arrived; the next Put posts a task again.
  Batch Take() {
    std::lock_guard lock(mutex_);
    is_posted_ = false;
    return std::exchange(batch_, {});
  }
  // Like Take, for a task that repeats until nothing is left, perhaps with pauses: while it is
  // given values, nothing else posts a task.
  Batch TakeOrRest() {
    std::lock_guard lock(mutex_);
    is_posted_ = !batch_.empty();
    return std::exchange(batch_, {});
  }

 private:
  // Returns true if a task is needed.
  template <class Change>
  bool Add(Change& change) {
    std::lock_guard lock(mutex_);
    if constexpr (std::is_same_v<std::invoke_result_t<Change&, Batch&>, bool>) {
      if (!change(batch_)) return false;
    } else {
      change(batch_);
    }
    return !std::exchange(is_posted_, true);
  }
  void Post() {
    executor_.Post([this] { drain_(); });
  }
  // Marks a task as posted. Returns true if one was posted already.
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
