#include "server/process/process/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/member.h"
#include "api/member_id.h"
#include "base/file_system.h"
#include "base/log/logging.h"
#include "datadir/data_directory.h"
#include "datadir/foreign_files.h"
#include "server/call/client_versions.h"
#include "server/call/leader_streams.h"
#include "server/call/quarantine.h"
#include "server/call/request_batcher.h"
#include "server/gateway/gateway.h"
#include "server/integrity/integrity.h"
#include "server/metrics/metrics_http.h"
#include "server/metrics/pprof_http.h"
#include "server/metrics/sources.h"
#include "server/peer/transport/peer_request.h"
#include "server/peer/transport/peer_transport.h"
#include "server/process/bootstrap/adopt_at_start.h"
#include "server/process/certificates/member_tls.h"
#include "server/process/machine/freed_memory.h"
#include "server/process/machine/machine_memory.h"
#include "server/process/machine/notify.h"
#include "server/process/machine/process_threads.h"
#include "server/process/machine/supervision.h"
#include "server/process/process/authentication.h"
#include "server/process/process/client_server.h"
#include "server/process/process/metrics_server.h"
#include "server/process/process/process_queues.h"
#include "server/process/process/publication.h"
#include "server/process/process/removal.h"
#include "server/process/process/services.h"
#include "server/process/process/version_monitor.h"
#include "server/process/settings/feature_gates.h"
#include "server/process/settings/part_options.h"
#include "server/process/settings/secret_flags.h"
#include "server/replica/drive/replica.h"
#include "server/replica/member/local_member.h"
#include "server/replica/upkeep/auto_defragment.h"
#include "server/replica/upkeep/defragment_turns.h"
#include "server/services/cluster/peer_http.h"
#include "server/services/cluster/promote_forwarder.h"
#include "server/services/maintenance/defragment_turn_http.h"
#include "server/services/maintenance/health.h"
#include "server/services/maintenance/http_access.h"
#include "server/services/maintenance/http_handlers.h"
#include "server/services/maintenance/reseed.h"
#include "server/tracing/tracing.h"
#include "watch/hub.h"

namespace kvorum::server {
namespace {

constexpr int kHasherNice = 10;

// The time that a stopping leader waits for its successor.
constexpr Duration kTransferLimit = std::chrono::milliseconds(500);
// The time that a stopping process waits for the collector to take its last spans.
constexpr Duration kLastSpansLimit = std::chrono::seconds(10);
constexpr Duration kLostDataPoll = std::chrono::milliseconds(500);

[[noreturn]] void ExitOnFatal(const Error& error) {
  KV_LOG(LogLevel::kFatal, "the replica cannot go on", {"error", error.message});
  FlushLog();
  std::_Exit(1);
}

// The arguments of this process, the program first, as its debugging pages show them.
std::vector<std::string> CommandLine() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return WithoutSecrets(std::move(arguments));
}

}  // namespace

// In this order: what stands further down uses what stands above, and is destroyed before it.
struct Process::Impl {
  Impl(const Options& o, const std::optional<PeerTls>& peer_tls)
      : options(o),
        transport(MakeTransportOptions(o, peer_tls)),
        requester(peer_tls.has_value() ? &*peer_tls : nullptr, o.peer_near_address) {}

  Result<void> Bind();
  Result<void> BindMetrics();
  Result<void> Open();
  Result<void> CheckOlderMembers();
  void FillContext();
  void WatchMemory();
  void WatchFreePages();
  void Serve();
  void LookForLostData();
  void Supervise();

  const Options options;
  std::unique_ptr<tracing::Tracing> spans;  // null unless it was asked for; outlives every call
  std::unique_ptr<watch::Hub> watches;      // the calls that end with the services have watches
  Services services;
  ServiceContext& context = services.context;
  std::unique_ptr<LeaderStreams> leader_streams;
  std::unique_ptr<Authentication> authentication;
  Health health{context};
  ClientVersions client_versions;
  std::atomic<unsigned> database_readers{0};
  std::atomic<bool> tells_status_alone{false};
  bool is_served = false;  // for the control executor
  MetricSources metric_sources;
  MetricsRegistry metrics;
  MetricsHttp metrics_http{metrics, threads.metrics};
  const std::vector<std::string> arguments = CommandLine();
  const gateway::Gateway gateway{
      {.context = &context,
       .router = [this]() -> const rpc::Router& { return client_server.server().router(); },
       .max_message_bytes = MaxMessageBytes(options),
       .certificates_name_users = options.client_cert_auth}};
  std::unique_ptr<PprofHttp> pprof;  // null unless it was asked for
  const HttpAccess http_access = MakeHttpAccess(options);
  ClientServer client_server{options};
  MetricsServer metrics_server;

  PeerTransport transport;
  std::vector<std::string> peer_addresses;
  HttpPeerRequester requester;
  datadir::DataDirectory directory;
  std::unique_ptr<LocalMember> local_member;
  std::unique_ptr<PromoteForwarder> promote_forwarder;
  std::unique_ptr<VersionMonitor> version_monitor;
  DefragmentTurns defragment_turns;
  std::unique_ptr<AutoDefragment> auto_defragment;
  std::unique_ptr<Reseeder> reseeder;
  std::unique_ptr<Quarantine> quarantine;
  std::unique_ptr<Integrity> integrity;
  Publication publication{options, context, threads.control, [this] { Serve(); }};
  Removal removal{threads.control};
  std::unique_ptr<RequestBatcher> batcher;
  std::optional<FreedMemory> freed_memory;
  std::optional<Supervision> supervision;
  ProcessThreads threads;
};

Result<void> Process::Impl::Bind() {
  KV_TRY(authentication,
         Authentication::Make(options, context, threads.passwords, threads.control));
  rpc::Router router;
  services.Register(router);
  if (const auto gates = ParseFeatureGates(options.feature_gates);
      gates.has_value() && gates->stop_grpc_service_on_defrag) {
    services.maintenance.OnDefragment(
        [this](bool begins) { client_server.TellServing(!begins, "defrag is active"); });
  }
  authentication->Register(router);
  rpc::HttpMux routes = ClientRoutes(context, health);
  metrics_http.AddRoutes(routes);
  AddDebugVars(routes, context, arguments);
  if (options.enable_grpc_gateway) gateway.AddRoutes(routes);
  if (options.enable_pprof || options.log_level == "debug") {
    if (options.enable_pprof) KV_INFO("pprof is enabled", {"path", "/debug/pprof"});
    pprof = std::make_unique<PprofHttp>(arguments);
    pprof->AddRoutes(routes);
  }
  if (options.distributed_tracing) {
    spans = std::make_unique<tracing::Tracing>(TracingOptionsOf(options));
    KV_INFO("distributed tracing setup enabled");
  }
  KV_RETURN_IF_ERROR(client_server.Bind(
      std::move(router), http_access.Guard(rpc::HttpMux::ToHandler(std::move(routes))),
      spans == nullptr ? nullptr : &spans->tracer));
  KV_RETURN_IF_ERROR(BindMetrics());
  KV_TRY(const std::vector<Url> peer_urls, ParseUrls(options.listen_peer_urls));
  for (const Url& url : peer_urls) {
    KV_TRY(std::string address, transport.Bind(url));
    peer_addresses.push_back(std::move(address));
  }
  return {};
}

Result<void> Process::Impl::BindMetrics() {
  metric_sources = {.context = &context,
                    .methods = client_server.methods(),
                    .calls = &client_server.counters(),
                    .versions = &client_versions,
                    .health = &health,
                    .peers = &transport,
                    .integrity = [this]() -> const Integrity& { return *integrity; },
                    .client_port = [this] { return client_server.server().stats(); },
                    .database_readers = &database_readers,
                    .spans =
                        [this] {
                          if (spans == nullptr) return SpanCounts();
                          const tracing::Exporter& exporter = spans->exporter;
                          return SpanCounts{.exported = exporter.exported(),
                                            .dropped = exporter.dropped(),
                                            .waiting = exporter.waiting()};
                        },
                    .features = {},
                    .times_calls = options.metrics == "extensive"};
  if (const auto gates = ParseFeatureGates(options.feature_gates); gates.has_value()) {
    for (const auto& [name, stage, is_on] : gates->all)
      metric_sources.features.push_back({.name = name, .stage = stage, .is_on = is_on});
  }
  AddAllMetrics(metrics, metric_sources);
  AddProcessQueues(metrics, services, metrics_server);
  rpc::HttpMux routes;
  health.AddRoutes(routes);
  metrics_http.AddRoutes(routes);
  return metrics_server.Bind(options, client_server.tls(),
                             rpc::HttpMux::ToHandler(std::move(routes)));
}

Result<void> Process::Impl::Open() {
  FileSystem& fs = PosixFileSystem();
  KV_RETURN_IF_ERROR(datadir::EnforcePrivate(options.data_dir));
  if (!options.wal_dir.empty()) KV_RETURN_IF_ERROR(datadir::EnforcePrivate(options.wal_dir));
  if (options.adopt_etcd_data)
    KV_RETURN_IF_ERROR(AdoptAtStart(fs, options.data_dir, options.wal_dir));
  KV_TRY(directory, datadir::OpenDataDirectory(fs, options.data_dir, options.wal_dir));
  datadir::WarnOfForeignFiles(fs, datadir::Layout(options.data_dir, options.wal_dir));
  const std::string quarantine_file = directory.root + "/member/quarantined";
  quarantine = std::make_unique<Quarantine>(fs, quarantine_file);
  context.quarantine = quarantine.get();
  KV_TRY(const std::vector<std::string> log_files, fs.List(directory.wal));
  const bool was_member = std::ranges::any_of(
      log_files, [](const std::string& name) { return name.ends_with(".wal"); });
  LocalMemberOptions instance_options = MakeLocalMemberOptions(options, directory);
  instance_options.database_note = quarantine_file;
  instance_options.wal.background = &threads.wal_spares;
  instance_options.peers = &requester;
  instance_options.simple_tokens = authentication->simple_tokens();
  instance_options.apply.answers = &client_server.answers();
  instance_options.on_removed = [this] { removal.Begin(); };
  instance_options.watch_lag = [this] { return watches->LargestLag().awaited; };
  // Checks at the start need the records to be read.
  instance_options.store.index_file.load = !MakeIntegrityOptions(options).checks_at_start;
  instance_options.store.index_file.may_save = [this] {
    return !quarantine->is_damaged() && !quarantine->stands();
  };
  const auto open_backend = [quota_bytes = instance_options.quota_bytes,
                             readers = &database_readers](const std::string& path) {
    return mvcc::OpenLmdbBackend({.path = path, .quota_bytes = quota_bytes, .readers = readers});
  };
  KV_TRY(local_member, LocalMember::Open(fs, open_backend,
                                         {.raft = *threads.raft,
                                          .wal = threads.wal,
                                          .apply = *threads.apply,
                                          .backend = threads.backend,
                                          .copier = threads.copier},
                                         std::move(instance_options), ExitOnFatal));
  // Behind the recovery, which may have ended it.
  KV_RETURN_IF_ERROR(quarantine->Load());
  FillContext();
  WatchMemory();
  WatchFreePages();
  KV_RETURN_IF_ERROR(CheckOlderMembers());
  return was_member ? integrity->CheckAtStart() : Result<void>();
}

// A member that has not published its client URLs yet still joins, also after a restart.
Result<void> Process::Impl::CheckOlderMembers() {
  const auto view = context.membership->View();
  const auto self = view->members.find(context.member_id);
  const bool is_known = self != view->members.end();
  const bool joins = options.initial_cluster_state == "existing" &&
                     (!is_known || self->second.client_urls.empty());
  std::vector<Member> others;
  if (is_known) {
    for (const auto& [id, member] : view->members)
      if (id != context.member_id) others.push_back(member);
  } else if (joins) {
    KV_TRY(others,
           ParseInitialCluster(options.EffectiveInitialCluster(), options.initial_cluster_token));
    std::erase_if(others, [this](const Member& member) { return member.name == options.name; });
  }
  KV_TRY(std::optional<std::string> refusal, integrity->CheckOlderMembers(others, joins));
  if (refusal.has_value()) local_member->RefuseAuthWhileJoining(*std::move(refusal));
  return {};
}

void Process::Impl::FillContext() {
  rpc::Server& clients = client_server.server();
  batcher = std::make_unique<RequestBatcher>(local_member->replica(), clients.loop_count());
  watches =
      std::make_unique<watch::Hub>(local_member->store(), threads.watch, MakeHubOptions(options));
  for (std::size_t i = 0; i < clients.loop_count(); ++i) {
    rpc::Loop& loop = clients.loop(i);
    loop.AddBatchHook([this, &loop] { batcher->Flush(loop); });
    watches->NewShard(loop);
  }
  local_member->store().SetPublishListener(watches.get());
  context.Use(*local_member);
  const Duration election = std::chrono::milliseconds(options.election_ms);
  promote_forwarder = std::make_unique<PromoteForwarder>(
      threads.members, requester, local_member->replica(), local_member->membership());
  version_monitor = std::make_unique<VersionMonitor>(threads.members, requester, context,
                                                     kPeerDialTimeout + election);
  reseeder = std::make_unique<Reseeder>(threads.members, requester, context);
  services.maintenance.Use(*reseeder);
  integrity = std::make_unique<Integrity>(threads.integrity, context, requester, *quarantine,
                                          MakeIntegrityOptions(options));
  leader_streams = std::make_unique<LeaderStreams>(
      threads.control, election, [this] { return context.replica->is_leaderless(); });
  context.batcher = batcher.get();
  context.watches = watches.get();
  context.transport = &transport;
  context.poster = &transport;
  context.promote_forwarder = promote_forwarder.get();
  context.leader_streams = leader_streams.get();
  context.tells_status_alone = &tells_status_alone;
  context.executors.timers = &threads.control;
  context.executors.readers = &threads.readers;
  context.executors.hasher = &threads.hasher;
  context.executors.digester = &threads.digester;
  authentication->Open(*local_member, *batcher, clients.loop_count());
  threads.StartPages(clients.loop_count());
  for (const auto& executor : threads.pages) context.executors.pages.push_back(executor.get());
  // They read everything: requests come first where processors are short.
  for (ThreadExecutor* executor : {&threads.hasher, &threads.digester})
    executor->Post([] { setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kHasherNice); });
  context.answers = &client_server.answers();
  context.client_versions = &client_versions;
  context.limits = LimitsOf(options);
}

void Process::Impl::WatchMemory() {
  freed_memory.emplace(
      threads.members,
      FreedMemory::Parts{
          .take_peak_bytes = [this] { return client_server.answers().TakePeakBytes(); },
          .used_bytes = [this] { return client_server.answers().used_bytes(); },
          .closed_connections =
              [this] {
                const rpc::Stats stats = client_server.server().stats();
                return stats.accepted_connections - stats.open_connections;
              },
          .resident_bytes = ResidentAnonymousBytes,
          .trim = TrimHeaps});
}

void Process::Impl::WatchFreePages() {
  mvcc::Store& store = local_member->store();
  auto_defragment = std::make_unique<AutoDefragment>(
      threads.members, AutoDefragmentOptions(options),
      AutoDefragment::Hooks{.size_bytes = [&store] { return store.SizeBytes(); },
                            .in_use_bytes = [&store] { return store.SizeInUseBytes(); },
                            .ask =
                                [this](DefragmentTurns::Request request) {
                                  return AskForDefragmentTurn(requester, context, defragment_turns,
                                                              request);
                                },
                            .defragment =
                                [&store](std::move_only_function<void(Result<void>)> done) {
                                  store.Defragment(std::move(done));
                                }});
}

// Such a member is not published before a leader has filled it, and there may be none: its operator
// learns why from its status, which needs the client port.
void Process::Impl::LookForLostData() {
  if (is_served) return;
  if (context.replica->status().lost_data() == 0) {
    threads.control.PostAt(threads.control.clock().Now() + kLostDataPoll,
                           [this] { LookForLostData(); });
    return;
  }
  KV_WARN(
      "serving no calls but those of Maintenance: this member lacks data that it had acknowledged");
  tells_status_alone = true;
  client_server.Accept();
}

void Process::Impl::Serve() {
  is_served = true;
  tells_status_alone = false;
  client_server.Serve();
  NotifySupervisor("READY=1");
  Supervise();
}

void Process::Impl::Supervise() {
  if (std::getenv("NOTIFY_SOCKET") == nullptr) return;
  std::vector<Executor*> working = {threads.raft.get(), threads.apply.get()};
  rpc::Server& clients = client_server.server();
  for (std::size_t i = 0; i < clients.loop_count(); ++i) working.push_back(&clients.loop(i));
  supervision.emplace(
      threads.control,
      Supervision::Parts{
          .threads = std::move(working),
          .status = [this] { return StatusText(local_member->status()); },
          .notify = NotifySupervisor,
          .watchdog = WatchdogOf(std::getenv("WATCHDOG_USEC"), std::getenv("WATCHDOG_PID"))});
  supervision->Start();
}

Process::Process(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Process::~Process() = default;

Result<std::unique_ptr<Process>> Process::Create(const Options& options) {
  KV_TRY(const auto peer_tls, OpenPeerTls(PosixFileSystem(), options, std::time(nullptr)));
  auto impl = std::make_unique<Impl>(options, peer_tls);
  KV_RETURN_IF_ERROR(impl->Bind());
  KV_RETURN_IF_ERROR(impl->Open());
  KV_RETURN_IF_ERROR(impl->transport.Listen());
  for (const std::string& address : impl->peer_addresses)
    KV_INFO("listening for peers", {"address", address});
  return std::unique_ptr<Process>(new Process(std::move(impl)));
}

void Process::Start(std::function<void()> on_end) {
  Impl& impl = *impl_;
  NotifySupervisor("STATUS=joining the cluster");
  impl.removal.Watch(
      [&impl] { return impl.local_member->replica().leader() == impl.context.member_id; },
      std::move(on_end));
  impl.local_member->Start(impl.transport);
  impl.transport.Start(
      {.member_id = impl.context.member_id,
       .cluster_id = impl.context.cluster_id,
       .peer_urls = impl.options.initial_advertise_peer_urls,
       .incarnations = &impl.local_member->incarnations(),
       .callers_show_certificates = DoPeersShowCertificates(impl.options)},
      *impl.local_member,
      {.http = MakePeerHttpHandler(impl.context, impl.services.cluster,
                                   impl.services.lease.access(), impl.defragment_turns),
       .on_removed = [&impl] { impl.removal.Begin(); }});
  impl.metrics_server.Serve();
  impl.version_monitor->Start();
  impl.integrity->Start();
  impl.leader_streams->Start();
  impl.freed_memory->Start();
  impl.auto_defragment->Start();
  impl.publication.Start();
  impl.threads.control.PostAt(impl.threads.control.clock().Now() + kLostDataPoll,
                              [&impl] { impl.LookForLostData(); });
  impl.authentication->Start();
}

void Process::Stop() {
  KV_INFO("stopping");
  NotifySupervisor("STOPPING=1\nSTATUS=stopping");
  Impl& impl = *impl_;
  impl.threads.control.Stop();  // from here on this thread owns the servers
  impl.requester.Stop();
  impl.threads.members.Stop();
  impl.threads.integrity.Stop();
  std::promise<void> handed_over;
  impl.local_member->replica().GiveUpLeadership(kTransferLimit, [&] { handed_over.set_value(); });
  handed_over.get_future().wait();
  impl.client_server.Shutdown();
  impl.metrics_server.Shutdown();
  std::promise<void> stopped;
  impl.local_member->Stop([&] { stopped.set_value(); });
  stopped.get_future().wait();
  impl.transport.Stop();
  impl.threads.StopMember();
  if (impl.spans != nullptr) impl.spans->exporter.Stop(kLastSpansLimit);
  KV_INFO("stopped");
}

}  // namespace kvorum::server
