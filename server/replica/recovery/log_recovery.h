// The log with which a member starts: found on its disk, created for a new cluster, or still empty
// for one that joins. Handles a tail torn off by a crash, and chooses the entries to read.
//
// Blocks its thread: reads the disk, and may ask peers. Errors leave the data as it was: kDataLoss
// and kFailedPrecondition name the file and the remedy.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/store/store.h"
#include "raft/config.h"
#include "server/replica/recovery/local_member_options.h"
#include "server/state/membership.h"
#include "wal/wal.h"

namespace kvorum::server {

struct RecoveredLog {
  wal::Metadata metadata{};
  std::unique_ptr<wal::Writer> writer{};
  raft::Restart restart{};
  raft::Index snapshot_index = 0;  // the entries in memory may begin after it
  std::vector<Member> remotes{};   // known before the log has named them
};

Result<RecoveredLog> RecoverLog(FileSystem& fs, const mvcc::BackendOpener& open_backend,
                                const LocalMemberOptions& options);

// The log is synced before an entry is applied and released after the backend is durable: anything
// else is damage. `consistent_index` is that of the backend.
Result<void> CheckFitsBackend(const RecoveredLog& log, raft::Index consistent_index);

// Entries in the backend were committed and are applied, even if the last hard state on disk is
// older; the configuration is in it too. So Raft never gives out an entry again that the backend
// has, and a configuration change that was refused when it was applied stays refused.
Result<void> StartAtBackend(raft::Restart& restart, const mvcc::Store::Recovered& backend);

// Takes the log for committed, and adds entries that make a cluster of this member alone. Returns
// the index of the last one; 0 if it is already alone and all was known to be committed. Before
// others are removed, `on_departure` gets the last entry of the cluster that is left.
Result<raft::Index> ForceNewCluster(
    RecoveredLog& log, const MembershipView& applied_view, raft::Index consistent_index,
    const std::vector<std::string>& own_peer_urls,
    const std::function<Result<void>(raft::Index last)>& on_departure);

}  // namespace kvorum::server
