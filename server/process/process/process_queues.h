// The bounded queues that only the process knows, for the metrics: those of its services and ports.
#pragma once

namespace kvorum::server {

class MetricsRegistry;
class MetricsServer;
struct Services;

// The services and the server outlive the registry.
void AddProcessQueues(MetricsRegistry& registry, const Services& services,
                      const MetricsServer& metrics_server);

}  // namespace kvorum::server
