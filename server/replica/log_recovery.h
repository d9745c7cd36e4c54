// The log that a member starts with: found on its disk, begun anew for a new cluster, or still
// empty for one that joins. What was torn off it by a crash, and which of its entries are read at
// all, is decided here.
//
// Blocks its thread: reads the disk, and may ask peers. Errors leave the data as it was: kDataLoss
// and kFailedPrecondition say which file and what to do.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/backend.h"
#include "mvcc/store.h"
#include "raft/config.h"
#include "server/replica/instance_options.h"
#include "server/state/membership.h"
#include "wal/wal.h"

namespace kvorum::server {

struct RecoveredLog {
  wal::Metadata metadata{};
  std::unique_ptr<wal::Writer> writer{};
  raft::Restart restart{};
  raft::Index snapshot_index = 0;  // which the entries in memory may begin behind
  std::vector<Member> remotes{};   // whom we know of before the log has told of them
};

Result<RecoveredLog> RecoverLog(FileSystem& fs, const mvcc::BackendOpener& open_backend,
                                const InstanceOptions& options);

// The log is synced before an entry is applied and released after the backend is durable: anything
// else is damage. `consistent_index` is that of the backend.
Result<void> CheckFitsBackend(const RecoveredLog& log, raft::Index consistent_index);

// What the backend holds was committed and is applied, whatever the last hard state on disk says;
// the configuration is in it too. So Raft never hands out an entry again that the backend has, and
// a configuration change that was refused when it was applied stays refused.
Result<void> StartAtBackend(raft::Restart& restart, const mvcc::Store::Recovered& backend);

// Drops what was not committed, and adds entries that make a cluster of this member alone. The
// index of the last one; 0 if it is alone already.
Result<raft::Index> ForceNewCluster(RecoveredLog& log, const MembershipView& applied_view,
                                    raft::Index consistent_index,
                                    const std::vector<std::string>& own_peer_urls);

}  // namespace kvorum::server
