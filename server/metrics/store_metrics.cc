#include "mvcc/store/store.h"
#include "server/call/reads.h"
#include "server/metrics/sources.h"
#include "server/replica/drive/log_writer.h"
#include "server/replica/member/local_member.h"
#include "watch/hub.h"

namespace kvorum::server {
namespace {

using enum MetricType;

constexpr const char* kNoBbolt = "LMDB writes a commit in one step, without this phase";
constexpr const char* kNoV2 = "there is no v2 store";
constexpr const char* kNoSendLoop = "the I/O loop writes responses as they are made";
constexpr const char* kNoProxy = "kvorum is not a grpc-proxy";

void AddCountRows(MetricsRegistry& registry, const MetricSources& of) {
  const auto store = [&of]() -> const mvcc::Store& { return of.reads->store; };
  registry.Counter("etcd_mvcc_range_total", "Ranges, those of txns included.",
                   [store] { return store().counters().ranges; });
  registry.Counter("etcd_mvcc_put_total", "Puts.", [store] { return store().counters().puts; });
  registry.Counter("etcd_mvcc_delete_total", "Deletions of ranges.",
                   [store] { return store().counters().deletes; });
  registry.Counter("etcd_mvcc_txn_total", "Txns with more than one operation.",
                   [store] { return store().counters().txns; });
  registry.Gauge("etcd_debugging_mvcc_keys_total", "Keys that live.",
                 [store] { return store().metrics().live_keys.load(); });
  registry.Gauge("etcd_debugging_mvcc_total_put_size_in_bytes", "Bytes of all puts.",
                 [store] { return store().counters().put_bytes; });
  registry.Gauge("etcd_debugging_mvcc_current_revision", "The newest revision.",
                 [store] { return store().revision(); });
  registry.Gauge("etcd_debugging_mvcc_compact_revision", "The revision of the last compaction.",
                 [store] { return store().compact_revision(); });
  registry.Gauge("etcd_mvcc_db_total_size_in_bytes", "The size of the database's file.",
                 [store] { return store().SizeBytes(); });
  registry.Gauge("etcd_mvcc_db_total_size_in_use_in_bytes", "The part of it that is in use.",
                 [store] { return store().SizeInUseBytes(); });
  registry.Gauge("etcd_mvcc_db_open_read_transactions", "Readers of the database.",
                 [&of] { return of.database_readers->load(); });
  registry.Histogram("etcd_mvcc_hash_duration_seconds", "Time of hashing all of the database.",
                     [store]() -> const Histogram& { return store().metrics().hash; });
  registry.Histogram("etcd_mvcc_hash_rev_duration_seconds", "Time of hashing up to a revision.",
                     [store]() -> const Histogram& { return store().metrics().hash_kv; });
}

void AddCompactionRows(MetricsRegistry& registry, const MetricSources& of) {
  const auto store = [&of]() -> const mvcc::StoreCounters& { return of.reads->store.metrics(); };
  registry.Counter("etcd_debugging_mvcc_db_compaction_keys_total", "Records that were compacted.",
                   [store] { return store().Read().compacted_records; });
  registry.Gauge("etcd_debugging_mvcc_db_compaction_last",
                 "The Unix time of the last compaction since the start, else 0.",
                 [store] { return store().last_compaction_unix_s.load(); });
  registry.Histogram("etcd_debugging_mvcc_db_compaction_pause_duration_milliseconds",
                     "Time of a batch of deletions.",
                     [store]() -> const Histogram& { return store().compaction_pause; });
  registry.Histogram("etcd_debugging_mvcc_db_compaction_total_duration_milliseconds",
                     "Time of a compaction.",
                     [store]() -> const Histogram& { return store().compaction; });
  registry.Histogram("etcd_debugging_mvcc_index_compaction_pause_duration_milliseconds",
                     "Time of one step of a compaction of the index.",
                     [store]() -> const Histogram& { return store().index_compaction_pause; });
}

void AddWatchRows(MetricsRegistry& registry, const MetricSources& of) {
  using watch::WatchCounters;
  const auto read = [&of](WatchCounters::What what) {
    return [&of, what] { return of.watches->counters().Read(what); };
  };
  registry.Gauge("etcd_debugging_mvcc_watch_stream_total", "Streams of watchers.",
                 read(WatchCounters::kStreams));
  registry.Gauge("etcd_debugging_mvcc_watcher_total", "Watchers.", read(WatchCounters::kWatchers));
  registry.Gauge("etcd_debugging_mvcc_slow_watcher_total",
                 "Watchers that are behind: being caught up, or waiting for their client.",
                 read(WatchCounters::kUnsynced));
  registry.Counter("etcd_debugging_mvcc_events_total", "Events sent to watchers.",
                   read(WatchCounters::kEvents));
  registry.Zero("etcd_debugging_mvcc_pending_events_total", kGauge, "Events waiting to be sent.",
                "a client that does not read has no events queued: it is caught up later");
  for (const char* name : {"etcd_debugging_server_watch_send_loop_control_stream_duration_seconds",
                           "etcd_debugging_server_watch_send_loop_progress_duration_seconds",
                           "etcd_debugging_server_watch_send_loop_watch_stream_duration_per_event_"
                           "seconds",
                           "etcd_debugging_server_watch_send_loop_watch_stream_duration_seconds"}) {
    registry.ZeroHistogram(name, DoublingBounds(0.001, 14), "Time in the send loop of a watch.",
                           kNoSendLoop);
  }
}

void AddDiskRows(MetricsRegistry& registry, const MetricSources& of) {
  const auto log = [&of]() -> const LogWriter& { return of.member->log(); };
  const auto store = [&of]() -> const mvcc::StoreCounters& { return of.reads->store.metrics(); };
  registry.Histogram("etcd_disk_wal_fsync_duration_seconds", "Time of a sync of the log.",
                     [log]() -> const Histogram& { return log().times().sync; });
  registry.Histogram("etcd_disk_wal_write_duration_seconds", "Time of a write to the log.",
                     [log]() -> const Histogram& { return log().times().write; });
  registry.Gauge("etcd_disk_wal_write_bytes_total", "Bytes written to the log.",
                 [log] { return log().written_bytes(); });
  registry.Histogram("etcd_disk_backend_commit_duration_seconds", "Time of a commit.",
                     [store]() -> const Histogram& { return store().commit; });
  registry.Histogram("etcd_disk_backend_defrag_duration_seconds", "Time of a defragmentation.",
                     [store]() -> const Histogram& { return store().defragment; });
  registry.Gauge("etcd_disk_defrag_inflight", "Defragmentations asked for and not done.",
                 [store] { return store().defragmentations_running.load(); });
  registry.Histogram("etcd_disk_backend_snapshot_duration_seconds",
                     "Time of sending the database to a client or a member.",
                     [store]() -> const Histogram& { return store().snapshot; });
  registry.Histogram("etcd_snap_fsync_duration_seconds",
                     "Time of marking a snapshot in the log, syncs included.",
                     [log]() -> const Histogram& { return log().times().snapshot; });
  for (const char* name : {"etcd_debugging_disk_backend_commit_rebalance_duration_seconds",
                           "etcd_debugging_disk_backend_commit_spill_duration_seconds",
                           "etcd_debugging_disk_backend_commit_write_duration_seconds"}) {
    registry.ZeroHistogram(name, DoublingBounds(0.001, 14), "Time of a phase of a bbolt commit.",
                           kNoBbolt);
  }
  for (const char* name : {"etcd_debugging_snap_save_marshalling_duration_seconds",
                           "etcd_debugging_snap_save_total_duration_seconds"}) {
    registry.ZeroHistogram(name, DoublingBounds(0.001, 14), "Time of saving a v2 snapshot.", kNoV2);
  }
  constexpr const char* kWithTransfer =
      "a received database is written while it arrives, see "
      "etcd_network_snapshot_receive_total_duration_seconds";
  registry.ZeroHistogram("etcd_snap_db_fsync_duration_seconds", DoublingBounds(0.001, 14),
                         "Time of syncing a received database.", kWithTransfer);
  registry.ZeroHistogram("etcd_snap_db_save_total_duration_seconds", DoublingBounds(0.1, 10),
                         "Time of saving a received database.", kWithTransfer);
}

void AddAbsentFeatureRows(MetricsRegistry& registry) {
  registry.Zero("etcd_debugging_store_expires_total", kCounter, "Expired keys of v2.", kNoV2);
  registry.Zero("etcd_debugging_store_watch_requests_total", kCounter, "Watches of v2.", kNoV2);
  registry.Zero("etcd_debugging_store_watchers", kGauge, "Watchers of v2.", kNoV2);
  for (const char* name :
       {"etcd_debugging_store_reads_failed_total", "etcd_debugging_store_reads_total",
        "etcd_debugging_store_writes_failed_total", "etcd_debugging_store_writes_total"})
    registry.Empty(name, kCounter, {"action"}, "Operations of v2.", kNoV2);
  registry.Zero("etcd_grpc_proxy_cache_hits_total", kGauge, "Hits of a proxy's cache.", kNoProxy);
  registry.Zero("etcd_grpc_proxy_cache_keys_total", kGauge, "Keys in a proxy's cache.", kNoProxy);
  registry.Zero("etcd_grpc_proxy_cache_misses_total", kGauge, "Misses of a proxy's cache.",
                kNoProxy);
  registry.Zero("etcd_grpc_proxy_events_coalescing_total", kCounter, "Events that a proxy joined.",
                kNoProxy);
  registry.Zero("etcd_grpc_proxy_watchers_coalescing_total", kGauge,
                "Watchers that a proxy joined.", kNoProxy);
}

}  // namespace

void AddStoreMetrics(MetricsRegistry& registry, const MetricSources& of) {
  AddCountRows(registry, of);
  AddCompactionRows(registry, of);
  AddWatchRows(registry, of);
  AddDiskRows(registry, of);
  AddAbsentFeatureRows(registry);
}

}  // namespace kvorum::server
