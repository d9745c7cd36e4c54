// The metrics that etcd has no name for.
#include "base/answer_memory.h"
#include "base/log/logging.h"
#include "mvcc/store/store.h"
#include "rpc/tls/tls_context.h"
#include "server/call/member_patches.h"
#include "server/call/quarantine.h"
#include "server/call/reads.h"
#include "server/integrity/integrity.h"
#include "server/metrics/sources.h"
#include "server/peer/transport/peer_transport.h"
#include "server/replica/drive/replica.h"
#include "watch/hub.h"

namespace kvorum::server {

namespace {

void AddReplicaCheckRows(MetricsRegistry& registry, const MetricSources& of) {
  const auto counters = [&of]() -> const ReplicaCheck::Counters& {
    return of.integrity->replica_check().counters();
  };
  registry.Gauge("kvorum_replica_hash_agreement",
                 "Whether all members compared last hold the same keys (1), or not (0).",
                 [counters] { return counters().agrees.load() ? 1 : 0; });
  registry.Gauge("kvorum_replica_members_compared", "Members in the last comparison of hashes.",
                 [counters] { return counters().compared.load(); });
  registry.Gauge("kvorum_replica_compared_revision", "The revision at which they were equal last.",
                 [counters] { return counters().revision.load(); });
  registry.Gauge("kvorum_database_damaged",
                 "Whether reading the database through has found damage (1), or not (0).",
                 [counters] { return counters().is_damaged.load() ? 1 : 0; });
  registry.Counter("kvorum_database_passes_total", "Times that the database was read through.",
                   [counters] { return counters().passes.value(); });
  registry.Counter("kvorum_database_records_read_total", "Records read in these passes.",
                   [counters] { return counters().records.value(); });
  registry.Gauge("kvorum_quarantined", "Whether this member is kept from serving (1), or not (0).",
                 [&of] { return of.quarantine->stands() ? 1 : 0; });
}

void AddEtcdMemberRows(MetricsRegistry& registry, const MetricSources& of) {
  registry.Gauge("kvorum_etcd_members_deciding_otherwise",
                 "Members of etcd so old that they decide permissions of transactions otherwise, "
                 "while auth is on.",
                 [&of] { return of.reads->cluster.patches.older_while_auth.load(); });
  registry.Gauge("kvorum_etcd_hash_agreement",
                 "1 unless a member of etcd was found to hold other keys (0).",
                 [&of] { return of.integrity->etcd_hashes().counters().agree.load() ? 1 : 0; });
  registry.Gauge("kvorum_etcd_compared_revision",
                 "The revision at which this member and a member of etcd were equal last.",
                 [&of] { return of.integrity->etcd_hashes().counters().revision.load(); });
}

void AddClientPortRows(MetricsRegistry& registry, const MetricSources& of) {
  registry.Gauge("kvorum_client_connections", "Open connections of the client port.",
                 [&of] { return of.client_port().open_connections; });
  registry.Counter("kvorum_client_connections_accepted_total", "Connections accepted there.",
                   [&of] { return of.client_port().accepted_connections; });
  registry.Counter("kvorum_client_connections_cut_total",
                   "Connections closed because their client did not read.",
                   [&of] { return of.client_port().cut_connections; });
  registry.Counter("kvorum_tls_handshakes_total", "Handshakes with clients that succeeded.",
                   [&of] { return of.client_port().tls_handshakes; });
  registry.Family(
      "kvorum_tls_reloads_total", MetricType::kCounter, {"result"},
      "Times that changed TLS files of the client port were taken, or could not be used.",
      [&of](Samples& out) {
        if (of.client_tls == nullptr) return;
        out.Add({"taken"}, static_cast<double>(of.client_tls->reloads()));
        out.Add({"unusable"}, static_cast<double>(of.client_tls->failed_reloads()));
      });
}

void AddSpanRows(MetricsRegistry& registry, const MetricSources& of) {
  registry.Counter("kvorum_trace_spans_exported_total", "Spans that the collector has taken.",
                   [&of] { return of.spans().exported; });
  registry.Counter("kvorum_trace_spans_dropped_total",
                   "Spans dropped: too many at a time, or not taken by the collector.",
                   [&of] { return of.spans().dropped; });
  registry.Gauge("kvorum_trace_spans_waiting", "Spans waiting for the collector.",
                 [&of] { return of.spans().waiting; });
  registry.Gauge("kvorum_trace_spans_waiting_bytes", "Their memory.",
                 [&of] { return of.spans().waiting_bytes; });
}

void AddStoreRows(MetricsRegistry& registry, const MetricSources& of) {
  const auto store = [&of]() -> const mvcc::Store& { return of.reads->store; };
  registry.Gauge("kvorum_write_buffer_bytes", "Bytes published and not yet in the database.",
                 [store] { return store().PendingBytes(); });
  registry.Histogram("kvorum_commit_bytes", "Bytes of a commit.",
                     [store]() -> const Histogram& { return store().metrics().commit_bytes; });
  registry.Gauge("kvorum_index_memory_bytes", "Memory of the key index.",
                 [store] { return store().metrics().index_bytes.load(); });
  registry.Gauge("kvorum_saved_index_revision",
                 "Revision of the saved key index that a start would use; 0: there is none.",
                 [store] { return store().metrics().saved_index_revision.load(); });
  registry.Gauge("kvorum_saved_index_later_records",
                 "Records that a start after a kill would read: those after the saved key index.",
                 [store] { return store().metrics().later_records.load(); });
  registry.Counter("kvorum_saved_index_bytes_total",
                   "Bytes of key indexes that were saved while serving.",
                   [store] { return store().metrics().saved_index_bytes.load(); });
}

void AddWatcherRows(MetricsRegistry& registry, const MetricSources& of) {
  const auto replica = [&of]() -> const Replica& { return of.reads->cluster.replica; };
  registry.Gauge("kvorum_watch_inbox_bytes", "Bytes of events that no I/O loop has matched yet.",
                 [&of] { return of.watches->WaitingBytes(); });
  registry.Family("kvorum_watch_lag_revisions", MetricType::kGauge, {"watchers"},
                  "Revisions that the watcher that is furthest behind lacks.", [&of](Samples& out) {
                    const watch::Hub::Lag lag = of.watches->LargestLag();
                    out.Add({"synced"}, static_cast<double>(lag.synced));
                    out.Add({"unsynced"}, static_cast<double>(lag.unsynced));
                    out.Add({"awaited"}, static_cast<double>(lag.awaited));
                  });
  registry.Gauge("kvorum_proposals_held_for_watchers",
                 "Writes of keys that wait for watchers (--max-watch-lag).",
                 [replica] { return replica().waiting_proposals().held_for_watchers(); });
  registry.Counter("kvorum_proposals_ever_held_for_watchers_total",
                   "Writes of keys that have waited for watchers.",
                   [replica] { return replica().waiting_proposals().ever_held_for_watchers(); });
}

}  // namespace

void AddOwnMetrics(MetricsRegistry& registry, const MetricSources& of) {
  const auto replica = [&of]() -> const Replica& { return of.reads->cluster.replica; };
  AddStoreRows(registry, of);
  registry.Counter("kvorum_read_rounds_total", "Rounds that confirmed linearizable reads.",
                   [replica] { return replica().read_counts().rounds.value(); });
  registry.Gauge("kvorum_reads_waiting", "Batches of linearizable reads not yet answered.",
                 [replica] { return replica().waiting_reads(); });
  registry.Gauge("kvorum_proposal_bytes_waiting", "Bytes of proposals that Raft has not taken.",
                 [replica] { return replica().waiting_proposals().pending_bytes(); });
  registry.Gauge("kvorum_apply_lag_entries", "Entries committed and not yet applied.", [replica] {
    const raft::Index applied = replica().applied_index();
    const raft::Index committed = replica().commit_index();
    return committed > applied ? committed - applied : 0;
  });
  registry.Gauge("kvorum_data_lost",
                 "Whether this member lacks data that it had acknowledged, and has no vote (1), or "
                 "not (0).",
                 [replica] { return replica().status().lost_data() != 0 ? 1 : 0; });
  registry.Counter("kvorum_data_losses_total",
                   "Times that this member found that it lacks data that it had acknowledged.",
                   [replica] { return replica().status().counters().losses.value(); });
  registry.Counter("kvorum_peers_data_losses_total",
                   "Times that this member, as the leader, found that of a follower.",
                   [replica] { return replica().status().counters().peers_losses.value(); });
  registry.Counter("kvorum_refused_messages_total", "Messages of peers that were refused.",
                   [replica] { return replica().refused_messages(); });
  registry.Counter("kvorum_repeated_proposals_total", "Forwarded proposals that came again.",
                   [replica] { return replica().repeated_proposals(); });
  AddWatcherRows(registry, of);
  registry.Gauge("kvorum_answer_memory_bytes", "Memory of answers that clients have not read.",
                 [&of] { return of.reads->answers.used_bytes(); });
  registry.Gauge("kvorum_answer_memory_limit_bytes", "The bound of that.",
                 [&of] { return of.reads->answers.limit_bytes(); });
  registry.Counter("kvorum_peer_messages_dropped_total",
                   "Messages to members without room or connection.",
                   [&of] { return of.peers->counters().dropped_messages.load(); });
  registry.Gauge("kvorum_peer_connections", "Open connections of the peer port.",
                 [&of] { return of.peers->server_stats().open.load(); });
  registry.Gauge("kvorum_peer_body_bytes",
                 "Bytes of requests that are being read at the peer port: heads and bodies.",
                 [&of] { return of.peers->server_stats().gathered_bytes.load(); });
  registry.Counter("kvorum_log_lines_dropped_total",
                   "Log lines dropped because the output did not keep up.",
                   [] { return DroppedLogLines(); });
  AddClientPortRows(registry, of);
  AddReplicaCheckRows(registry, of);
  AddEtcdMemberRows(registry, of);
  AddSpanRows(registry, of);
}

}  // namespace kvorum::server
