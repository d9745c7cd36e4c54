// The leader's knowledge of one follower's log, and the way it replicates to that follower.
//
// Threading: used by the raft executor only. Invariants: match < next; in kSnapshot nothing is
// sent.
//
//   kProbe: the last common entry is not known; one App at a time, the next one after an answer.
//   kReplicate: Apps are sent one after another before they are answered (pipelining), within the
//     window; a refusal leads back to kProbe.
//   kSnapshot: the follower needs entries that are compacted; nothing is sent until it has the
//     snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "proto/raft_types.h"

namespace kvorum::raft {

enum class ProgressState : std::uint8_t { kProbe, kReplicate, kSnapshot };
std::string_view Name(ProgressState state);

// The App messages to one follower that are not answered yet.
class Inflights {
 public:
  void Add(Index last_index, std::size_t size_bytes);
  // An answer for `index` answers all before it.
  void FreeUpTo(Index index);
  void FreeFirst();
  void Clear();
  bool IsFull(std::size_t max_messages, std::size_t max_size_bytes) const {
    return messages_.size() >= max_messages || size_bytes_ >= max_size_bytes;
  }
  std::size_t size() const { return messages_.size(); }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  struct InflightMessage {
    Index last_index;
    std::size_t size_bytes;
  };
  std::deque<InflightMessage> messages_;
  std::size_t size_bytes_ = 0;
};

struct Progress {
  Index match = 0;        // the last entry known to be durable there
  Index next = 1;         // the next entry to send
  Index sent_commit = 0;  // the highest commit index sent to it
  ProgressState state = ProgressState::kProbe;
  Index pending_snapshot = 0;       // in kSnapshot: its index
  bool must_take_snapshot = false;  // in kSnapshot: nothing else continues its log
  bool is_active = false;      // heard from in the leader's present election time-out, or the last
                               // one
  std::uint64_t heard_at = 0;  // the time when it was last heard from, in the leader's ticks
  bool is_probe_sent = false;  // in kProbe: an App is in flight
  bool is_fetching = false;    // its next entries are being read from storage
  bool wants_append = false;   // to be sent an App even without entries, to learn its last entry
  // Nonzero after it has lost acknowledged entries: up to this index, it does not count for
  // reads.
  Index lost = 0;
  int doubts = 0;                // refusals of entries that it had acknowledged, in a row
  std::uint64_t doubted_at = 0;  // the time of the last one, in the leader's ticks
  Inflights inflights{};

  void BecomeProbe();
  void BecomeReplicate();
  void BecomeSnapshot(Index snapshot_index);
  // The follower has everything up to `index`. Returns false if that was known.
  bool Advance(Index index);
  // The follower lacks `rejected`, and may agree with us up to `hint`. Returns false if the answer
  // is old.
  bool Retreat(Index rejected, Index hint);
  // The follower refuses an entry that it had acknowledged. A single refusal may be an old one,
  // overtaken on its way by the acknowledgement. Asks again, once a heartbeat. Returns true if this
  // refusal, one of several in a row at different times, proves that the entry is lost.
  bool Doubt(std::uint64_t now);
  // Nothing counts that it has acknowledged so far. It may agree with us up to `hint`.
  void LoseData(Index hint);
  // Returns true once it has recovered all that it had lost.
  bool IsMadeGood();

  void CheckInvariants() const;
};

}  // namespace kvorum::raft
