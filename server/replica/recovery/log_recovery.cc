#include "server/replica/recovery/log_recovery.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "api/entries/conf_state_json.h"
#include "api/member_id.h"
#include "base/log/logging.h"
#include "datadir/first_members.h"
#include "datadir/snapshot_files.h"
#include "server/replica/recovery/backend_recovery.h"
#include "server/replica/recovery/force_new_cluster.h"
#include "server/replica/recovery/joining.h"
#include "server/state/member_change.h"

namespace kvorum::server {
namespace {

// Writes the first entries of a new cluster.
Result<void> WriteBootstrap(const std::vector<Member>& members, RecoveredLog& log) {
  log.remotes = members;
  raft::Bootstrap bootstrap = datadir::FirstEntriesOf(members);
  KV_RETURN_IF_ERROR(log.writer->Append(bootstrap.entries, &bootstrap.hard_state));
  KV_RETURN_IF_ERROR(log.writer->Sync());
  log.restart.hard_state = bootstrap.hard_state;
  log.restart.entries = std::move(bootstrap.entries);
  return {};
}

Result<RecoveredLog> CreateJoiningLog(FileSystem& fs, const LocalMemberOptions& options,
                                      const std::vector<Member>& members) {
  if (options.peers == nullptr) {
    return Fail(Code::kUnavailable,
                "cannot fetch cluster info from peer urls: could not retrieve cluster information "
                "from the given URLs");
  }
  KV_TRY(Joined joined,
         JoinCluster(*options.peers, members, options.name, options.replica.request_timeout));
  RecoveredLog log{.metadata = {.node_id = joined.self, .cluster_id = joined.cluster_id},
                   .remotes = std::move(joined.members)};
  KV_TRY(log.writer, wal::Create(fs, options.wal_dir, log.metadata, options.wal));
  KV_INFO("joining a cluster", {"local-member-id", IdText(log.metadata.node_id)},
          {"cluster-id", IdText(log.metadata.cluster_id)});
  return log;
}

Result<RecoveredLog> CreateLog(FileSystem& fs, const LocalMemberOptions& options) {
  KV_TRY(const std::vector<Member> members,
         ParseInitialCluster(options.initial_cluster, options.initial_cluster_token));
  KV_TRY(const Member* self, datadir::FindSelf(members, options.name));
  if (options.join_existing) return CreateJoiningLog(fs, options, members);
  if (!options.advertise_peer_urls.empty()) {
    const UrlResolver resolve = [&](const std::string& url) {
      return options.peers == nullptr ? url : options.peers->Resolve(url);
    };
    KV_RETURN_IF_ERROR(datadir::CheckAdvertisedUrls(resolve, *self, options.advertise_peer_urls));
  }
  if (options.peers != nullptr) {
    KV_RETURN_IF_ERROR(
        CheckNotBootstrapped(*options.peers, members, options.name, options.bootstrap_timeout));
  }
  RecoveredLog log{.metadata = {.node_id = self->id, .cluster_id = datadir::ClusterIdOf(members)}};
  KV_TRY(log.writer, wal::Create(fs, options.wal_dir, log.metadata, options.wal));
  KV_RETURN_IF_ERROR(WriteBootstrap(members, log));
  KV_INFO("started a new cluster", {"local-member-id", IdText(log.metadata.node_id)},
          {"cluster-id", IdText(log.metadata.cluster_id)},
          {"initial-cluster", options.initial_cluster});
  return log;
}

// Handles a log without entries, by how it began: as part of a new cluster, whose first entries
// were lost with the process, or as one that joined and has not heard from the leader yet.
Result<void> BeginAgain(const LocalMemberOptions& options, RecoveredLog& log) {
  KV_TRY(const std::vector<Member> members,
         ParseInitialCluster(options.initial_cluster, options.initial_cluster_token));
  KV_TRY(const Member* self, datadir::FindSelf(members, options.name));
  if (self->id == log.metadata.node_id && datadir::ClusterIdOf(members) == log.metadata.cluster_id)
    return WriteBootstrap(members, log);
  if (options.join_existing) return {};
  return Fail(Code::kFailedPrecondition,
              "the log in " + options.wal_dir +
                  " was begun for another member or cluster; start with the flags of the first "
                  "start, or remove the data directory");
}

Result<RecoveredLog> OpenLog(FileSystem& fs, const mvcc::BackendOpener& open_backend,
                             const LocalMemberOptions& options) {
  KV_TRY(const std::vector<wal::SnapshotMarker> markers, wal::ListMarkers(fs, options.wal_dir));
  const auto marked = [&](const raft::SnapshotMetadata& metadata) {
    return std::ranges::any_of(markers, [&](const wal::SnapshotMarker& marker) {
      return marker.index == metadata.index && marker.term == metadata.term;
    });
  };
  KV_TRY(const auto snapshot, datadir::LoadNewestSnapshotFile(fs, options.snap_dir, marked));
  wal::SnapshotMarker from;
  RecoveredLog log;
  if (snapshot.has_value()) {
    from = {.index = snapshot->index, .term = snapshot->term, .conf_state = snapshot->conf_state};
    log.snapshot_index = snapshot->index;
    log.restart.applied = snapshot->index;
    log.restart.conf_state = snapshot->conf_state;
  }
  // The index up to which the database has applied the log, before it is opened for good.
  const auto applied = [&] { return AppliedIndex(fs, open_backend, options.snap_dir); };
  // Entries that the database has are read for lagging followers, so only as many as are kept for
  // them. Any fault of the database is found when it is opened for good.
  const wal::Needs needs{.size_bytes = options.raft.catch_up_size_bytes,
                         .not_up_to = [&] { return applied().value_or(raft::Index{}); }};
  wal::Options wal_options = options.wal;
  wal_options.durable_index = applied;
  KV_TRY(wal::Opened opened, wal::Open(fs, options.wal_dir, from, wal_options, needs));
  KV_RETURN_IF_ERROR(datadir::SetNewerSnapshotFilesAside(
      fs, options.snap_dir, snapshot.value_or(raft::SnapshotMetadata{})));
  if (opened.torn.has_value()) {
    KV_WARN("cut the remains of an unfinished write off the log", {"file", opened.torn->file},
            {"offset", opened.torn->offset}, {"size", opened.torn->size_bytes},
            {"reason", opened.torn->reason});
  }
  log.metadata = opened.contents.metadata;
  log.writer = std::move(opened.writer);
  log.restart.hard_state = opened.contents.hard_state;
  log.restart.snapshot_index = opened.contents.previous_index;
  log.restart.snapshot_term = opened.contents.previous_term;
  log.restart.entries = std::move(opened.contents.entries);
  if (!snapshot.has_value() && log.restart.hard_state.empty()) {
    KV_RETURN_IF_ERROR(BeginAgain(options, log));
  }
  KV_INFO("restarting a member", {"local-member-id", IdText(log.metadata.node_id)},
          {"cluster-id", IdText(log.metadata.cluster_id)}, {"snapshot-index", log.snapshot_index},
          {"entries", log.restart.entries.size()}, {"commit-index", log.restart.hard_state.commit});
  return log;
}

}  // namespace

Result<RecoveredLog> RecoverLog(FileSystem& fs, const mvcc::BackendOpener& open_backend,
                                const LocalMemberOptions& options) {
  KV_TRY(const bool exists, wal::Exists(fs, options.wal_dir));
  return exists ? OpenLog(fs, open_backend, options) : CreateLog(fs, options);
}

Result<void> CheckFitsBackend(const RecoveredLog& log, raft::Index consistent_index) {
  const raft::Restart& restart = log.restart;
  const raft::Index last =
      restart.entries.empty() ? restart.snapshot_index : restart.entries.back().index;
  if (consistent_index < log.snapshot_index) {
    return Fail(Code::kDataLoss,
                "failed to find database snapshot file (snap: snapshot file doesn't exist): the "
                "database is at log index " +
                    std::to_string(consistent_index.value()) +
                    ", older than the log's snapshot at " +
                    std::to_string(log.snapshot_index.value()) +
                    ": it was replaced by an old copy; restore this member from a backup");
  }
  if (consistent_index > last) {
    return Fail(Code::kDataLoss, "the log ends at index " + std::to_string(last.value()) +
                                     ", but the database is at " +
                                     std::to_string(consistent_index.value()) +
                                     ": log files are missing; restore this member from a backup");
  }
  return {};
}

Result<void> StartAtBackend(raft::Restart& restart, const mvcc::Store::Recovered& backend) {
  const raft::Index consistent_index{backend.consistent_index};
  if (consistent_index <= restart.applied) return {};
  restart.applied = consistent_index;
  KV_TRY(restart.conf_state, DecodeConfStateJson(backend.conf_state));
  return {};
}

Result<raft::Index> ForceNewCluster(
    RecoveredLog& log, const MembershipView& applied_view, raft::Index consistent_index,
    const std::vector<std::string>& own_peer_urls,
    const std::function<Result<void>(raft::Index last)>& on_departure) {
  raft::Restart& restart = log.restart;
  const raft::Index applied = std::max(restart.applied, consistent_index);
  const raft::Index known = std::max(restart.hard_state.commit, applied);
  KV_TRY(const raft::Index committed, ForcedCommit(restart.entries, known, log.metadata.node_id));
  const std::size_t found = restart.entries.size();
  std::erase_if(restart.entries, [&](const raft::Entry& entry) { return entry.index > committed; });
  KV_TRY(std::vector<raft::Entry> changes, MakeForcedChanges({.applied_view = applied_view,
                                                              .applied = applied,
                                                              .entries = restart.entries,
                                                              .committed = committed,
                                                              .term = restart.hard_state.term,
                                                              .self = log.metadata.node_id,
                                                              .own_peer_urls = own_peer_urls}));
  KV_WARN("forcing a new cluster of this member alone",
          {"local-member-id", IdText(log.metadata.node_id)},
          {"cluster-id", IdText(log.metadata.cluster_id)}, {"commit-index", known},
          {"last-index", committed}, {"dropped-entries", found - restart.entries.size()},
          {"changes", changes.size()});
  if (changes.empty() && committed == known) return raft::Index{};
  if (!changes.empty()) KV_RETURN_IF_ERROR(on_departure(committed));
  const raft::Index last = changes.empty() ? committed : changes.back().index;
  restart.hard_state.commit = last;
  KV_RETURN_IF_ERROR(log.writer->Append(changes, &restart.hard_state));
  KV_RETURN_IF_ERROR(log.writer->Sync());
  std::ranges::move(changes, std::back_inserter(restart.entries));
  return last;
}

}  // namespace kvorum::server
