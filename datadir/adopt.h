// Takes over the directory of an etcd member that does not run: its database becomes one of ours,
// its log and snapshot files stay as they are. The member keeps its id and its cluster, and the
// next start applies what the database had not seen of the log yet.
//
// A crash or an error leaves a directory of etcd's that is whole, or an adoption that the next call
// finishes; layout.h tells how. Etcd's database is kept until it is dropped.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "datadir/progress.h"
#include "mvcc/transfer/snapshot_stream.h"
#include "proto/raft_types.h"

namespace kvorum::datadir {

struct AdoptOptions {
  std::string data_dir;
  std::string wal_dir = {};  // empty: within the data directory
  mvcc::BackendOpener open;  // of our backend; its commits may be synced by hand
  // Removes what moves have kept when our database is in its place and can be read whole.
  bool drop_old = false;
  OnProgress on_progress = {};
};

struct Adopted {
  bool was_ours = false;  // there was nothing to do; of the rest only `kept` is set
  raft::MemberId member = raft::kNone;
  std::uint64_t cluster = 0;
  raft::Index applied = 0;     // in the database
  raft::Index last_index = 0;  // in the log
  std::uint64_t records = 0;
  std::string kept = {};  // the path of etcd's database; empty if there is none any more
};

// Reads and writes the whole database, and reads the log. kFailedPrecondition when a server has the
// directory, when it is of a version that is not known, or when the end of the log has entries that
// only etcd can apply; kDataLoss for a damaged file, with the page; kResourceExhausted for a full
// disk.
Result<Adopted> Adopt(FileSystem& fs, const AdoptOptions& options);

}  // namespace kvorum::datadir
