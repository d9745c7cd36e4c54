// A component's own task: what it goes on with after an answer of the store or after a pause. When
// the component goes, nothing of it runs any more; what waited is dropped, with the exchanges in
// it.
//
// Thread-safe. The executor outlives it.
#pragma once

#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/task.h"
#include "consul/http/deadlines.h"
#include "sync/kernel/loop.h"
#include "sync/store/answer.h"

namespace kvorum::consul {

class Work {
 public:
  explicit Work(Executor& executor) : Work(executor, [](TimePoint) { return sync::kNever; }) {}
  // With timers, or what is due, in a step (sync/kernel/loop.h).
  Work(Executor& executor, sync::Loop::Step step)
      : executor_(executor),
        deadlines_(std::make_shared<Deadlines>(executor)),
        loop_(executor, std::move(step)) {}

  // The callback to pass to the store; see sync::OnLoop.
  template <class T, class Handle>
  sync::Store::OnAnswer<T> On(Handle handle) const {
    return sync::OnLoop<T>(loop_.handle(), std::move(handle));
  }
  // The same, called with kDeadlineExceeded if the store has not answered within kHoldTimeout.
  template <class T, class Handle>
  sync::Store::OnAnswer<T> OnInTime(Handle handle) const {
    return AnsweredInTime<T>(deadlines_, On<T>(std::move(handle)));
  }
  void Post(Task task) const { loop_.Post(std::move(task)); }
  void After(Duration pause, Task task) const {
    executor_.PostAt(
        executor_.clock().Now() + pause,
        [loop = loop_.handle(), task = std::move(task)]() mutable { loop.Post(std::move(task)); });
  }
  void Wake() const { loop_.Wake(); }
  const Clock& clock() const { return executor_.clock(); }
  void Stop() {
    loop_.Stop();
    deadlines_->Clear();
  }

 private:
  Executor& executor_;
  const std::shared_ptr<Deadlines> deadlines_;
  sync::Loop loop_;
};

}  // namespace kvorum::consul
