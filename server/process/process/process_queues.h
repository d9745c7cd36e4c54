// The bounded queues that only the process knows, for the metrics: those of its services and ports.
#pragma once

namespace kvorum::server {

class MetricsRegistry;
class MetricsServer;
class WaitingCalls;

// The calls and the server outlive the registry.
void AddProcessQueues(MetricsRegistry& registry, const WaitingCalls& locks,
                      const WaitingCalls& elections, const MetricsServer& metrics_server);

}  // namespace kvorum::server
