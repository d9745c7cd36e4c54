// The work that a Node gives to its driver: the output side of the state machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "proto/raft_types.h"
#include "raft/events.h"
#include "raft/log.h"

namespace kvorum::raft {

struct SoftState {
  MemberId leader = kNone;
  Role role = Role::kFollower;

  friend bool operator==(const SoftState&, const SoftState&) = default;
};

// The linearizable read that came with `context` may be answered once `index` is applied.
struct ReadState {
  std::uint64_t context = 0;
  Index index = 0;

  friend bool operator==(const ReadState&, const ReadState&) = default;
};

// A follower needs entries that have left the memory: to be read from storage, some from `from` on
// and none past `to`, of the terms that `terms` tells, and passed to Node::Fetched. One at a time
// for each follower.
struct Fetch {
  MemberId peer = kNone;
  Index from = 0;
  Index to = 0;
  std::size_t max_size_bytes = 0;  // but one entry at least
  std::vector<Log::TermRun> terms{};
};

// The parts are independent of each other and may be worked on at the same time: a message that
// depends on data on disk is not included before that data was Persisted.
struct Ready {
  // Ascending; names this Ready's write in Node::Persisted.
  std::uint64_t number = 0;

  // To write, in the order of the Readys: the snapshot's marker, then the entries (they replace
  // entries at their indexes and after), then the hard state. If must_sync, make them durable and
  // then call Persisted(number). Otherwise only the commit index changed: the write may wait for
  // the next one and needs no Persisted.
  std::shared_ptr<const Snapshot> snapshot{};  // once durable, to be installed; then Applied
  std::vector<Entry> entries{};
  std::optional<HardState> hard_state{};
  bool must_sync = false;

  // To send. The snapshot in a kSnap is the least that helps: the driver replaces it by the one
  // that it really sends, of the same index or later, and reports the outcome.
  std::vector<Message> messages{};

  // To apply, in order: entries that are durable here and committed. Then call Applied(index of the
  // last).
  std::vector<Entry> committed{};

  std::vector<Fetch> fetches{};
  std::vector<ReadState> read_states{};
  std::optional<SoftState> soft_state{};  // if it changed
  std::vector<Event> events{};
};

// The state that earlier Readys have reported.
struct LastReady {
  std::uint64_t number = 0;
  HardState hard_state{};
  SoftState soft_state{};
};

}  // namespace kvorum::raft
