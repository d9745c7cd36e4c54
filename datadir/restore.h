// Makes the data directory of a new cluster's member from the content of a snapshot: all keys,
// leases, users and roles; members, ids and the first entries of the log are those of the new
// cluster, the same that etcdutl would compute. The alarms of the former members end.
//
// Everything is made in `restore.part` within the data directory and moves to `member` at the end,
// in one step: an interrupted restore leaves a directory that no server starts from
// (OpenDataDirectory), and that the next restore clears away. After an error nothing is left.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "api/member.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/net/resolved_url.h"
#include "datadir/archive_origin.h"
#include "mvcc/transfer/snapshot_stream.h"

namespace kvorum::bbolt {
class Reader;
}  // namespace kvorum::bbolt

namespace kvorum::datadir {

struct RestoreOptions {
  std::string data_dir;
  std::string wal_dir;  // must not exist; empty: within the data directory
  std::string name;
  std::string initial_cluster;
  std::string initial_cluster_token;
  std::vector<std::string> advertise_peer_urls = {};
  UrlResolver resolve = ResolvedUrl;
  // Added to the newest revision, which then counts as compacted: watches and cached reads from
  // before notice. 0: none.
  std::uint64_t bump_revision = 0;
  // Called before the log's directory is made elsewhere, and after that is noted. It may make it;
  // may be empty.
  std::function<Result<void>()> make_wal_dir = {};
  // For a restore that goes on behind the snapshot; may be empty. Called with the folder whose `db`
  // has the snapshot's content and its place in the log of the cluster that it is of; applies
  // entries to it, and closes it. The alarms then stay, ascribed to the new cluster's members of
  // the same names, or to one of them.
  struct Replayed {
    // Added to the token, so that members restored to different states are of different clusters.
    std::string token_suffix;
    ArchiveOrigin origin;  // written beside the new member's files
  };
  std::function<Result<Replayed>(const std::string& folder)> replay = {};
  // The bytes of content that have been put; may be empty.
  std::function<void(std::uint64_t bytes)> on_progress = {};
  // Called for each member of the new cluster once the database has it; may be empty.
  std::function<void(std::uint64_t cluster_id, const server::Member& member)> on_member = {};
  // Called before a line about each larger step; may be empty.
  std::function<void(std::string_view what, std::int64_t revision)> on_step = {};
};

// The checks of etcdutl that need no snapshot. kInvalidArgument, kFailedPrecondition.
Result<void> CheckRestore(FileSystem& fs, const RestoreOptions& options);

// Includes CheckRestore, and a check of all pages before anything is made. kResourceExhausted for a
// full disk, kDataLoss for a damaged snapshot.
Result<void> Restore(FileSystem& fs, const mvcc::BackendOpener& open_backend,
                     bbolt::Reader& snapshot, const RestoreOptions& options);

}  // namespace kvorum::datadir
