// Receives a peer's snapshot, in our format or etcd's, which its first bytes tell: the content goes
// into `<snap dir>/<index>.snap.db`, which appears complete and durable or not at all, then the
// message to Raft. One at a time, from the first byte until the snapshot is installed, or Raft has
// no use for it. One of a former leader gives way to the next leader's: it would be ignored.
//
// Thread-safe. A sink may outlive the intake, but is not finished then. A file that is not taken
// because the process ended is removed at the next start (RemoveReceivedSnapshots).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class SnapshotIntake {
 public:
  // Gives the message to Raft; false if it accepts none now.
  using Deliver = std::function<bool(raft::Message message)>;

  SnapshotIntake(FileSystem& fs, std::string snap_dir, mvcc::BackendOpener open, Deliver deliver);

  // For a kSnap with an index that this member lacks. kUnavailable while there is another one; if
  // that is of an earlier term, its sink takes no more, so that the sender's next try succeeds.
  Result<std::unique_ptr<mvcc::SnapshotSink>> Begin(raft::Message message);

  // Raft has no use for the snapshot delivered last: removes its file. Waits for the disk.
  void Ignored(raft::Index index);
  // The snapshot is installed, and its file is the database.
  void Installed();

 private:
  class Sink;
  struct Shared;

  FileSystem& fs_;
  const std::string snap_dir_;
  const mvcc::BackendOpener open_;
  const Deliver deliver_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace kvorum::server
