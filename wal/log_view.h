// The entries that the log holds at each point of its reading, by index and term, and the meaning
// of a snapshot marker there. A marker is one of two kinds, distinguished by the records before it:
//
// - of a snapshot that this member made: the log holds the marker's entry. The marker counts at
//   once and changes nothing.
// - of a snapshot that a peer sent: the log lacks the entry (it ends before it, or has one of
//   another term there). All entries so far are then void, and the log goes on after the marker;
//   but only once the hard state right after the marker says that this is committed. If a crash
//   came between the two, something else follows, and the marker never counts.
//
// A marker below the first entry read is of the first kind: the segment with its entry is gone.
//
// Used by one thread at a time.
#pragma once

#include <optional>
#include <vector>

#include "proto/raft_types.h"
#include "wal/marker.h"

namespace kvorum::wal {

class LogView {
 public:
  // first_index: that of the first segment read.
  explicit LogView(raft::Index first_index);

  // The changes made by a record.
  struct Change {
    std::optional<SnapshotMarker> counts;  // a marker, from now on
    bool restarts = false;                 // it is a received one: earlier entries are void
  };
  Change AddEntry(raft::Index index, raft::Term term);
  Change AddState(const raft::HardState& state);
  Change AddMarker(const SnapshotMarker& marker);

  // The first entry that is not void, of those that were read.
  raft::Index first_index() const { return first_; }
  // The index of the last entry, or one less than the highest that the next one may have.
  raft::Index last_index() const { return last_; }
  // The term of an entry that the log holds at this point; nullopt if it has none there, or it was
  // not read.
  std::optional<raft::Term> TermAt(raft::Index index) const;

 private:
  // Entries of one term, up to the start of the next run.
  struct Run {
    raft::Index first = 0;
    raft::Term term = 0;
  };
  Change RestartAtPending();

  raft::Index first_;  // the entries are [first_, last_]; none if last_ is first_ - 1
  raft::Index last_;
  std::vector<Run> runs_;
  std::optional<SnapshotMarker> pending_;  // a received one, if the next record says so
};

}  // namespace kvorum::wal
