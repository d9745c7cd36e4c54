// A backend's content in the order of the snapshot stream, and its totals: those in the stream's
// trailer, with which a sink checks its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/records/snapshot_format.h"

namespace kvorum::mvcc {

// Used by one thread at a time; the content outlives it.
class ContentWalk {
 public:
  explicit ContentWalk(Snapshot& content) : content_(content) {}

  // The next records of one bucket, as many as fit into a chunk's body or one that is larger; empty
  // at the end.
  Result<std::string> NextBody();
  // Counts the bodies so far.
  const snapshot_format::Totals& totals() const { return totals_; }

 private:
  Snapshot& content_;
  std::size_t tag_index_ = 0;
  std::string last_key_;  // of the bucket, in a previous body; empty at its start
  std::string next_key_;
  std::uint64_t records_ = 0;
  snapshot_format::Totals totals_;
};

// Reads everything.
Result<snapshot_format::Totals> ComputeSnapshotTotals(Snapshot& content);

}  // namespace kvorum::mvcc
