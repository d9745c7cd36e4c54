// The part of the leader's log needed by followers that get a snapshot: they continue from its
// index, once it has arrived and is installed, and if the log was compacted meanwhile they would
// only need the next snapshot.
//
// Used by the raft executor only. Bound: past kMaxBytes in memory the log is compacted all the
// same.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "base/clock.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class CatchUpLog {
 public:
  // The time to open a large snapshot and build its index.
  static constexpr Duration kInstallTime = std::chrono::seconds(30);
  static constexpr std::size_t kMaxBytes = std::size_t{512} << 20;

  // A snapshot of this index or a later one is being sent.
  void Begun(raft::MemberId peer, raft::Index index);
  void Ended(raft::MemberId peer, bool succeeded, TimePoint now);

  // The index up to which the log may be compacted, if it should be compacted to `index`.
  raft::Index Bound(raft::Index index, std::size_t log_size_bytes, TimePoint now);

 private:
  struct Need {
    raft::Index index = 0;
    std::optional<TimePoint> until;  // once the snapshot has arrived
  };
  std::map<raft::MemberId, Need> needs_;
};

}  // namespace kvorum::server
