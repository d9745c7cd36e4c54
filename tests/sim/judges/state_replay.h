// The keys of a prefix at one revision after another, as the published events make them: what a
// copy of the prefix must hold there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "sync/store/store.h"
#include "tests/sim/judges/event_history.h"

namespace kvorum::sim {

class StateReplay {
 public:
  StateReplay(const EventHistory& events, std::string prefix)
      : events_(events), prefix_(std::move(prefix)) {}

  // Goes on to the revision, which is published and not before that of now. O(what happened).
  void Advance(std::int64_t revision);
  std::int64_t revision() const { return revision_; }
  const std::map<std::string, sync::KeyValue>& rows() const { return rows_; }
  // The events of a revision in the prefix.
  std::vector<PublishedEvent> EventsAt(std::int64_t revision) const;

 private:
  const EventHistory& events_;
  const std::string prefix_;
  std::int64_t revision_ = 1;
  std::map<std::string, sync::KeyValue> rows_;
};

// The row that a record encodes.
sync::KeyValue RowOf(const std::string& record);

}  // namespace kvorum::sim
