#include "server/process/process/process_queues.h"

#include "server/locks/waiting_calls.h"
#include "server/metrics/registry.h"
#include "server/process/process/metrics_server.h"

namespace kvorum::server {
namespace {

void AddCalls(MetricsRegistry& registry, std::string_view name, const WaitingCalls& calls) {
  registry.Queue(
      name, "calls", [&calls] { return calls.calls(); }, [&calls] { return calls.limits().calls; });
  registry.Queue(
      name, "bytes", [&calls] { return calls.bytes(); }, [&calls] { return calls.limits().bytes; });
}

}  // namespace

void AddProcessQueues(MetricsRegistry& registry, const WaitingCalls& locks,
                      const WaitingCalls& elections, const MetricsServer& metrics_server) {
  AddCalls(registry, "locks", locks);
  AddCalls(registry, "elections", elections);
  registry.Queue(
      "metrics_connections", "connections",
      [&metrics_server] { return metrics_server.open_connections(); },
      [] { return MetricsServer::kMaxConnections; });
}

}  // namespace kvorum::server
