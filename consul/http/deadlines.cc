#include "consul/http/deadlines.h"

#include <algorithm>

namespace kvorum::consul {

Deadlines::Id Deadlines::Add(TimePoint when, std::move_only_function<void()> on_due) {
  const std::lock_guard lock(mutex_);
  const Id id(when, ++last_);
  entries_.emplace(id, std::move(on_due));
  Arm();
  return id;
}

void Deadlines::Drop(const Id& id) {
  std::move_only_function<void()> dropped;  // its captures go away outside the lock
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  dropped = std::move(found->second);
  entries_.erase(found);
}

void Deadlines::Clear() {
  std::map<Id, std::move_only_function<void()>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
}

std::size_t Deadlines::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void Deadlines::Arm() {
  if (entries_.empty() || entries_.begin()->first.first >= armed_) return;
  armed_ = entries_.begin()->first.first;
  executor_.PostAt(armed_, [weak = weak_from_this(), when = armed_] {
    if (const auto self = weak.lock()) self->Fire(when);
  });
}

void Deadlines::Fire(TimePoint when) {
  std::vector<std::move_only_function<void()>> due;
  {
    const std::lock_guard lock(mutex_);
    if (armed_ == when) armed_ = sync::kNever;
    const TimePoint now = std::max(executor_.clock().Now(), when);
    while (!entries_.empty() && entries_.begin()->first.first <= now) {
      due.push_back(std::move(entries_.begin()->second));
      entries_.erase(entries_.begin());
    }
    Arm();
  }
  for (auto& on_due : due) on_due();
}

}  // namespace kvorum::consul
