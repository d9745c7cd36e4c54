#include "server/process/process/process.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/log/logging.h"
#include "datadir/data_directory.h"
#include "datadir/foreign_files.h"
#include "server/call/cluster_facts.h"
#include "server/call/quarantine.h"
#include "server/call/request_batcher.h"
#include "server/peer/transport/peer_request.h"
#include "server/peer/transport/peer_transport.h"
#include "server/process/bootstrap/adopt_at_start.h"
#include "server/process/certificates/member_tls.h"
#include "server/process/machine/notify.h"
#include "server/process/machine/process_threads.h"
#include "server/process/machine/supervision.h"
#include "server/process/process/archiving.h"
#include "server/process/process/authentication.h"
#include "server/process/process/client_server.h"
#include "server/process/process/member_upkeep.h"
#include "server/process/process/metrics_server.h"
#include "server/process/process/publication.h"
#include "server/process/process/removal.h"
#include "server/process/process/serving.h"
#include "server/process/settings/part_options.h"
#include "server/replica/drive/replica.h"
#include "server/replica/member/local_member.h"
#include "server/services/cluster/peer_http.h"
#include "server/services/cluster/promote_forwarder.h"
#include "server/tracing/tracing.h"

namespace kvorum::server {
namespace {

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

}  // namespace

// In this order: what stands further down uses what stands above, and is destroyed before it.
// `serving` is made once the member is open, and stays until the ports and the member have let go
// of its calls. `authentication` refers to parts of it, and touches none of them when it goes.
struct Process::Impl {
  Impl(const Options& o, const std::optional<PeerTls>& peer_tls)
      : options(o),
        transport(MakeTransportOptions(o, peer_tls)),
        requester(peer_tls.has_value() ? &*peer_tls : nullptr, o.peer_near_address) {}

  Result<void> Bind();
  Result<void> Open();
  Result<void> OpenMember();
  void Serve();
  void LookForLostData();
  void Supervise();

  const Options options;
  std::unique_ptr<tracing::Tracing> spans;  // null unless it was asked for; outlives every call
  std::atomic<unsigned> database_readers{0};
  std::unique_ptr<Authentication> authentication;
  std::unique_ptr<Serving> serving;
  ClientServer client_server{options};
  MetricsServer metrics_server;
  PeerTransport transport;
  std::vector<std::string> peer_addresses;
  HttpPeerRequester requester;
  datadir::DataDirectory directory;
  std::unique_ptr<Quarantine> quarantine;
  std::unique_ptr<Archiving> archiving;  // null unless it was asked for
  std::unique_ptr<LocalMember> local_member;
  std::unique_ptr<RequestBatcher> batcher;
  std::unique_ptr<PromoteForwarder> promotions;
  std::unique_ptr<MemberUpkeep> upkeep;
  std::unique_ptr<Publication> publication;
  bool is_served = false;  // for the control executor
  Removal removal{threads.control};
  std::optional<Supervision> supervision;
  ProcessThreads threads;
};

Result<void> Process::Impl::Bind() {
  KV_TRY(authentication, Authentication::Make(options, threads.control));
  if (options.distributed_tracing) {
    spans = std::make_unique<tracing::Tracing>(TracingOptionsOf(options));
    KV_INFO("distributed tracing setup enabled");
  }
  KV_RETURN_IF_ERROR(client_server.Bind());
  KV_RETURN_IF_ERROR(metrics_server.Bind(options, client_server.tls(), client_server.answers()));
  KV_TRY(const std::vector<Url> peer_urls, ParseUrls(options.listen_peer_urls));
  for (const Url& url : peer_urls) {
    KV_TRY(std::string address, transport.Bind(url));
    peer_addresses.push_back(std::move(address));
  }
  return {};
}

Result<void> Process::Impl::Open() {
  FileSystem& fs = PosixFileSystem();
  KV_RETURN_IF_ERROR(datadir::EnforcePrivate(options.data_dir));
  if (!options.wal_dir.empty()) KV_RETURN_IF_ERROR(datadir::EnforcePrivate(options.wal_dir));
  if (options.adopt_etcd_data)
    KV_RETURN_IF_ERROR(AdoptAtStart(fs, options.data_dir, options.wal_dir));
  KV_TRY(directory, datadir::OpenDataDirectory(fs, options.data_dir, options.wal_dir));
  datadir::WarnOfForeignFiles(fs, datadir::Layout(options.data_dir, options.wal_dir));
  KV_TRY(const std::vector<std::string> log_files, fs.List(directory.wal));
  const bool was_member = std::ranges::any_of(
      log_files, [](const std::string& name) { return name.ends_with(".wal"); });
  KV_RETURN_IF_ERROR(OpenMember());
  batcher = std::make_unique<RequestBatcher>(local_member->replica(),
                                             client_server.server().loop_count());
  promotions = std::make_unique<PromoteForwarder>(
      threads.members, requester, local_member->replica(), local_member->membership());
  serving = std::make_unique<Serving>(Serving::Parts{.options = options,
                                                     .threads = threads,
                                                     .clients = client_server,
                                                     .transport = transport,
                                                     .member = *local_member,
                                                     .batcher = *batcher,
                                                     .quarantine = *quarantine,
                                                     .authentication = *authentication,
                                                     .promotions = *promotions});
  upkeep = std::make_unique<MemberUpkeep>(MemberUpkeep::Parts{.options = options,
                                                              .threads = threads,
                                                              .requester = requester,
                                                              .clients = client_server,
                                                              .member = *local_member,
                                                              .quarantine = *quarantine,
                                                              .serving = *serving});
  serving->services().maintenance.Use(upkeep->reseeder());
  serving->Route(spans.get(), metrics_server,
                 {.integrity = upkeep->integrity(),
                  .database_readers = database_readers,
                  .archiving = archiving.get(),
                  .spans = spans.get()});
  publication = std::make_unique<Publication>(options, serving->parts().proposer, threads.control,
                                              [this] { Serve(); });
  return upkeep->CheckAtStart(was_member);
}

Result<void> Process::Impl::OpenMember() {
  FileSystem& fs = PosixFileSystem();
  const std::string quarantine_file = directory.root + "/member/quarantined";
  quarantine = std::make_unique<Quarantine>(fs, quarantine_file);
  LocalMemberOptions member = MakeLocalMemberOptions(options, directory);
  member.database_note = quarantine_file;
  member.wal.background = &threads.wal_spares;
  member.peers = &requester;
  member.simple_tokens = authentication->simple_tokens();
  member.apply.answers = &client_server.answers();
  member.on_removed = [this] { removal.Begin(); };
  member.watch_lag = [this] { return serving->watches().LargestLag().awaited; };
  // Checks at the start need the records to be read.
  member.store.index_file.load = !MakeIntegrityOptions(options).checks_at_start;
  member.store.index_file.may_save = [this] {
    return !quarantine->is_damaged() && !quarantine->stands();
  };
  NoteDepartures(fs, directory, member);
  archiving = Archiving::Make(options);
  if (archiving != nullptr) archiving->AddTo(member);
  const auto open_backend = [quota_bytes = member.quota_bytes,
                             readers = &database_readers](const std::string& path) {
    return mvcc::OpenLmdbBackend({.path = path, .quota_bytes = quota_bytes, .readers = readers});
  };
  KV_TRY(local_member, LocalMember::Open(fs, open_backend,
                                         {.raft = *threads.raft,
                                          .wal = threads.wal,
                                          .apply = *threads.apply,
                                          .backend = threads.backend,
                                          .copier = threads.copier},
                                         std::move(member), ExitOnFatal));
  if (archiving != nullptr) KV_RETURN_IF_ERROR(archiving->Open(fs, *local_member, directory));
  // Behind the recovery, which may have ended it.
  return quarantine->Load();
}

// Such a member is not published before a leader has filled it, and there may be none: its operator
// learns why from its status, which needs the client port.
void Process::Impl::LookForLostData() {
  if (is_served) return;
  if (local_member->replica().status().lost_data() == 0) {
    threads.control.PostAt(threads.control.clock().Now() + kLostDataPoll,
                           [this] { LookForLostData(); });
    return;
  }
  KV_WARN(
      "serving no calls but those of Maintenance: this member lacks data that it had acknowledged");
  serving->SetTellsStatusAlone(true);
  client_server.Accept();
}

void Process::Impl::Serve() {
  is_served = true;
  serving->SetTellsStatusAlone(false);
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
      [&impl] { return impl.local_member->replica().leader() == impl.local_member->member_id(); },
      std::move(on_end));
  impl.local_member->Start(impl.transport);
  ServiceParts& parts = impl.serving->parts();
  Services& services = impl.serving->services();
  impl.transport.Start({.member_id = parts.cluster.member_id,
                        .cluster_id = parts.cluster.cluster_id,
                        .peer_urls = impl.options.initial_advertise_peer_urls,
                        .incarnations = &impl.local_member->incarnations(),
                        .callers_show_certificates = DoPeersShowCertificates(impl.options)},
                       *impl.local_member,
                       {.http = MakePeerHttpHandler({.proposer = parts.proposer,
                                                     .reads = parts.reads,
                                                     .quarantine = *impl.quarantine,
                                                     .cluster = services.cluster,
                                                     .leases = services.lease.access(),
                                                     .turns = impl.upkeep->defragment_turns()}),
                        .on_removed = [&impl] { impl.removal.Begin(); }});
  impl.metrics_server.Serve();
  impl.serving->Start();
  impl.upkeep->Start();
  impl.publication->Start();
  impl.threads.control.PostAt(impl.threads.control.clock().Now() + kLostDataPoll,
                              [&impl] { impl.LookForLostData(); });
  impl.authentication->Start();
  if (impl.archiving != nullptr) impl.archiving->Start();
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
  if (impl.archiving != nullptr) impl.archiving->Stop();
  std::promise<void> stopped;
  impl.local_member->Stop([&] { stopped.set_value(); });
  stopped.get_future().wait();
  impl.transport.Stop();
  impl.threads.StopMember();
  if (impl.spans != nullptr) impl.spans->exporter.Stop(kLastSpansLimit);
  KV_INFO("stopped");
}

}  // namespace kvorum::server
