#include "server/process/process.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <future>
#include <optional>
#include <utility>

#include "base/file_system.h"
#include "base/logging.h"
#include "server/call/leader_streams.h"
#include "server/call/request_batcher.h"
#include "server/messages/member_id.h"
#include "server/peer/peer_request.h"
#include "server/peer/peer_transport.h"
#include "server/process/authentication.h"
#include "server/process/client_front.h"
#include "server/process/data_directory.h"
#include "server/process/freed_memory.h"
#include "server/process/machine_memory.h"
#include "server/process/member_tls.h"
#include "server/process/notify.h"
#include "server/process/part_options.h"
#include "server/process/process_threads.h"
#include "server/process/publication.h"
#include "server/process/removal.h"
#include "server/process/services.h"
#include "server/process/version_monitor.h"
#include "server/replica/instance.h"
#include "server/replica/replica.h"
#include "server/services/http_handlers.h"
#include "server/services/peer_http.h"
#include "server/services/promote_forwarder.h"
#include "server/services/unimplemented.h"
#include "watch/hub.h"

namespace kvorum::server {
namespace {

// The time that a stopping leader waits for its successor.
constexpr Duration kHandOverLimit = std::chrono::milliseconds(500);

[[noreturn]] void ExitOnFatal(const Error& error) {
  KV_LOG(LogLevel::kFatal, "the replica cannot go on", {"error", error.message});
  FlushLog();
  std::_Exit(1);
}

}  // namespace

// In this order: what stands further down uses what stands above, and is destroyed before it.
struct Process::Impl {
  Impl(const Options& o, const std::optional<PeerTls>& peer_tls)
      : options(o),
        transport(MakeTransportOptions(o, peer_tls)),
        requester(peer_tls.has_value() ? &*peer_tls : nullptr) {}

  Result<void> Bind();
  Result<void> Open();
  void FillContext();
  void WatchMemory();
  void Serve();

  const Options options;
  Services services;
  ServiceContext& context = services.context;
  std::unique_ptr<watch::Hub> watches;
  std::unique_ptr<LeaderStreams> leader_streams;
  std::unique_ptr<Authentication> authentication;
  ClientFront front{options};

  PeerTransport transport;
  std::vector<std::string> peer_addresses;
  HttpPeerRequester requester;
  DataDirectory directory;
  std::unique_ptr<Instance> instance;
  std::unique_ptr<PromoteForwarder> promote_forwarder;
  std::unique_ptr<VersionMonitor> version_monitor;
  Publication publication{options, context, threads.control, [this] { Serve(); }};
  Removal removal{threads.control};
  std::unique_ptr<RequestBatcher> batcher;
  std::optional<FreedMemory> freed_memory;
  ProcessThreads threads;
};

Result<void> Process::Impl::Bind() {
  KV_TRY(authentication,
         Authentication::Make(options, context, threads.passwords, threads.control));
  rpc::Router router;
  services.Register(router);
  authentication->Register(router);
  RegisterUnimplemented(router, context);
  KV_RETURN_IF_ERROR(front.Bind(std::move(router), MakeHttpHandler(context)));
  KV_TRY(const std::vector<Url> peer_urls, ParseUrls(options.listen_peer_urls));
  for (const Url& url : peer_urls) {
    KV_TRY(std::string address, transport.Bind(url));
    peer_addresses.push_back(std::move(address));
  }
  return {};
}

Result<void> Process::Impl::Open() {
  FileSystem& fs = PosixFileSystem();
  KV_RETURN_IF_ERROR(EnforcePrivate(options.data_dir));
  if (!options.wal_dir.empty()) KV_RETURN_IF_ERROR(EnforcePrivate(options.wal_dir));
  KV_TRY(directory, OpenDataDirectory(fs, options.data_dir, options.wal_dir));
  InstanceOptions instance_options = MakeInstanceOptions(options, directory);
  instance_options.wal.background = &threads.wal_spares;
  instance_options.peers = &requester;
  instance_options.simple_tokens = authentication->simple_tokens();
  instance_options.apply.answers = &front.answers();
  instance_options.on_removed = [this] { removal.Begin(); };
  const auto open_backend = [quota_bytes = instance_options.quota_bytes](const std::string& path) {
    return mvcc::OpenLmdbBackend({.path = path, .quota_bytes = quota_bytes});
  };
  KV_TRY(instance, Instance::Open(fs, open_backend,
                                  {.raft = threads.raft,
                                   .wal = threads.wal,
                                   .apply = threads.apply,
                                   .backend = threads.backend,
                                   .copier = threads.copier},
                                  std::move(instance_options), ExitOnFatal));
  FillContext();
  WatchMemory();
  return {};
}

void Process::Impl::FillContext() {
  rpc::Server& clients = front.server();
  batcher = std::make_unique<RequestBatcher>(instance->replica(), clients.loop_count());
  watches = std::make_unique<watch::Hub>(instance->store(), threads.watch, MakeHubOptions(options));
  for (std::size_t i = 0; i < clients.loop_count(); ++i) {
    rpc::Loop& loop = clients.loop(i);
    loop.AddBatchHook([this, &loop] { batcher->Flush(loop); });
    watches->NewShard(loop);
  }
  instance->store().SetPublishListener(watches.get());
  context.Use(*instance);
  authentication->Open(*instance, *batcher, clients.loop_count());
  const Duration election = std::chrono::milliseconds(options.election_ms);
  promote_forwarder = std::make_unique<PromoteForwarder>(
      threads.members, requester, instance->replica(), instance->membership());
  version_monitor = std::make_unique<VersionMonitor>(threads.members, requester, context,
                                                     kPeerDialTimeout + election);
  leader_streams = std::make_unique<LeaderStreams>(
      threads.control, election, [this] { return context.replica->is_leaderless(); });
  context.batcher = batcher.get();
  context.watches = watches.get();
  context.transport = &transport;
  context.poster = &transport;
  context.promote_forwarder = promote_forwarder.get();
  context.leader_streams = leader_streams.get();
  context.timers = &threads.control;
  context.readers = &threads.readers;
  context.hasher = &threads.hasher;
  context.answers = &front.answers();
  context.limits = LimitsOf(options);
}

void Process::Impl::WatchMemory() {
  freed_memory.emplace(
      threads.members,
      FreedMemory::Parts{.take_peak_bytes = [this] { return front.answers().TakePeakBytes(); },
                         .used_bytes = [this] { return front.answers().used_bytes(); },
                         .closed_connections =
                             [this] {
                               const rpc::Stats stats = front.server().stats();
                               return stats.accepted_connections - stats.open_connections;
                             },
                         .resident_bytes = ResidentAnonymousBytes,
                         .trim = TrimHeaps});
}

void Process::Impl::Serve() {
  front.Serve();
  NotifySupervisor("READY=1");
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
  impl.removal.Watch(
      [&impl] { return impl.instance->replica().leader() == impl.context.member_id; },
      std::move(on_end));
  impl.instance->Start(impl.transport);
  impl.transport.Start({.member_id = impl.context.member_id,
                        .cluster_id = impl.context.cluster_id,
                        .peer_urls = impl.options.initial_advertise_peer_urls},
                       *impl.instance,
                       {.http = MakePeerHttpHandler(impl.context, impl.services.cluster,
                                                    impl.services.lease.access()),
                        .on_removed = [&impl] { impl.removal.Begin(); }});
  impl.version_monitor->Start();
  impl.leader_streams->Start();
  impl.freed_memory->Start();
  impl.publication.Start();
  impl.authentication->Start();
}

void Process::Stop() {
  KV_INFO("stopping");
  NotifySupervisor("STOPPING=1");
  Impl& impl = *impl_;
  impl.threads.control.Stop();  // from here on this thread owns the servers
  impl.requester.Stop();
  impl.threads.members.Stop();
  std::promise<void> handed_over;
  impl.instance->replica().GiveUpLeadership(kHandOverLimit, [&] { handed_over.set_value(); });
  handed_over.get_future().wait();
  impl.front.Shutdown();
  std::promise<void> stopped;
  impl.instance->Stop([&] { stopped.set_value(); });
  stopped.get_future().wait();
  impl.transport.Stop();
  impl.threads.StopMember();
  KV_INFO("stopped");
}

}  // namespace kvorum::server
