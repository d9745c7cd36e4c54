// The deadlines of many requests, and of their questions to the store, by one timer of an executor.
//
// Thread-safe. The executor's timers cannot be taken back: one that comes early arms the next, so
// there are as many as times of which each was the earliest when it was added. Callbacks run on the
// executor.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"
#include "sync/kernel/loop.h"

namespace kvorum::consul {

// Within it a read is answered when no server leads: Consul's rpc_hold_timeout.
inline constexpr std::chrono::seconds kHoldTimeout{7};

class Deadlines : public std::enable_shared_from_this<Deadlines> {
 public:
  using Id = std::pair<TimePoint, std::uint64_t>;

  explicit Deadlines(Executor& executor) : executor_(executor) {}

  const Clock& clock() const { return executor_.clock(); }

  Id Add(TimePoint when, std::move_only_function<void()> on_due);
  void Drop(const Id& id);
  // Drops all: what they hold may hold this.
  void Clear();
  std::size_t size() const;

 private:
  // Under the lock.
  void Arm();
  void Fire(TimePoint when);

  Executor& executor_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<Id, std::move_only_function<void()>> entries_;
  std::uint64_t last_ = 0;
  TimePoint armed_ = sync::kNever;
};

// The callback to pass to the store in place of `on_answer`, which is called once: with the answer,
// or after kHoldTimeout with kDeadlineExceeded. The store's own deadline comes later, the more so
// when many calls wait for it.
template <class T>
std::move_only_function<void(Result<T>)> AnsweredInTime(
    const std::shared_ptr<Deadlines>& deadlines,
    std::move_only_function<void(Result<T>)> on_answer) {
  struct Question {
    void Answer(Result<T> answer) {
      std::move_only_function<void(Result<T>)> taken;
      {
        const std::lock_guard lock(mutex);
        taken = std::exchange(on_answer, nullptr);
      }
      if (taken) taken(std::move(answer));
    }
    std::mutex mutex;
    std::move_only_function<void(Result<T>)> on_answer;  // null: it has been called
  };
  auto question = std::make_shared<Question>();
  question->on_answer = std::move(on_answer);
  const Deadlines::Id id = deadlines->Add(deadlines->clock().Now() + kHoldTimeout, [question] {
    question->Answer(Fail(Code::kDeadlineExceeded, "the store does not answer"));
  });
  return [question, deadlines, id](Result<T> answer) {
    deadlines->Drop(id);
    question->Answer(std::move(answer));
  };
}

}  // namespace kvorum::consul
