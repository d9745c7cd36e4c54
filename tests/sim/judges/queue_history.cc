#include "tests/sim/judges/queue_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "mvcc/records/key_value.h"

namespace kvorum::sim {

std::string QueueHistory::KeyOf(const std::string& name, lease::LeaseId lease) {
  return fmt::format("{}/{:x}", name, lease);
}

const QueueHistory::Places::value_type* QueueHistory::FrontOf(const Places& places) {
  const auto oldest = std::ranges::min_element(
      places, {}, [](const Places::value_type& place) { return place.second.created; });
  return oldest == places.end() ? nullptr : &*oldest;
}

QueueHistory::Changes& QueueHistory::Read(const std::string& name) {
  for (; read_ < events_.last_revision(); ++read_) {
    for (const PublishedEvent& event : events_.At(read_ + 1)) {
      if (!IsInQueue(event.key)) continue;
      Changes& changes = queues_[event.key.substr(0, event.key.rfind('/'))];
      if (changes.empty()) changes.emplace_back();
      if (changes.back().first != read_ + 1) changes.emplace_back(read_ + 1, changes.back().second);
      Places& places = changes.back().second;
      if (event.is_delete) {
        places.erase(event.key);
        continue;
      }
      const auto kv = mvcc::DecodeKeyValue(event.record);
      KV_CHECK(kv.has_value(), "a published record is not a key-value pair");
      places[event.key] = {.created = kv->create_revision,
                           .mod = kv->mod_revision,
                           .lease = kv->lease,
                           .value = std::string(kv->value),
                           .record = event.record};
    }
  }
  Changes& changes = queues_[name];
  if (changes.empty()) changes.emplace_back();
  return changes;
}

const QueueHistory::Places& QueueHistory::At(const std::string& name, std::int64_t revision) {
  const Changes& changes = Read(name);
  const auto after = std::ranges::upper_bound(changes, revision, {}, &Changes::value_type::first);
  return std::prev(after)->second;
}

bool QueueHistory::Was(const std::string& name, std::int64_t from, std::int64_t to,
                       const std::function<bool(const Places&)>& holds) {
  const Changes& changes = Read(name);
  for (std::size_t i = 0; i < changes.size() && changes[i].first <= to; ++i) {
    const bool ends_before = i + 1 < changes.size() && changes[i + 1].first <= from;
    if (!ends_before && holds(changes[i].second)) return true;
  }
  return false;
}

std::int64_t QueueHistory::FrontSince(const std::string& name, std::int64_t revision) {
  const auto created_at_front = [](const Places& places) {
    const auto* front = FrontOf(places);
    return front == nullptr ? 0 : front->second.created;
  };
  const std::int64_t created = created_at_front(At(name, revision));
  std::int64_t since = 0;
  for (const auto& [at, places] : Read(name)) {
    if (at > revision) break;
    if (created_at_front(places) != created) {
      since = 0;
    } else if (since == 0) {
      since = at;
    }
  }
  return since;
}

}  // namespace kvorum::sim
