// The archive as metrics, health checks and operators see it.
//
// Threading: thread-safe; each value is the last one that was published.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "archive/format/names.h"
#include "base/metric.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

enum class ShipState : std::uint8_t {
  kStarting,   // the store was not reached yet
  kFollowing,  // another member leads, which archives
  kArchiving,
  kFailing,  // the store's last answer was an error
  kRefused,  // the archive is not of this member's data, or ahead of it
};
// "starting", "following" ...: for labels and JSON.
const char* ShipStateName(ShipState state);

struct ArchiveStatus {
  // A moment in which everything applied was archived.
  struct Place {
    raft::Index index = 0;
    std::int64_t revision = 0;
    UnixMillis time_ms = 0;
  };

  struct Values {
    ShipState state = ShipState::kStarting;
    HistoryId history = 0;
    Place archived;     // by whichever member, as far as this one knows
    Place base;         // the newest base
    std::string error;  // the last one, while `state` tells of one; else empty
  };

  Values values() const;
  void Set(Values values);

  Counter log_objects;
  Counter log_bytes;  // as stored
  Counter bases;
  Counter base_bytes;
  Counter failures;  // of calls of the store, once all tries had failed
  Counter retries;
  Counter gaps;  // entries that no object has, each run of them counted once
  Counter pruned_objects;
  Counter locked_objects;  // that retention wanted to delete and a lock protects
  Counter abandoned_bases;
  // Applied entries that are not archived wait for that long, in milliseconds; 0 while there are
  // none, and on a member that does not lead.
  std::atomic<std::int64_t> lag_ms = 0;

 private:
  mutable std::mutex mutex_;
  Values values_;
};

}  // namespace kvorum::archive
