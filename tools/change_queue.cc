#include "tools/change_queue.h"

#include <utility>

namespace kvorum::ctl {
namespace {

std::string KeyOf(const sync::Change& change) {
  return std::string((change.after ? change.after : change.before)->key());
}

}  // namespace

void ChangeQueue::Put(const sync::Change& change) {
  const std::string key = KeyOf(change);
  const auto waiting = by_key_.find(key);
  if (waiting == by_key_.end()) {
    by_key_.emplace(key, order_.insert(order_.end(), change));
    return;
  }
  sync::Change& merged = *waiting->second;
  merged.after = change.after;
  if (merged.before || merged.after) return;
  order_.erase(waiting->second);
  by_key_.erase(waiting);
}

std::optional<sync::Change> ChangeQueue::Take() {
  if (order_.empty()) return std::nullopt;
  sync::Change change = std::move(order_.front());
  order_.pop_front();
  by_key_.erase(KeyOf(change));
  return change;
}

}  // namespace kvorum::ctl
