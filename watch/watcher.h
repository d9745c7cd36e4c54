// One watcher, and the group of those that watch exactly the same range. Plain data of the shard
// that owns them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/key_range.h"
#include "watch/body.h"
#include "watch/range_index.h"

namespace kvorum::watch {

class Stream;
struct Watcher;

struct WatchGroup {
  explicit WatchGroup(const KeyRange& range) : watched(range) {}
  KeyRange range() const { return watched.view(); }

  const WatchedRange watched;
  std::vector<Watcher*> synced;
  std::uint32_t members = 0;  // synced or not
  std::uint32_t match = 0;    // while a batch is matched: 1 + the place of its matches
};

struct Watcher {
  enum class State : std::uint8_t {
    kSynced,      // in its group: gets each batch
    kLagging,     // its stream has no room
    kCatchingUp,  // being caught up
  };

  Stream& stream;
  WatchGroup& group;
  const std::int64_t id;
  // The first revision that it has not been given yet; for a synced watcher that waits for a later
  // start, that start.
  std::int64_t next = 0;
  std::int64_t lags_from = 0;  // unsynced: `next` when it became so, as ShardLag has it
  std::uint64_t ticket = 0;    // kCatchingUp: the ticket that the result will have
  std::uint32_t place = 0;     // in group.synced or the stream's lagging_
  // Not 0: of the revision `next` it has been given the events before this one. Unsynced only.
  std::uint32_t next_sub = 0;
  State state = State::kSynced;
  const Wanted wanted;
  const bool progress_notify : 1;
  bool starts_later : 1 = false;  // synced, but its start is still to come
  // Writes may be held until it has caught up: it has been synced since it was created, and since
  // its client last stopped reading. True for every synced watcher.
  bool is_awaited : 1 = true;
  bool quiet : 1 = false;  // no event since the last tick of progress
};

}  // namespace kvorum::watch
