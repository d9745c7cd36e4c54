// The deadlines of many requests by one timer of an executor.
//
// Thread-safe. The executor's timers cannot be taken back: one that comes early arms the next, so
// there are as many as times of which each was the earliest when it was added. Callbacks run on the
// executor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "sync/kernel/loop.h"

namespace kvorum::consul {

class Deadlines : public std::enable_shared_from_this<Deadlines> {
 public:
  using Id = std::pair<TimePoint, std::uint64_t>;

  explicit Deadlines(Executor& executor) : executor_(executor) {}

  Id Add(TimePoint when, std::move_only_function<void()> on_due);
  void Drop(const Id& id);
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

}  // namespace kvorum::consul
