// The fill of the bounded queues: the rows of docs/architecture.md's table of bounds. A queue that
// there are several of (one for each loop or member) is shown by the fullest.
#include <algorithm>
#include <atomic>

#include "base/answer_memory.h"
#include "base/log/log_queue.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/store/store.h"
#include "raft/config.h"
#include "raft/write_queue.h"
#include "server/call/apply_gap.h"
#include "server/call/reads.h"
#include "server/metrics/sources.h"
#include "server/peer/streams/pipeline.h"
#include "server/peer/transport/peer_requests.h"
#include "server/peer/transport/peer_transport.h"
#include "server/replica/drive/catch_up_log.h"
#include "server/replica/drive/replica.h"
#include "server/replica/member/local_member.h"
#include "server/replica/upkeep/lease_expiry.h"
#include "watch/hub.h"

namespace kvorum::server {
namespace {

auto Constant(std::size_t limit) {
  return [limit] { return limit; };
}

void AddReplicaQueues(MetricsRegistry& registry, const MetricSources& of) {
  const auto replica = [&of]() -> const Replica& { return of.reads->cluster.replica; };
  const auto depth = [&of](std::atomic<std::size_t> ReplicaDepths::* what) {
    return [&of, what] { return (of.reads->cluster.replica.depths().*what).load(); };
  };
  const raft::Config raft;
  registry.Queue(
      "proposals", "proposals", [replica] { return replica().waiting_proposals().pending(); },
      [replica] { return replica().options().max_waiting_proposals; });
  registry.Queue(
      "proposals", "bytes", [replica] { return replica().waiting_proposals().pending_bytes(); },
      [replica] { return replica().options().max_waiting_proposal_bytes; });
  registry.Queue(
      "unapplied", "entries",
      [replica] {
        const raft::Index applied = replica().applied_index();
        const raft::Index committed = replica().commit_index();
        return committed > applied ? committed - applied : 0;
      },
      Constant(kMaxGapEntries));
  registry.Queue("unapplied", "bytes", depth(&ReplicaDepths::unapplied_bytes),
                 Constant(raft.max_unapplied_size_bytes));
  registry.Queue("log", "bytes", depth(&ReplicaDepths::log_bytes),
                 Constant(CatchUpLog::Limits{}.max_memory_bytes));
  registry.Queue("uncommitted", "bytes", depth(&ReplicaDepths::uncommitted_bytes),
                 Constant(raft.max_uncommitted_size_bytes));
  registry.Queue("reads", "batches", depth(&ReplicaDepths::reads),
                 [replica] { return replica().options().max_waiting_reads; });
  registry.Queue("peer_messages", "messages", depth(&ReplicaDepths::messages),
                 [replica] { return replica().options().max_waiting_messages; });
  registry.Queue("peer_messages", "bytes", depth(&ReplicaDepths::message_bytes),
                 [replica] { return replica().options().max_waiting_message_bytes; });
  registry.Queue("held_messages", "messages", depth(&ReplicaDepths::held_messages),
                 Constant(raft::WriteQueue::kMaxMessages));
  registry.Queue("applying", "bytes", depth(&ReplicaDepths::applying_bytes),
                 Constant(raft.max_applying_size_bytes));
  registry.Queue("taken_proposals", "ids", depth(&ReplicaDepths::taken_proposals),
                 Constant(TakenProposals::kMost));
  registry.Queue(
      "lease_revocations", "leases", [&of] { return of.member->lease_expiry().in_flight(); },
      Constant(LeaseExpiry::kMostInFlight));
}

void AddStoreQueues(MetricsRegistry& registry, const MetricSources& of) {
  registry.Queue(
      "write_buffer", "bytes", [&of] { return of.reads->store.PendingBytes(); },
      Constant(mvcc::WriteBuffer::Options().limit_bytes));
  registry.Queue(
      "database_readers", "readers", [&of] { return of.database_readers->load(); },
      Constant(mvcc::LmdbOptions().max_readers));
  registry.Queue(
      "hash_points", "points", [&of] { return of.reads->store.history_sum().points(); },
      Constant(mvcc::HistorySum::kMaxPoints));
  registry.Queue(
      "watch_inbox", "batches", [&of] { return of.watches->MostWaiting().batches; },
      [&of] { return of.watches->options().inbox_batches; });
  registry.Queue(
      "watch_inbox", "bytes", [&of] { return of.watches->MostWaiting().bytes; },
      [&of] { return of.watches->options().inbox_bytes; });
  registry.Queue(
      "answers", "bytes", [&of] { return of.reads->answers.used_bytes(); },
      [&of] { return of.reads->answers.limit_bytes(); });
  registry.Queue(
      "log_lines", "lines", [] { return WaitingLogLines().lines; }, Constant(LogQueue::kMaxLines));
  registry.Queue(
      "log_lines", "bytes", [] { return WaitingLogLines().bytes; }, Constant(LogQueue::kMaxBytes));
}

void AddPeerQueues(MetricsRegistry& registry, const MetricSources& of) {
  const auto largest = [&of](auto read) {
    return [&of, read] {
      std::size_t most = 0;
      of.peers->metrics().ForEach([&](raft::MemberId, const PeerMetrics::Of& peer) {
        most = std::max<std::size_t>(most, read(peer));
      });
      return most;
    };
  };
  registry.Queue("peer_streams", "messages", largest([](const PeerMetrics::Of& peer) {
                   return std::max(peer.append_stream.messages.load(),
                                   peer.message_stream.messages.load());
                 }),
                 [&of] { return of.peers->options().peers.max_queued_messages; });
  registry.Queue("peer_streams", "bytes", largest([](const PeerMetrics::Of& peer) {
                   return std::max(peer.append_stream.bytes.load(),
                                   peer.message_stream.bytes.load());
                 }),
                 [&of] { return of.peers->options().peers.max_queued_bytes; });
  registry.Queue("peer_posts", "messages",
                 largest([](const PeerMetrics::Of& peer) { return peer.waiting_posts.load(); }),
                 Constant(Pipeline::kMaxWaiting));
  registry.Queue("lease_requests", "requests",
                 largest([](const PeerMetrics::Of& peer) { return peer.waiting_requests.load(); }),
                 Constant(PeerRequests::kMaxWaiting));
  const auto port = [&of]() -> const PeerServerStats& { return of.peers->server_stats(); };
  registry.Queue(
      "peer_connections", "connections", [port] { return port().open.load(); },
      [&of] { return of.peers->options().server.max_connections; });
  registry.Queue(
      "peer_bodies", "bytes", [port] { return port().gathered_bytes.load(); },
      [&of] { return of.peers->options().server.max_gathered_bytes; });
  const auto handshakes = [&of] {
    const auto& tls = of.peers->options().tls;
    return tls.has_value() ? tls->max_handshakes : PeerTls().max_handshakes;
  };
  registry.Queue(
      "silent_handshakes", "connections", [port] { return port().handshakes.silent.load(); },
      handshakes);
  registry.Queue(
      "handshakes", "connections", [port] { return port().handshakes.spoken.load(); }, handshakes);
}

}  // namespace

void AddQueueMetrics(MetricsRegistry& registry, const MetricSources& of) {
  AddReplicaQueues(registry, of);
  AddStoreQueues(registry, of);
  AddPeerQueues(registry, of);
  const auto family = [&registry](std::string_view name, std::string_view help,
                                  std::function<double()> MetricsRegistry::QueueRow::* read) {
    registry.Family(name, MetricType::kGauge, {"queue", "unit"}, help,
                    [&registry, read](Samples& out) {
                      for (const MetricsRegistry::QueueRow& row : registry.queues())
                        out.Add({std::string(row.name), std::string(row.unit)}, (row.*read)());
                    });
  };
  family("kvorum_queue_used", "What a bounded queue holds; of several, the fullest.",
         &MetricsRegistry::QueueRow::used);
  family("kvorum_queue_limit", "The bound of that.", &MetricsRegistry::QueueRow::limit);
}

}  // namespace kvorum::server
