// Gives a member's directory to etcd: the database becomes a file of etcd's, and log and snapshot
// files what etcd starts from. The way back of adopt.h; the member must not run.
//
// A crash or an error leaves a directory of ours that is whole, or a release that the next call
// finishes; layout.h tells how. Our database is kept until it is dropped.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "datadir/progress.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "proto/raft_types.h"

namespace kvorum::datadir {

struct ReleaseOptions {
  std::string data_dir;
  std::string wal_dir = {};  // empty: within the data directory
  mvcc::BackendOpener open;  // of our backend
  // Removes what moves have kept when etcd's database is in its place and can be read whole.
  bool drop_old = false;
  OnProgress on_progress = {};
};

struct Released {
  bool was_etcds = false;  // there was nothing to do; of the rest only `kept` is set
  raft::MemberId member = raft::kNone;
  std::uint64_t cluster = 0;
  raft::Index applied = 0;           // in the database
  raft::Index last_index = 0;        // in the log
  std::string storage_version = {};  // "3.7.0"; empty: that of versions before 3.6
  std::string kept = {};             // the path of our database; empty if there is none any more
};

// Reads and writes the whole database, and reads the log. The storage version is the cluster's, so
// that after a downgrade the lower version starts. kFailedPrecondition when a server has the
// directory, or when it received a snapshot that has not become its database yet; kDataLoss for
// damage; kResourceExhausted for a full disk.
Result<Released> Release(FileSystem& fs, const ReleaseOptions& options);

}  // namespace kvorum::datadir
