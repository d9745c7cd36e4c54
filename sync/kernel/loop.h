// The one task of a component: runs its state machine on an executor, one step at a time.
//
// A step does everything that is due at the time it is given, and returns the time of its next
// timer (kNever if it has none). It runs again at that time, after a Wake, and after the tasks of a
// Post. Nothing ever waits inside a step: a pause, a jitter or a backoff is a timer (timer.h), a
// call to the store is begun, and its answer comes by Handle::Post. So Stop has no wait to
// interrupt, and timers that come due during a step run in the one that follows.
//
// Threading: Wake, Post and Stop are thread-safe; steps and posted tasks run on the executor, never
// two at a time. After Stop, which waits for a step in progress unless it is called inside of one,
// nothing runs any more. The executor outlives the loop. Cost: a Post to the executor for any
// number of wakes before the step.
#pragma once

#include <functional>
#include <limits>
#include <memory>

#include "base/clock.h"
#include "base/executor.h"

namespace kvorum::sync {

// The time of a timer that is not set.
inline constexpr TimePoint kNever{std::numeric_limits<std::int64_t>::max()};

class Loop {
 public:
  using Step = std::move_only_function<TimePoint(TimePoint now)>;

  // The first step runs after the first Wake or Post.
  Loop(Executor& executor, Step step);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Wakes a loop that may be gone by then; kept by the code that answers later.
  class Handle {
   public:
    Handle() = default;
    void Wake() const;
    // Runs the task before the next step. Drops it if the loop has stopped.
    void Post(Task task) const;

   private:
    friend class Loop;
    class State;
    explicit Handle(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  void Wake() const { handle_.Wake(); }
  void Post(Task task) const { handle_.Post(std::move(task)); }
  const Handle& handle() const { return handle_; }
  void Stop();
  // Begins nothing any more; a step in progress goes on.
  void StopWithoutWaiting();
  bool is_stopped() const;
  // Stopped, and no step is in progress any more.
  bool has_ended() const;

 private:
  Handle handle_;
};

}  // namespace kvorum::sync
