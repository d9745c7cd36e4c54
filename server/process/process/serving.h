// The side of a process that answers: the services over an open member with their parts, the HTTP
// routes, the JSON gateway, the metrics.
//
// Threading: made and routed before any call comes; the parts document their own. Ownership: the
// parts outlive its calls, and it outlives them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "server/call/client_versions.h"
#include "server/call/interceptors.h"
#include "server/call/leader_streams.h"
#include "server/call/member_patches.h"
#include "server/call/service_parts.h"
#include "server/gateway/gateway.h"
#include "server/metrics/metrics_http.h"
#include "server/metrics/sources.h"
#include "server/process/process/services.h"
#include "server/services/maintenance/health.h"
#include "server/services/maintenance/http_access.h"
#include "watch/hub.h"

namespace kvorum::server {

class Archiving;
class Authentication;
class ClientServer;
class MetricsServer;
class PeerTransport;
class PprofHttp;
struct Options;
struct ProcessThreads;

namespace tracing {
struct Tracing;
}  // namespace tracing

class Serving {
 public:
  struct Parts {
    const Options& options;
    ProcessThreads& threads;
    ClientServer& clients;  // bound
    PeerTransport& transport;
    LocalMember& member;
    RequestBatcher& batcher;
    Quarantine& quarantine;
    Authentication& authentication;
    PromoteForwarder& promotions;
  };
  explicit Serving(const Parts& parts);
  ~Serving();

  // The parts that only the metrics read.
  struct Watched {
    const Integrity& integrity;
    const std::atomic<unsigned>& database_readers;
    Archiving* archiving = nullptr;           // null without an archive
    const tracing::Tracing* spans = nullptr;  // null: calls are not traced
  };
  // Hands the routers to the servers.
  void Route(tracing::Tracing* spans, MetricsServer& metrics_server, const Watched& watched);
  // Cuts streams that want a leader when there is none.
  void Start() { leader_streams_.Start(); }
  void SetTellsStatusAlone(bool is_alone) { tells_status_alone_ = is_alone; }

  ServiceParts& parts() { return parts_; }
  Services& services() { return services_; }
  watch::Hub& watches() { return watches_; }
  MemberPatches& patches() { return patches_; }

 private:
  void RouteMetrics(MetricsServer& metrics_server, const Watched& watched);

  const Parts from_;
  watch::Hub watches_;  // the calls that end with the services have watches
  const ServiceExecutors executors_;
  const ServiceLimits limits_;
  MemberPatches patches_;
  ServiceParts parts_;
  LeaderStreams leader_streams_;
  ClientVersions client_versions_;
  std::atomic<bool> tells_status_alone_{false};
  const CallGuard guard_;
  Services services_;
  Health health_;
  const gateway::Gateway gateway_;
  const HttpAccess http_access_;
  const std::vector<std::string> arguments_;
  MetricSources metric_sources_;
  MetricsRegistry metrics_;
  MetricsHttp metrics_http_;
  std::unique_ptr<PprofHttp> pprof_;  // null unless it was asked for
};

}  // namespace kvorum::server
