#include "sync/kernel/loop.h"

#include <mutex>
#include <utility>
#include <vector>

#include "sync/kernel/gate.h"

namespace kvorum::sync {

class Loop::Handle::State : public std::enable_shared_from_this<State> {
 public:
  State(Executor& executor, Step step) : executor_(executor), step_(std::move(step)) {}

  void Put(Task task) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      if (task) tasks_.push_back(std::move(task));
      if (std::exchange(is_posted_, true)) return;
    }
    executor_.Post([self = shared_from_this()] { self->Run(); });
  }

  bool is_stopped() const { return gate_.is_closed(); }
  bool has_ended() const { return gate_.is_deserted(); }

  void Stop() {
    StopWithoutWaiting();
    gate_.Close();
  }
  void StopWithoutWaiting() {
    std::vector<Task> dropped;  // their captures go away outside the lock
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      dropped.swap(tasks_);
    }
    gate_.CloseWithoutWaiting();
  }

 private:
  void Run() {
    const Gate::Visit visit(gate_);
    if (!visit.is_in()) return;
    std::vector<Task> tasks;
    {
      const std::lock_guard lock(mutex_);
      is_posted_ = false;
      tasks.swap(tasks_);
    }
    for (Task& task : tasks) {
      if (gate_.is_closed()) return;  // by the task before
      task();
    }
    if (gate_.is_closed()) return;
    due_ = step_(executor_.clock().Now());
    Arm();
  }

  // The executor's timers cannot be taken back: one that fires early arms the next.
  void Arm() {
    if (gate_.is_closed() || due_ >= armed_) return;
    if (due_ <= executor_.clock().Now()) return Put(nullptr);
    armed_ = due_;
    executor_.PostAt(armed_, [self = shared_from_this(), when = armed_] { self->Fire(when); });
  }

  void Fire(TimePoint when) {
    if (armed_ == when) armed_ = kNever;
    if (due_ <= executor_.clock().Now()) {
      Run();
    } else if (const Gate::Visit visit(gate_); visit.is_in()) {
      Arm();
    }
  }

  Executor& executor_;
  Step step_;
  Gate gate_;
  // The executor's tasks alone use these two.
  TimePoint due_ = kNever;
  TimePoint armed_ = kNever;  // the earliest timer that the executor holds

  std::mutex mutex_;  // guards what follows
  std::vector<Task> tasks_;
  bool is_posted_ = false;
  bool stopped_ = false;
};

Loop::Loop(Executor& executor, Step step)
    : handle_(std::make_shared<Handle::State>(executor, std::move(step))) {}

Loop::~Loop() { Stop(); }

void Loop::Stop() { handle_.state_->Stop(); }
void Loop::StopWithoutWaiting() { handle_.state_->StopWithoutWaiting(); }

bool Loop::is_stopped() const { return handle_.state_->is_stopped(); }
bool Loop::has_ended() const { return handle_.state_->has_ended(); }

void Loop::Handle::Wake() const { Post(nullptr); }

void Loop::Handle::Post(Task task) const {
  if (state_ != nullptr) state_->Put(std::move(task));
}

}  // namespace kvorum::sync
