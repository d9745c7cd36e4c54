#include "server/process/process/serving.h"

#include <chrono>
#include <fstream>
#include <utility>

#include "base/background/aside.h"
#include "base/log/logging.h"
#include "rpc/call/service.h"
#include "server/call/access.h"
#include "server/call/method_registrar.h"
#include "server/call/reads.h"
#include "server/metrics/pprof_http.h"
#include "server/peer/transport/peer_transport.h"
#include "server/process/machine/process_threads.h"
#include "server/process/process/archiving.h"
#include "server/process/process/authentication.h"
#include "server/process/process/client_server.h"
#include "server/process/process/metrics_server.h"
#include "server/process/process/process_queues.h"
#include "server/process/settings/feature_gates.h"
#include "server/process/settings/part_options.h"
#include "server/process/settings/secret_flags.h"
#include "server/replica/drive/replica.h"
#include "server/replica/member/local_member.h"
#include "server/services/maintenance/http_handlers.h"
#include "server/tracing/tracing.h"

namespace kvorum::server {
namespace {

// The arguments of this process, the program first, as its debugging pages show them.
std::vector<std::string> CommandLine() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return WithoutSecrets(std::move(arguments));
}

ServiceExecutors ExecutorsOf(ProcessThreads& threads, std::size_t loops) {
  ServiceExecutors executors{.timers = &threads.control,
                             .readers = &threads.readers,
                             .hasher = &threads.hasher,
                             .digester = &threads.digester};
  threads.StartPages(loops);
  for (const auto& executor : threads.pages) executors.pages.push_back(executor.get());
  return executors;
}

SpanCounts CountsOf(const tracing::Tracing* spans) {
  if (spans == nullptr) return {};
  const tracing::Exporter& exporter = spans->exporter;
  return {.exported = exporter.exported(),
          .dropped = exporter.dropped(),
          .waiting = exporter.waiting(),
          .waiting_bytes = exporter.waiting_bytes()};
}

}  // namespace

Serving::Serving(const Parts& parts)
    : from_(parts),
      watches_(parts.member.store(), parts.threads.watch, MakeHubOptions(parts.options)),
      executors_(ExecutorsOf(parts.threads, parts.clients.server().loop_count())),
      limits_(LimitsOf(parts.options)),
      parts_(
          {.member = parts.member,
           .transport = parts.transport,
           .patches = patches_,
           .batcher = parts.batcher,
           .access = parts.authentication.Open(parts.member, parts.batcher, parts.threads.readers,
                                               parts.clients.server().loop_count()),
           .executors = executors_,
           .limits = limits_,
           .answers = parts.clients.answers()}),
      leader_streams_(parts.threads.control, std::chrono::milliseconds(parts.options.election_ms),
                      [&replica = parts.member.replica()] { return replica.is_leaderless(); }),
      guard_{.proposer = parts_.proposer,
             .access = parts_.reads.access,
             .quarantine = parts.quarantine,
             .leader_streams = leader_streams_,
             .client_versions = client_versions_,
             .tells_status_alone = tells_status_alone_},
      services_({.proposer = parts_.proposer,
                 .reads = parts_.reads,
                 .member = parts.member,
                 .quarantine = parts.quarantine,
                 .watches = watches_,
                 .leader_streams = leader_streams_,
                 .poster = parts.transport,
                 .promotions = &parts.promotions}),
      health_(parts_.reads, parts.quarantine, leader_streams_),
      gateway_({.reads = &parts_.reads,
                .router = [&clients = parts.clients]() -> const rpc::Router& {
                  return clients.server().router();
                },
                .max_message_bytes = MaxMessageBytes(parts.options),
                .certificates_name_users = parts.options.client_cert_auth}),
      http_access_(MakeHttpAccess(parts.options)),
      arguments_(CommandLine()),
      metrics_http_(metrics_, parts.threads.metrics) {
  rpc::Server& clients = parts.clients.server();
  for (std::size_t i = 0; i < clients.loop_count(); ++i) {
    rpc::Loop& loop = clients.loop(i);
    loop.AddBatchHook([&batcher = parts.batcher, &loop] { batcher.Flush(loop); });
    watches_.NewShard(loop);
  }
  parts.member.store().SetPublishListener(&watches_);
}

Serving::~Serving() = default;

void Serving::Route(tracing::Tracing* spans, MetricsServer& metrics_server,
                    const Watched& watched) {
  const Options& options = from_.options;
  rpc::Router router;
  MethodRegistrar methods(router, guard_);
  services_.Register(methods);
  if (const auto gates = ParseFeatureGates(options.feature_gates);
      gates.has_value() && gates->stop_grpc_service_on_defrag) {
    services_.maintenance.OnDefragment([&clients = from_.clients](bool begins) {
      clients.TellServing(!begins, "defrag is active");
    });
  }
  from_.authentication.Register(methods, parts_.proposer, parts_.reads, from_.threads.passwords);
  rpc::HttpMux routes = ClientRoutes(parts_.cluster.membership, health_);
  metrics_http_.AddRoutes(routes);
  AddDebugVars(routes, parts_.cluster, arguments_);
  if (options.enable_grpc_gateway) gateway_.AddRoutes(routes);
  if (options.enable_pprof || options.log_level == "debug") {
    if (options.enable_pprof) KV_INFO("pprof is enabled", {"path", "/debug/pprof"});
    pprof_ = std::make_unique<PprofHttp>(arguments_);
    pprof_->AddRoutes(routes);
  }
  from_.clients.Use(std::move(router),
                    http_access_.Guard(rpc::HttpMux::ToHandler(std::move(routes))),
                    from_.member.status().stages(), spans == nullptr ? nullptr : &spans->tracer);
  RouteMetrics(metrics_server, watched);
  KV_DEBUG("background threads give way", {"by", Name(WayOfIdleThreads())});
}

void Serving::RouteMetrics(MetricsServer& metrics_server, const Watched& watched) {
  metric_sources_ = {.reads = &parts_.reads,
                     .member = &from_.member,
                     .watches = &watches_,
                     .quarantine = &from_.quarantine,
                     .methods = from_.clients.methods(),
                     .calls = &from_.clients.counters(),
                     .slow_writes = &from_.clients.slow_writes(),
                     .versions = &client_versions_,
                     .health = &health_,
                     .peers = &from_.transport,
                     .integrity = &watched.integrity,
                     .client_port = [&clients = from_.clients] { return clients.server().stats(); },
                     .client_tls = from_.clients.tls().get(),
                     .database_readers = &watched.database_readers,
                     .archive = nullptr,
                     .archive_lag_ms = {},
                     .spans = [spans = watched.spans] { return CountsOf(spans); },
                     .features = {},
                     .times_calls = from_.options.metrics == "extensive"};
  if (Archiving* const archiving = watched.archiving; archiving != nullptr) {
    metric_sources_.archive = &archiving->status();
    metric_sources_.archive_lag_ms = [archiving] { return archiving->LagMillis(); };
  }
  if (const auto gates = ParseFeatureGates(from_.options.feature_gates); gates.has_value()) {
    for (const auto& [name, stage, is_on] : gates->all)
      metric_sources_.features.push_back({.name = name, .stage = stage, .is_on = is_on});
  }
  AddAllMetrics(metrics_, metric_sources_);
  AddProcessQueues(metrics_, services_.lock.waiting(), services_.election.waiting(),
                   metrics_server);
  rpc::HttpMux routes;
  health_.AddRoutes(routes);
  metrics_http_.AddRoutes(routes);
  metrics_server.Use(rpc::HttpMux::ToHandler(std::move(routes)));
}

}  // namespace kvorum::server
