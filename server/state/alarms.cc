#include "server/state/alarms.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kvorum::server {

bool Alarms::Activate(const Alarm& alarm) {
  std::lock_guard lock(mutex_);
  const bool added = alarms_.insert(alarm).second;
  UpdateFlags();
  return added;
}

bool Alarms::Deactivate(const Alarm& alarm) {
  std::lock_guard lock(mutex_);
  const bool removed = alarms_.erase(alarm) != 0;
  UpdateFlags();
  return removed;
}

void Alarms::Reset(std::set<Alarm> alarms) {
  std::lock_guard lock(mutex_);
  alarms_ = std::move(alarms);
  UpdateFlags();
}

std::vector<Alarm> Alarms::List(AlarmType type) const {
  std::lock_guard lock(mutex_);
  std::vector<Alarm> found;
  std::ranges::copy_if(alarms_, std::back_inserter(found), [&](const Alarm& alarm) {
    return type == AlarmType::kNone || alarm.type == type;
  });
  return found;
}

bool Alarms::Stands(const Alarm& alarm) const {
  std::lock_guard lock(mutex_);
  return alarms_.contains(alarm);
}

void Alarms::UpdateFlags() {
  const auto stands = [&](AlarmType type) {
    return std::ranges::any_of(alarms_, [&](const Alarm& alarm) { return alarm.type == type; });
  };
  no_space_.store(stands(AlarmType::kNoSpace), std::memory_order_relaxed);
  corrupt_.store(stands(AlarmType::kCorrupt), std::memory_order_relaxed);
}

}  // namespace kvorum::server
