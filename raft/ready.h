// What a Node wants its driver to do: the output side of the state machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "proto/raft_types.h"
#include "raft/events.h"

namespace kvorum::raft {

struct SoftState {
  MemberId leader = kNone;
  Role role = Role::kFollower;

  friend bool operator==(const SoftState&, const SoftState&) = default;
};

// A linearizable read that asked with `context` may be answered once `index` is applied.
struct ReadState {
  std::uint64_t context = 0;
  Index index = 0;

  friend bool operator==(const ReadState&, const ReadState&) = default;
};

// The parts are independent of each other and may be worked on at the same time: a message that
// needs something on disk first is not in here before that was Persisted.
struct Ready {
  // Counts up; the name of this Ready's write in Node::Persisted.
  std::uint64_t number = 0;

  // To write, in the order of the Readys: the snapshot's marker, then the entries (they replace
  // what was written at their indexes and behind), then the hard state. If must_sync, make them
  // durable and then call Persisted(number). If not, only the commit index changed: the write may
  // wait for the next one and needs no Persisted.
  std::shared_ptr<const Snapshot> snapshot{};  // once durable, to be installed; then Applied
  std::vector<Entry> entries{};
  std::optional<HardState> hard_state{};
  bool must_sync = false;

  // To send. In a kSnap the snapshot is the least that helps: the driver replaces it by the one
  // that it really sends, of the same index or later, and reports what became of it.
  std::vector<Message> messages{};

  // To apply, in order: durable here, committed everywhere. Then Applied(index of the last).
  std::vector<Entry> committed{};

  std::vector<ReadState> read_states{};
  std::optional<SoftState> soft_state{};  // if it changed
  std::vector<Event> events{};
};

// What the Readys so far have told.
struct LastReady {
  std::uint64_t number = 0;
  HardState hard_state{};
  SoftState soft_state{};
};

}  // namespace kvorum::raft
