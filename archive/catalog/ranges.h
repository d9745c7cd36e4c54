// The states of a history that can be restored, as ranges without a hole. Threading: plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/format/names.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

// The state after an entry.
struct StatePlace {
  raft::Index index = 0;
  std::int64_t revision = 0;
  UnixMillis time_ms = 0;

  friend bool operator==(const StatePlace&, const StatePlace&) = default;
};

// From a base on, with all entries behind it.
struct StateRange {
  StatePlace first;
  StatePlace last;

  friend bool operator==(const StateRange&, const StateRange&) = default;
};

// By index. Bases without a manifest are left out. O(log objects + bases), sorted Contents.
std::vector<StateRange> RestorableRanges(const History& history);

}  // namespace kvorum::archive
