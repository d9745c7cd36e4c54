// Decides when the log gets its next snapshot (a marker that everything before it is durable in the
// backend), and how far it may then be compacted in memory.
//
// Threading: used by the raft executor only. Ownership: the node outlives it. A snapshot is due by
// entries and by bytes: the log in memory goes no further back than the last snapshot allows, and
// neither does the part that a start reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "proto/raft_types.h"
#include "server/replica/drive/catch_up_log.h"

namespace kvorum::raft {
class Node;
}  // namespace kvorum::raft

namespace kvorum::server {

class LogSnapshots {
 public:
  struct Limits {
    std::uint64_t entries = 0;
    // The bytes by which the log may grow in memory since the last snapshot, however few entries
    // that are.
    std::size_t size_bytes = 0;
    CatchUpLog::Limits catch_up{};
  };
  // `last` is the index of the last snapshot, at which the node's configuration is valid.
  LogSnapshots(raft::Node& node, raft::Index last, Limits limits);

  // The configuration from this entry on.
  void ConfChanged(raft::Index index, raft::ConfState conf);
  // A leader's snapshot has replaced everything before it.
  void Installed(const raft::SnapshotMetadata& metadata);
  // The backend has everything up to this entry on disk.
  void Durable(raft::Index index);
  // The snapshot to begin now, if one is due and none is in progress.
  std::optional<raft::SnapshotMetadata> Begin();
  // The snapshot in progress is done: compacts the log before it. Index 0: it could not be made.
  void Ended(raft::Index index);

  // A follower is being sent a snapshot of this index; it needs the log after it.
  void SendBegun(raft::MemberId to, raft::Index index);
  void SendEnded(raft::MemberId to, bool succeeded, TimePoint now) {
    catch_up_.Ended(to, succeeded, now);
  }
  // Compacts entries that followers no longer need. See CatchUpLog::Update.
  void Tick(TimePoint now, std::uint64_t written_bytes, bool has_space);
  // The index up to which the log's segments may go, when they might up to `index`.
  raft::Index ReleaseBound(raft::Index index) const;

 private:
  bool IsDue() const;
  void Compact();

  raft::Node& node_;
  const Limits limits_;
  raft::Index last_;  // the last one begun
  raft::Index durable_ = 0;
  bool is_running_ = false;
  std::size_t kept_size_bytes_ = 0;  // of the log in memory, when the last one was done
  raft::Index compact_ = 0;          // the index up to which the log should be compacted; 0: done
  CatchUpLog catch_up_;
  std::vector<std::pair<raft::Index, raft::ConfState>> confs_;  // with the index from which each is
                                                                // valid
};

}  // namespace kvorum::server
