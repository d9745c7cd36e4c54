// From where on the leader's log is needed by followers that get a snapshot: they go on from its
// index, once it has arrived and is installed, and a log that was compacted meanwhile would only
// earn them the next snapshot.
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
  // For opening a large snapshot and building its index.
  static constexpr Duration kInstallTime = std::chrono::seconds(30);
  static constexpr std::size_t kMaxBytes = std::size_t{512} << 20;

  // A snapshot of this index or a later one is on its way.
  void Begun(raft::MemberId peer, raft::Index index);
  void Ended(raft::MemberId peer, bool succeeded, TimePoint now);

  // How far the log may be compacted, if it should be compacted to `index`.
  raft::Index Bound(raft::Index index, std::size_t log_size_bytes, TimePoint now);

 private:
  struct Need {
    raft::Index index = 0;
    std::optional<TimePoint> until;  // once the snapshot has arrived
  };
  std::map<raft::MemberId, Need> needs_;
};

}  // namespace kvorum::server
