#include "api/member_id.h"
#include "server/call/reads.h"
#include "server/metrics/sources.h"
#include "server/peer/codec/peer_metrics.h"
#include "server/peer/transport/peer_transport.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

using enum MetricType;
using Of = PeerMetrics::Of;

// A series for each member, of what `read` returns.
void PeerFamily(MetricsRegistry& registry, const MetricSources& of, std::string_view name,
                MetricType type, const char* label, std::string_view help, auto read) {
  registry.Family(name, type, {label}, help, [&of, read](Samples& out) {
    of.peers->metrics().ForEach([&](raft::MemberId peer, const Of& metrics) {
      out.Add({IdText(peer)}, static_cast<double>(read(metrics)));
    });
  });
}
void PeerTimes(MetricsRegistry& registry, const MetricSources& of, std::string_view name,
               const char* label, std::string_view help, auto read) {
  registry.Family(name, kHistogram, {label}, help, [&of, read](Samples& out) {
    of.peers->metrics().ForEach([&](raft::MemberId peer, const Of& metrics) {
      out.Add({IdText(peer)}, read(metrics).values());
    });
  });
}

void AddPeerRows(MetricsRegistry& registry, const MetricSources& of) {
  PeerFamily(registry, of, "etcd_network_peer_sent_bytes_total", kCounter, "To",
             "Bytes sent to a member.", [](const Of& peer) { return peer.sent_bytes.value(); });
  PeerFamily(registry, of, "etcd_network_peer_received_bytes_total", kCounter, "From",
             "Bytes received from a member.",
             [](const Of& peer) { return peer.received_bytes.value(); });
  PeerFamily(registry, of, "etcd_network_peer_sent_failures_total", kCounter, "To",
             "Messages to a member that could not be sent.",
             [](const Of& peer) { return peer.send_failures.value(); });
  PeerFamily(registry, of, "etcd_network_peer_received_failures_total", kCounter, "From",
             "Streams from a member that broke.",
             [](const Of& peer) { return peer.receive_failures.value(); });
  PeerTimes(registry, of, "etcd_network_peer_round_trip_time_seconds", "To",
            "Time between a probe and its answer.",
            [](const Of& peer) -> const Histogram& { return peer.round_trips; });
  const auto linked = [&](std::string_view name, MetricType type, std::string_view help,
                          auto read) {
    registry.Family(name, type, {"Local", "Remote"}, help, [&of, read](Samples& out) {
      of.peers->metrics().ForEach([&](raft::MemberId peer, const Of& metrics) {
        if (metrics.was_active) {
          out.Add({IdText(of.reads->cluster.member_id), IdText(peer)},
                  static_cast<double>(read(metrics)));
        }
      });
    });
  };
  linked("etcd_network_active_peers", kGauge, "1 while messages of a member arrive by a stream.",
         [](const Of& peer) { return peer.is_active.load(); });
  linked("etcd_network_disconnected_peers_total", kCounter, "Losses of all streams of a member.",
         [](const Of& peer) { return peer.disconnections.value(); });
  registry.Family("etcd_network_known_peers", kGauge, {"Local", "Remote"},
                  "1 for each member of the cluster.", [&of](Samples& out) {
                    for (const auto& [id, member] : of.reads->cluster.membership.View()->members)
                      out.Add({IdText(of.reads->cluster.member_id), IdText(id)}, 1);
                  });
}

void AddSnapshotRows(MetricsRegistry& registry, const MetricSources& of) {
  PeerFamily(registry, of, "etcd_network_snapshot_send_success", kCounter, "To",
             "Databases sent to a member.",
             [](const Of& peer) { return peer.sent.succeeded.value(); });
  PeerFamily(registry, of, "etcd_network_snapshot_send_failures", kCounter, "To",
             "Databases that a member did not get.",
             [](const Of& peer) { return peer.sent.failed.value(); });
  PeerFamily(registry, of, "etcd_network_snapshot_send_inflights_total", kGauge, "To",
             "Databases being sent.", [](const Of& peer) { return peer.sent.running.load(); });
  PeerTimes(registry, of, "etcd_network_snapshot_send_total_duration_seconds", "To",
            "Time of sending a database.",
            [](const Of& peer) -> const Histogram& { return peer.sent.times; });
  PeerFamily(registry, of, "etcd_network_snapshot_receive_success", kCounter, "From",
             "Databases received from a member.",
             [](const Of& peer) { return peer.received.succeeded.value(); });
  PeerFamily(registry, of, "etcd_network_snapshot_receive_failures", kCounter, "From",
             "Databases that did not arrive whole.",
             [](const Of& peer) { return peer.received.failed.value(); });
  PeerFamily(registry, of, "etcd_network_snapshot_receive_inflights_total", kGauge, "From",
             "Databases being received.",
             [](const Of& peer) { return peer.received.running.load(); });
  PeerTimes(registry, of, "etcd_network_snapshot_receive_total_duration_seconds", "From",
            "Time of receiving a database.",
            [](const Of& peer) -> const Histogram& { return peer.received.times; });
}

}  // namespace

void AddNetworkMetrics(MetricsRegistry& registry, const MetricSources& of) {
  AddPeerRows(registry, of);
  AddSnapshotRows(registry, of);
  registry.Empty("etcd_network_server_stream_failures_total", MetricType::kCounter, {"API", "Type"},
                 "Streams that failed for a reason of this server's.",
                 "a stream ends with a status, which grpc_server_handled_total counts");
  registry.Counter("etcd_network_client_grpc_sent_bytes_total",
                   "Bytes sent on the client port, framing included.",
                   [&of] { return of.client_port().sent_bytes; });
  registry.Counter("etcd_network_client_grpc_received_bytes_total",
                   "Bytes received on the client port, framing included.",
                   [&of] { return of.client_port().received_bytes; });
}

}  // namespace kvorum::server
