#include "tests/sim/judges/state_replay.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "mvcc/records/key_value.h"

namespace kvorum::sim {

sync::KeyValue RowOf(const std::string& record) {
  const auto kv = mvcc::DecodeKeyValue(record);
  KV_CHECK(kv.has_value(), "a published record is not a key-value pair");
  return {.key = std::string(kv->key),
          .value = std::string(kv->value),
          .create_revision = kv->create_revision,
          .mod_revision = kv->mod_revision,
          .version = kv->version,
          .lease = kv->lease};
}

std::vector<PublishedEvent> StateReplay::EventsAt(std::int64_t revision) const {
  std::vector<PublishedEvent> events;
  std::ranges::copy_if(events_.At(revision), std::back_inserter(events),
                       [&](const auto& event) { return event.key.starts_with(prefix_); });
  return events;
}

void StateReplay::Advance(std::int64_t revision) {
  while (revision_ < revision) {
    ++revision_;
    for (const PublishedEvent& event : events_.At(revision_)) {
      if (!event.key.starts_with(prefix_)) continue;
      if (event.is_delete) {
        rows_.erase(event.key);
      } else {
        rows_[event.key] = RowOf(event.record);
      }
    }
  }
}

}  // namespace kvorum::sim
