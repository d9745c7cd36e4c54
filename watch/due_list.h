// Items by the time at which each is due, and the one timer that they share.
//
// Used by one executor. An item leaves before it goes. The owner sets the timers: one that a later
// addition made too late is replaced, and does nothing when it fires.
#pragma once

#include <map>
#include <optional>

#include "base/clock.h"

namespace kvorum::watch {

template <class Item>
class DueList {
 public:
  bool empty() const { return items_.empty(); }

  void Add(Item& item, TimePoint due) { items_.emplace(due, &item); }
  // `due`: as it was added.
  void Remove(const Item& item, TimePoint due) {
    const auto [begin, end] = items_.equal_range(due);
    for (auto it = begin; it != end; ++it) {
      if (it->second == &item) return void(items_.erase(it));
    }
  }
  // Takes out the next item that is due; null if none is.
  Item* PopDue(TimePoint now) {
    if (items_.empty() || items_.begin()->first > now) return nullptr;
    Item* item = items_.begin()->second;
    items_.erase(items_.begin());
    return item;
  }

  // The time for which a timer must be set now; nothing if the one that is set is early enough.
  std::optional<TimePoint> NewTimer() {
    if (items_.empty()) return std::nullopt;
    const TimePoint first = items_.begin()->first;
    if (timer_is_set_ && timer_ <= first) return std::nullopt;
    timer_is_set_ = true;
    timer_ = first;
    return first;
  }
  // The timer for this time fired. False if another timer has replaced it since.
  bool OnTimer(TimePoint when) {
    if (!timer_is_set_ || timer_ != when) return false;
    timer_is_set_ = false;
    return true;
  }

 private:
  std::multimap<TimePoint, Item*> items_;
  bool timer_is_set_ = false;
  TimePoint timer_;
};

}  // namespace kvorum::watch
