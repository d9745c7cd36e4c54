#include "watch/ended_ids.h"

#include <iterator>

namespace kvorum::watch {

void EndedIds::Add(std::int64_t id, std::int64_t next_id) {
  if (id >= 0 && id < next_id) return AddToIntervals(id);
  if (chosen_.contains(id)) return;
  chosen_.emplace(id, order_.insert(order_.end(), id));
  if (chosen_.size() <= kMost) return;
  chosen_.erase(order_.front());
  order_.pop_front();
}

void EndedIds::AddToIntervals(std::int64_t id) {
  if (Before(id) != intervals_.end() && Before(id)->second > id) return;
  const auto next = intervals_.lower_bound(id);
  const auto previous = next == intervals_.begin() ? intervals_.end() : std::prev(next);
  const bool joins_next = next != intervals_.end() && next->first == id + 1;
  const std::int64_t end = joins_next ? next->second : id + 1;
  if (joins_next) intervals_.erase(next);
  if (previous != intervals_.end() && previous->second == id) {
    previous->second = end;
  } else {
    intervals_.emplace(id, end);
  }
  if (intervals_.size() > kMost) intervals_.erase(intervals_.begin());
}

EndedIds::Intervals::const_iterator EndedIds::Before(std::int64_t id) const {
  const auto after = intervals_.upper_bound(id);
  return after == intervals_.begin() ? intervals_.end() : std::prev(after);
}

bool EndedIds::Contains(std::int64_t id) const {
  const auto interval = Before(id);
  return (interval != intervals_.end() && id < interval->second) || chosen_.contains(id);
}

bool EndedIds::Remove(std::int64_t id) {
  if (const auto found = chosen_.find(id); found != chosen_.end()) {
    order_.erase(found->second);
    chosen_.erase(found);
    return true;
  }
  const auto interval = Before(id);
  if (interval == intervals_.end() || id >= interval->second) return false;
  const auto [begin, end] = *interval;
  intervals_.erase(interval);
  if (begin < id) intervals_.emplace(begin, id);
  if (id + 1 < end) intervals_.emplace(id + 1, end);
  if (intervals_.size() > kMost) intervals_.erase(intervals_.begin());
  return true;
}

}  // namespace kvorum::watch
