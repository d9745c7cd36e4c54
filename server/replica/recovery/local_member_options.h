// The settings with which a member is opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lease/lessor.h"
#include "mvcc/store/store.h"
#include "raft/config.h"
#include "server/apply/applier.h"
#include "server/replica/drive/log_writer.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/watcher_pace.h"
#include "server/replica/upkeep/housekeeping.h"
#include "server/replica/upkeep/lease_expiry.h"
#include "wal/wal.h"

namespace kvorum::auth {
class SimpleTokens;
}  // namespace kvorum::auth

namespace kvorum::server {

class PeerRequester;

struct LocalMemberOptions {
  // For a new cluster; ignored when the log exists.
  std::string name;
  std::string initial_cluster;
  std::string initial_cluster_token;
  bool join_existing = false;  // there is a cluster already, which this member is to join
  // To ask the others before there is data; may be null: then no member is asked.
  PeerRequester* peers = nullptr;
  // The time that a member of a new cluster waits for others that may know it already.
  Duration bootstrap_timeout = std::chrono::seconds(2);

  // Turns the member's data into a cluster of this member alone: its log counts as committed, and
  // entries are added that remove all others (server/replica/recovery/force_new_cluster.h).
  bool force_new_cluster = false;
  // Checked against initial_cluster, unless empty.
  std::vector<std::string> advertise_peer_urls;

  std::string wal_dir;
  std::string snap_dir;
  // A note about the database that is there (Quarantine), which ends when a snapshot replaces it,
  // also at a start. Empty: there is none.
  std::string database_note;
  std::uint64_t snapshot_bytes_per_second = 0;  // the transport's limit; 0: none
  std::uint64_t quota_bytes = 0;
  std::uint64_t start_defragment_bytes = 0;  // DefragmentAtStart
  std::uint64_t seed = 0;

  raft::Config raft;  // id and seed are set by the member
  Replica::Options replica;
  LogWriter::Options log;  // snap_dir is set by the member
  Duration slow_apply{};   // ApplyLoop
  Applier::Bounds apply;
  wal::Options wal;
  mvcc::StoreOptions store;  // hooks are set by the member
  lease::Lessor::Options lease;
  LeaseExpiry::Options lease_expiry;   // its time-outs are set by the member
  Housekeeping::Options housekeeping;  // its time-out is set by the member
  // The users' sessions; outlives the member. Null: this member issues no simple tokens.
  auth::SimpleTokens* simple_tokens = nullptr;

  // This member's own removal was applied; on the apply executor. The owner stops the member a
  // little later, so that the others still learn of it.
  std::function<void()> on_removed;
  // The revisions by which this member's watchers lag, for replica.max_watch_lag; on the raft
  // executor, from Start on. May be empty without that bound.
  WatcherPace::Lag watch_lag;

  // For an archive of this member; all empty without one, and then they cost nothing. After each
  // batch of entries, on the apply executor: the last one, and the store's revision behind it.
  std::function<void(raft::Index applied, std::int64_t revision)> on_applied;
  // Asked at each snapshot of the log, on the raft executor: its segments might go up to `index`, and
  // go up to the returned one. `written_bytes`: of the log since the start.
  std::function<raft::Index(raft::Index index, std::uint64_t written_bytes)> release_bound;
  // The data is about to leave the line of its cluster behind this entry (force_new_cluster), at
  // which the store has at least this revision. An error refuses the start.
  std::function<Result<void>(raft::Index last, std::int64_t revision)> on_departure;
};

}  // namespace kvorum::server
