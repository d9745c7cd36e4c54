#include "tests/sim/judges/watched.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "mvcc/records/key_value.h"
#include "tests/linearizability/history.h"

namespace kvorum::sim {

Watched::Watched(World& world, const EventHistory& events, WatchCreate create, std::string name)
    : world_(world),
      events_(events),
      create_(std::move(create)),
      name_(std::move(name)),
      next_(create_.start_revision) {}

std::string Watched::Describe() const {
  return fmt::format("{} ({} to {} from {})", name_, create_.key,
                     create_.range_end == std::string(1, '\0') ? "the end" : create_.range_end,
                     next_);
}

const WatchCreate& Watched::Reopen() {
  id_ = kNotCreated;
  next_event_ = 0;
  looked_at_ = {};
  from_history_ = false;
  create_.start_revision = next_;
  return create_;
}

void Watched::OnCreated(const WatchAnswer& answer) {
  id_ = answer.watch_id;
  if (next_ == 0) next_ = answer.revision + 1;
}

bool Watched::Covers(const std::string& key) const {
  return linearizability::InRange(key, create_.key, create_.range_end);
}

bool Watched::Wants(const PublishedEvent& event) const {
  return !(event.is_delete ? create_.no_delete : create_.no_put) && Covers(event.key);
}

std::optional<Watched::Place> Watched::NextOwed() const {
  Place& at = looked_at_;
  at = std::max({at, Place{.revision = next_, .event = next_event_}, Place{.revision = 2}});
  for (; at.revision <= events_.last_revision(); ++at.revision, at.event = 0) {
    const auto& published = events_.At(at.revision);
    for (; at.event < published.size(); ++at.event) {
      if (Wants(published[at.event])) return at;
    }
  }
  return std::nullopt;
}

void Watched::OnEvents(const WatchAnswer& answer) {
  for (const WatchEvent& event : answer.events) {
    const auto place = NextOwed();
    if (!place.has_value()) {
      return world_.Fail("{} is given an event, and has been given all there are", Describe());
    }
    CheckEvent(event, events_.At(place->revision)[place->event], place->revision);
    if (world_.failed()) return;
    next_ = place->revision;
    next_event_ = place->event + 1;
    // Other revisions may follow in the message.
    const auto following = NextOwed();
    const bool is_whole = !following.has_value() || following->revision != next_;
    if (is_whole) {
      ++next_;
      next_event_ = 0;
    }
  }
  const std::int64_t last = next_event_ != 0 ? next_ : next_ - 1;
  if (next_event_ != 0 && !answer.fragment)
    return world_.Fail("{}: a message ends within revision {}", Describe(), next_);
  if (answer.fragment) {
    if (!create_.fragment) return world_.Fail("{} is given a fragment unasked", Describe());
    if (next_event_ == 0) return world_.Fail("{}: a fragment without the rest", Describe());
    world_.faults.Add(Fault::kWatchFragment);
  }
  if (answer.revision < last) {
    return world_.Fail("{} is given revision {} by a store at {}", Describe(), last,
                       answer.revision);
  }
  const bool from_history = answer.revision > last;
  if (from_history) world_.faults.Add(Fault::kWatchCaughtUp);
  if (from_history_ && !from_history) world_.faults.Add(Fault::kWatchSynced);
  from_history_ = from_history;
}

void Watched::CheckEvent(const WatchEvent& event, const PublishedEvent& owed,
                         std::int64_t revision) {
  const auto kv = mvcc::DecodeKeyValue(event.kv);
  if (!kv.has_value())
    return world_.Fail("{} received a record that is not a key-value pair", Describe());
  const bool same = event.is_delete
                        ? owed.is_delete && kv->key == owed.key && kv->mod_revision == revision &&
                              kv->version == 0 && kv->value.empty()
                        : !owed.is_delete && event.kv == owed.record;
  if (!same) {
    return world_.Fail("{} is given {} {} of revision {}, and is owed {} {} of revision {}",
                       Describe(), event.is_delete ? "the end of" : "a put of", kv->key,
                       kv->mod_revision, owed.is_delete ? "the end of" : "a put of", owed.key,
                       revision);
  }
  CheckPrevious(event, owed, revision);
}

void Watched::CheckPrevious(const WatchEvent& event, const PublishedEvent& owed,
                            std::int64_t revision) {
  if (!create_.prev_kv) {
    if (!event.previous.empty()) world_.Fail("{} is given a value before, unasked", Describe());
    return;
  }
  // The previous value is gone when the revision before the event is compacted.
  const bool may_lack = owed.previous.empty() || events_.compacted() >= revision;
  if (event.previous.empty() && may_lack) return;
  if (event.previous != owed.previous) {
    return world_.Fail("{}: the value of {} before revision {} is not what it is told", Describe(),
                       owed.key, revision);
  }
  world_.faults.Add(Fault::kWatchPrevious);
}

void Watched::OnProgress(std::int64_t revision) {
  if (revision > events_.last_revision()) {
    return world_.Fail("{} is told of progress to {}, and nothing above {} is published",
                       Describe(), revision, events_.last_revision());
  }
  const auto owed = NextOwed();
  if (owed.has_value() && owed->revision <= revision) {
    return world_.Fail("{} is told of progress to {}, and was not given revision {}", Describe(),
                       revision, owed->revision);
  }
  next_ = std::max(next_, revision + 1);
}

void Watched::OnCompacted(std::int64_t revision) {
  if (revision <= next_ || revision > events_.compacted()) {
    return world_.Fail("{} is told that it is compacted up to {}; members have compacted up to {}",
                       Describe(), revision, events_.compacted());
  }
  next_ = revision;
}

}  // namespace kvorum::sim
