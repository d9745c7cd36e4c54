// When the log gets its next snapshot (a marker that what is before it is durable in the backend),
// and how far it may be compacted in memory then.
//
// Threading: used by the raft executor only. Ownership: the node outlives it. A snapshot is due by
// entries and by bytes: the log in memory goes no further back than the last one lets it, and
// neither does what a start reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "proto/raft_types.h"
#include "server/replica/catch_up_log.h"

namespace kvorum::raft {
class Node;
}  // namespace kvorum::raft

namespace kvorum::server {

class LogSnapshots {
 public:
  struct Limits {
    std::uint64_t entries = 0;
    // By how much the log may grow in memory since the last snapshot, however few entries that are.
    std::size_t size_bytes = 0;
  };
  // `last` is the index of the last snapshot, where the node's configuration holds.
  LogSnapshots(raft::Node& node, raft::Index last, Limits limits);

  // The configuration from this entry on.
  void ConfChanged(raft::Index index, raft::ConfState conf);
  // A leader's snapshot has taken the place of everything before it.
  void Installed(const raft::SnapshotMetadata& metadata);
  // The backend holds everything up to this entry on disk.
  void Durable(raft::Index index);
  // The one to begin now, if one is due and none is under way.
  std::optional<raft::SnapshotMetadata> Begin();
  // The one under way is done, or could not be made (index 0): compacts the log behind it.
  void Ended(raft::Index index, TimePoint now);

  // A follower is sent a snapshot of this index; it needs the log behind it.
  void SendBegun(raft::MemberId to, raft::Index index) { catch_up_.Begun(to, index); }
  void SendEnded(raft::MemberId to, bool succeeded, TimePoint now) {
    catch_up_.Ended(to, succeeded, now);
  }
  // Compacts what followers needed until now.
  void Tick(TimePoint now);

 private:
  bool IsDue() const;
  void Compact(TimePoint now);

  raft::Node& node_;
  const Limits limits_;
  raft::Index last_;  // the last one begun
  raft::Index durable_ = 0;
  bool is_running_ = false;
  std::size_t kept_size_bytes_ = 0;  // of the log in memory, when the last one was done
  raft::Index compact_ = 0;          // up to where the log should be compacted; 0: it is
  CatchUpLog catch_up_;
  std::vector<std::pair<raft::Index, raft::ConfState>> confs_;  // from which index each holds
};

}  // namespace kvorum::server
