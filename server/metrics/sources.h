// The parts of a process that the metrics read, and the tables that name what they know.
//
// Ownership: everything outlives the registry, and is there by the first scrape.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/call/service.h"
#include "rpc/server/server.h"
#include "server/metrics/registry.h"

namespace kvorum::archive {
struct ArchiveStatus;
}  // namespace kvorum::archive

namespace kvorum::rpc {
class TlsContext;
}  // namespace kvorum::rpc

namespace kvorum::watch {
class Hub;
}  // namespace kvorum::watch

namespace kvorum::server {

class CallCounters;
class ClientVersions;
class Health;
class Integrity;
class LocalMember;
class PeerTransport;
class Quarantine;
class SlowWrites;
struct Reads;

// A feature gate.
struct Feature {
  std::string_view name;
  std::string_view stage;  // "ALPHA", "BETA"
  bool is_on = false;
};

// Spans on their way to a collector of traces.
struct SpanCounts {
  std::uint64_t exported = 0;
  std::uint64_t dropped = 0;
  std::uint64_t waiting = 0;
  std::uint64_t waiting_bytes = 0;
};

struct MetricSources {
  const Reads* reads = nullptr;
  LocalMember* member = nullptr;
  watch::Hub* watches = nullptr;
  const Quarantine* quarantine = nullptr;
  std::vector<rpc::MethodInfo> methods;
  const CallCounters* calls = nullptr;
  const SlowWrites* slow_writes = nullptr;
  const ClientVersions* versions = nullptr;
  const Health* health = nullptr;
  const PeerTransport* peers = nullptr;
  const Integrity* integrity = nullptr;
  std::function<rpc::Stats()> client_port;
  const rpc::TlsContext* client_tls = nullptr;  // null without a certificate
  const std::atomic<unsigned>* database_readers = nullptr;
  const archive::ArchiveStatus* archive = nullptr;  // null without an archive
  std::function<std::int64_t()> archive_lag_ms;
  std::function<SpanCounts()> spans;
  std::vector<Feature> features;
  bool times_calls = false;  // --metrics=extensive
};

// The rows. `of` outlives the registry.
void AddServerMetrics(MetricsRegistry& registry, const MetricSources& of);   // etcd_server_*
void AddStoreMetrics(MetricsRegistry& registry, const MetricSources& of);    // etcd_mvcc_*, _disk_*
void AddNetworkMetrics(MetricsRegistry& registry, const MetricSources& of);  // etcd_network_*
void AddCallMetrics(MetricsRegistry& registry, const MetricSources& of);     // grpc_server_*
void AddProcessMetrics(MetricsRegistry& registry);                       // process_*, go_*, os_*
void AddThreadMetrics(MetricsRegistry& registry);                        // kvorum_thread_*
void AddOwnMetrics(MetricsRegistry& registry, const MetricSources& of);  // kvorum_*
void AddArchiveMetrics(MetricsRegistry& registry, const MetricSources& of);  // kvorum_archive_*
void AddQueueMetrics(MetricsRegistry& registry, const MetricSources& of);    // kvorum_queue_*
void AddAllMetrics(MetricsRegistry& registry, const MetricSources& of);

}  // namespace kvorum::server
