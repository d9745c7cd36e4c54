#include "sync/kernel/gate.h"

#include <algorithm>

namespace kvorum::sync {
namespace {

thread_local int visits = 0;  // of this thread, to any gate

}  // namespace

bool Gate::Enter() {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  inside_.push_back(std::this_thread::get_id());
  ++visits;
  return true;
}

void Gate::Leave() {
  // Notified under the lock: the closer may destroy the gate as soon as it has the lock.
  const std::lock_guard lock(mutex_);
  inside_.erase(std::ranges::find(inside_, std::this_thread::get_id()));
  --visits;
  left_.notify_all();
}

void Gate::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  const std::thread::id self = std::this_thread::get_id();
  left_.wait(lock, [&] {
    return std::ranges::all_of(inside_, [&](std::thread::id id) { return id == self; });
  });
}

void Gate::CloseWithoutWaiting() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool Gate::is_inside_any() { return visits > 0; }

bool Gate::is_deserted() const {
  const std::lock_guard lock(mutex_);
  return closed_ && inside_.empty();
}

bool Gate::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace kvorum::sync
