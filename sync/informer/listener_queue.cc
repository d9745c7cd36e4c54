#include "sync/informer/listener_queue.h"

#include <utility>

namespace kvorum::sync {
namespace {

Notification NotificationOf(Change&& change, bool is_initial) {
  using Kind = Notification::Kind;
  const Kind kind = !change.before ? Kind::kAdd : !change.after ? Kind::kDelete : Kind::kUpdate;
  return {.kind = kind,
          .before = std::move(change.before),
          .after = std::move(change.after),
          .is_initial = is_initial && kind == Kind::kAdd};
}

// Both objects count in full, though others may own them too: the store mostly keeps the newer one,
// and the queue alone the older one.
std::size_t SizeOf(const Change& change) {
  const std::size_t before = change.before ? change.before->size_bytes() : 0;
  return before + (change.after ? change.after->size_bytes() : 0);
}

}  // namespace

bool ListenerQueue::Add(std::span<const Change> changes, const ObjectMap& before,
                        const ObjectMap& after) {
  if (Walk* open = OpenWalk()) {
    open->after = after;
    return true;
  }
  if (policy_ == OverflowPolicy::kBlock || HasRoomFor(changes)) {
    for (const Change& change : changes) {
      items_.emplace_back(change);
      bytes_ += SizeOf(change);
    }
    return true;
  }
  Walk walk;
  if (policy_ == OverflowPolicy::kDropAndResync) {
    walk = Replace(before);
  } else {
    walk.before = before;
  }
  walk.after = after;
  walk.is_open = true;
  AddWalk(std::move(walk));
  return false;
}

bool ListenerQueue::HasRoomFor(std::span<const Change> changes) const {
  std::size_t bytes = bytes_;
  for (const Change& change : changes) bytes += SizeOf(change);
  return items_.size() + changes.size() <= capacity_.changes && bytes <= capacity_.bytes &&
         walks_ < kMaxWalks;
}

void ListenerQueue::AddWalk(Walk walk) {
  items_.emplace_back(std::move(walk));
  ++walks_;
}

ListenerQueue::Walk* ListenerQueue::OpenWalk() {
  if (items_.empty()) return nullptr;
  Walk* walk = std::get_if<Walk>(&items_.back());
  return walk != nullptr && walk->is_open ? walk : nullptr;
}

ListenerQueue::Walk ListenerQueue::Replace(const ObjectMap& before) {
  Walk walk{.before = before, .tells_unchanged = true};
  while (!items_.empty()) {
    if (auto* change = std::get_if<Change>(&items_.back())) {
      bytes_ -= SizeOf(*change);
      if (change->before) {
        walk.before.Put(change->before);
      } else {
        walk.before.Erase(change->after->key());
      }
    } else {
      Walk& replaced = std::get<Walk>(items_.back());
      walk.before = std::move(replaced.before);
      walk.is_initial |= replaced.is_initial;
      if (replaced.round) walk.round = replaced.round;
      --walks_;
    }
    items_.pop_back();
  }
  return walk;
}

void ListenerQueue::AddInitial(const ObjectMap& map) {
  AddWalk({.before = {}, .after = map, .is_initial = true});
}

void ListenerQueue::AddDifference(const ObjectMap& before, const ObjectMap& after) {
  if (Walk* open = OpenWalk()) {
    open->after = after;
  } else {
    const bool is_open = policy_ != OverflowPolicy::kBlock && is_full();
    AddWalk({.before = before, .after = after, .is_open = is_open});
  }
}

void ListenerQueue::AddRound(RoundId round, const ObjectMap& map) {
  if (Walk* open = OpenWalk()) {
    open->tells_unchanged = true;
    open->round = round;
  } else {
    AddWalk({.before = map, .after = map, .tells_unchanged = true, .round = round});
  }
}

std::optional<ListenerQueue::Next> ListenerQueue::Take(const FindCurrent& find_current) {
  while (true) {
    if (walk_) {
      if (auto next = TakeOfWalk(find_current)) return next;
    }
    if (items_.empty()) return std::nullopt;
    Item item = std::move(items_.front());
    items_.pop_front();
    if (auto* change = std::get_if<Change>(&item)) {
      bytes_ -= SizeOf(*change);
      return NotificationOf(std::move(*change), /*is_initial=*/false);
    }
    --walks_;
    walk_.emplace(std::move(std::get<Walk>(item)));
  }
}

std::optional<ListenerQueue::Next> ListenerQueue::TakeOfWalk(const FindCurrent& find_current) {
  while (true) {
    Change change = walk_->steps.Next();
    if (!change.before && !change.after) return EndWalk();
    if (change.before == change.after) {
      if (!walk_->what.tells_unchanged) continue;
      // A newer one is queued, or about to be: the older one would only be out of date.
      if (find_current(change.after->key()) != change.after) continue;
    }
    return NotificationOf(std::move(change), walk_->what.is_initial);
  }
}

// First the end of the initial set, then that of the round.
std::optional<ListenerQueue::Next> ListenerQueue::EndWalk() {
  if (std::exchange(walk_->what.is_initial, false)) return Synced{};
  const std::optional<RoundId> round = walk_->what.round;
  walk_.reset();
  if (round) return RoundEnd{*round};
  return std::nullopt;
}

}  // namespace kvorum::sync
