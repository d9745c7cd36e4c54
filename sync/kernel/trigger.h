// Triggers that coalesce: however often one is fired before it is taken, there is one piece of work
// to do.
//
// Thread-safe. The first firing since the last Take calls `wake` (a Loop's Wake), on the firing
// thread. A machine takes the trigger before it does the work, so that a firing meanwhile is work
// again.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

namespace kvorum::sync {

class Trigger {
 public:
  explicit Trigger(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Fire() {
    if (!fired_.exchange(true)) wake_();
  }
  // True if it was fired since the last call.
  bool Take() { return fired_.exchange(false); }

 private:
  const std::function<void()> wake_;
  std::atomic<bool> fired_ = false;
};

// A trigger that carries the reason of its firing.
template <class T>
class SetTrigger {
 public:
  explicit SetTrigger(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Fire(T what) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      is_first = fired_.empty();
      fired_.insert(std::move(what));
    }
    if (is_first) wake_();
  }
  std::set<T> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(fired_, {});
  }

 private:
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::set<T> fired_;
};

}  // namespace kvorum::sync
