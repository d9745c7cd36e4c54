#include "tools/carry/change_queue.h"

#include <utility>

namespace kvorum::ctl {
namespace {

std::string KeyOf(const sync::Change& change) {
  return std::string((change.after ? change.after : change.before)->key());
}

// The copy that the changes come from holds all but these.
std::size_t GoneBytes(const sync::Change& change) {
  return change.after ? 0 : change.before->size_bytes();
}

}  // namespace

bool ChangeQueue::Put(const sync::Change& change) {
  const std::string key = KeyOf(change);
  const auto [place, is_new] = by_key_.try_emplace(key);
  if (is_new) {
    place->second = order_.insert(order_.end(), {.change = change});
    return Keep(place->second);
  }
  Waiting& waiting = *place->second;
  gone_bytes_ -= GoneBytes(waiting.change);
  waiting.change.after = change.after;
  if (!waiting.change.before && !waiting.change.after) {
    if (!waiting.was_tried) {
      order_.erase(place->second);
      by_key_.erase(place);
      return true;
    }
    waiting.change.before = change.before;
  }
  return Keep(place->second);
}

bool ChangeQueue::Return(const sync::Change& change) {
  const std::string key = KeyOf(change);
  const auto [place, is_new] = by_key_.try_emplace(key);
  if (is_new) {
    place->second = order_.insert(order_.end(), {.change = change, .was_tried = true});
    return Keep(place->second);
  }
  Waiting& waiting = *place->second;
  waiting.was_tried = true;
  // The change that came since begins where the failed one ended.
  if (!change.before && !waiting.change.after) return true;
  gone_bytes_ -= GoneBytes(waiting.change);
  waiting.change.before = change.before;
  return Keep(place->second);
}

std::optional<sync::Change> ChangeQueue::Take() {
  if (order_.empty()) return std::nullopt;
  sync::Change change = order_.front().change;
  gone_bytes_ -= GoneBytes(change);
  Forget(order_.begin());
  return change;
}

std::optional<sync::Change> ChangeQueue::TakeOf(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  sync::Change change = found->second->change;
  gone_bytes_ -= GoneBytes(change);
  Forget(found->second);
  return change;
}

bool ChangeQueue::Keep(Order::iterator waiting) {
  const std::size_t bytes = GoneBytes(waiting->change);
  if (bytes > 0 && gone_bytes_ + bytes > kMaxGoneBytes) {
    Forget(waiting);
    return false;
  }
  gone_bytes_ += bytes;
  return true;
}

void ChangeQueue::Forget(Order::iterator waiting) {
  by_key_.erase(KeyOf(waiting->change));
  order_.erase(waiting);
}

}  // namespace kvorum::ctl
