#include "server/process/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "auth/jwt.h"
#include "auth/password_workers.h"
#include "auth/simple_tokens.h"
#include "auth/token_options.h"
#include "base/executor.h"
#include "base/failpoint.h"
#include "base/logging.h"
#include "base/rng.h"
#include "base/url.h"
#include "rpc/answer_memory.h"
#include "rpc/health.h"
#include "rpc/server.h"
#include "server/call/access.h"
#include "server/call/call_counters.h"
#include "server/call/leader_streams.h"
#include "server/call/service_context.h"
#include "server/locks/election_service.h"
#include "server/locks/lock_service.h"
#include "server/messages/maintenance_encode.h"
#include "server/messages/member_id.h"
#include "server/messages/version.h"
#include "server/peer/peer_request.h"
#include "server/peer/peer_transport.h"
#include "server/process/client_tls.h"
#include "server/process/data_directory.h"
#include "server/process/feature_gates.h"
#include "server/process/freed_memory.h"
#include "server/process/machine_memory.h"
#include "server/process/member_tls.h"
#include "server/process/notify.h"
#include "server/process/version_monitor.h"
#include "server/replica/instance.h"
#include "server/replica/instance_options.h"
#include "server/replica/replica.h"
#include "server/services/auth_service.h"
#include "server/services/cluster_service.h"
#include "server/services/http_handlers.h"
#include "server/services/kv_service.h"
#include "server/services/lease_service.h"
#include "server/services/login.h"
#include "server/services/maintenance_service.h"
#include "server/services/peer_http.h"
#include "server/services/promote_forwarder.h"
#include "server/services/unimplemented.h"
#include "server/services/watch_service.h"
#include "server/state/membership.h"
#include "watch/hub.h"

namespace kvorum::server {
namespace {

// A request's message may exceed the largest entry by this much before the transport refuses it.
constexpr std::uint64_t kMessageOverheadBytes = 512 * 1024;
// Descriptors that are kept for files and peers.
constexpr std::uint64_t kReservedDescriptors = 150;
constexpr std::chrono::milliseconds kShutdownGrace(700);
constexpr Duration kPublishRetry = std::chrono::milliseconds(500);
constexpr Duration kVersionPoll = std::chrono::milliseconds(5);
// How long a stopping leader waits for its successor.
constexpr Duration kHandOverLimit = std::chrono::milliseconds(500);
// A removed member stays for a while, so that it can still tell others that its removal is
// committed.
constexpr Duration kRemovalDelay = std::chrono::seconds(1);
// And as long as it still leads then: nobody else may know yet that the removal is committed.
constexpr Duration kRemovedLeadingLimit = std::chrono::seconds(6);
constexpr Duration kRemovedPoll = std::chrono::milliseconds(100);
constexpr Duration kPeerDialTimeout = std::chrono::seconds(1);

[[noreturn]] void ExitOnFatal(const Error& error) {
  KV_LOG(LogLevel::kFatal, "the replica cannot go on", {"error", error.message});
  FlushLog();
  std::_Exit(1);
}

std::uint32_t ChooseIoThreads(std::uint64_t configured) {
  if (configured != 0) return static_cast<std::uint32_t>(configured);
  return std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
}

std::chrono::milliseconds InMillis(std::chrono::nanoseconds duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

std::size_t AnswerMemoryBytes(const Options& options) {
  if (options.max_answer_memory_bytes != 0) return options.max_answer_memory_bytes;
  return DefaultAnswerMemoryBytes(MemoryLimitBytes());
}

rpc::Options ClientFrontOptions(const Options& options, rpc::AnswerMemory& answers) {
  rpc::Options front;
  front.answers = &answers;
  front.loops = ChooseIoThreads(options.io_threads);
  front.max_receive_message_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(options.max_request_bytes + kMessageOverheadBytes, INT32_MAX));
  front.max_concurrent_streams = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(options.max_concurrent_streams, UINT32_MAX));
  front.min_client_ping_interval = InMillis(options.grpc_keepalive_min_time);
  front.ping_interval = InMillis(options.grpc_keepalive_interval);
  front.ping_timeout = InMillis(options.grpc_keepalive_timeout);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > 2 * kReservedDescriptors) {
    front.max_connections = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(files.rlim_cur - kReservedDescriptors, UINT32_MAX));
  }
  return front;
}

InstanceOptions MakeInstanceOptions(const Options& options, const DataDirectory& directory) {
  InstanceOptions instance;
  instance.name = options.name;
  instance.initial_cluster = options.EffectiveInitialCluster();
  instance.initial_cluster_token = options.initial_cluster_token;
  instance.join_existing = options.initial_cluster_state == "existing";
  instance.bootstrap_timeout = kPeerDialTimeout + std::chrono::milliseconds(options.election_ms);
  instance.force_new_cluster = options.force_new_cluster;
  if (const auto urls = ParseUrls(options.initial_advertise_peer_urls); urls.has_value()) {
    for (const Url& url : *urls) instance.advertise_peer_urls.push_back(url.text());
  }
  instance.slow_apply = options.warning_apply_duration;
  instance.wal_dir = directory.wal;
  instance.snap_dir = directory.snap;
  instance.quota_bytes = options.EffectiveQuotaBytes();
  instance.seed = EntropySeed();
  instance.raft.heartbeat_ticks = 1;
  instance.raft.election_ticks = static_cast<int>(options.election_ms / options.heartbeat_ms);
  instance.raft.pre_vote = options.pre_vote;
  instance.raft.catch_up_entries = options.snapshot_catchup_entries;
  instance.replica.tick = std::chrono::milliseconds(options.heartbeat_ms);
  instance.replica.election_timeout = std::chrono::milliseconds(options.election_ms);
  instance.replica.hurry_first_election = options.initial_election_tick_advance;
  instance.replica.snapshot_count = options.snapshot_count;
  instance.replica.request_timeout = options.RequestTimeout();
  instance.lease.min_ttl_s = options.MinLeaseTtlSeconds();
  if (const auto gates = ParseFeatureGates(options.feature_gates); gates.has_value())
    instance.lease.checkpoints = gates->lease_checkpoint;
  instance.lease.retry = options.RequestTimeout();
  instance.log.max_wals = options.max_wals;
  instance.log.max_snapshots = options.max_snapshots;
  instance.log.unsafe_no_fsync = options.unsafe_no_fsync;
  if (options.backend_batch_interval.count() > 0)
    instance.store.commit.batch_interval = options.backend_batch_interval;
  if (options.backend_batch_limit > 0)
    instance.store.commit.batch_operations = static_cast<std::size_t>(options.backend_batch_limit);
  if (options.compaction_batch_limit > 0) {
    instance.store.compaction.batch_limit =
        static_cast<std::size_t>(options.compaction_batch_limit);
  }
  if (options.compaction_sleep_interval.count() > 0)
    instance.store.compaction.pause = options.compaction_sleep_interval;
  return instance;
}

PeerTransport::Options MakeTransportOptions(const Options& options,
                                            const std::optional<PeerTls>& tls) {
  PeerTransport::Options transport;
  transport.tls = tls;
  // A dead peer's address is given up by the time an election may be over.
  transport.peers.dial_timeout =
      std::chrono::seconds(1) + std::chrono::milliseconds(options.election_ms);
  transport.peers.max_frame_bytes =
      std::max<std::size_t>(transport.peers.max_frame_bytes, 4 * options.max_request_bytes);
  return transport;
}

// Calls back with the outcome of an entry that no client waits for.
class CallbackWaiter final : public Waiter {
 public:
  explicit CallbackWaiter(std::move_only_function<void(bool applied)> callback)
      : callback_(std::move(callback)) {}
  void Applied(ApplyResult result) override { callback_(result.value.has_value()); }
  void Failed(const Error&) override { callback_(false); }

 private:
  std::move_only_function<void(bool)> callback_;
};

struct BoundListener {
  std::string address;
  bool secure = false;
  bool insecure = false;
};

Result<std::vector<BoundListener>> ListenAll(rpc::Server& server, const Options& options,
                                             Executor& tls_files) {
  KV_TRY(const auto tls, OpenClientTls(PosixFileSystem(), options, std::time(nullptr)));
  if (tls != nullptr) tls->LoadLargeFilesOn(tls_files);
  KV_RETURN_IF_ERROR(CheckClientUrls(options, tls.get()));
  KV_TRY(const std::vector<ClientListener> listeners, PlanClientListeners(options));
  std::vector<BoundListener> bound;
  for (const auto& [url, secure, insecure] : listeners) {
    std::shared_ptr<const rpc::TlsListen> how;
    if (secure) {
      how = std::make_shared<const rpc::TlsListen>(
          rpc::TlsListen{.context = tls, .plain_text_too = insecure});
    }
    KV_RETURN_IF_ERROR(url.CheckAddress());
    KV_TRY(std::string address, url.unix_socket() ? server.ListenUnix(url.socket_path(), how)
                                                  : server.Listen(url.host(), url.port(), how));
    bound.push_back({std::move(address), secure, insecure});
  }
  return bound;
}

}  // namespace

struct Process::Impl {
  Impl(const Options& o, const std::optional<PeerTls>& peer_tls)
      : options(o),
        kv(context),
        maintenance(context),
        lease(context),
        cluster(context),
        watch_service(context),
        lock(context, kv, lease),
        election(context, kv, lease),
        transport(MakeTransportOptions(o, peer_tls)),
        requester(peer_tls.has_value() ? &*peer_tls : nullptr) {}

  Result<void> MakeTokens();
  void SweepTokens();
  Result<void> Bind();
  Result<void> Open();
  void FillContext();
  void MakeHub();
  void Publish();
  void WaitForClusterVersion();
  // The member was removed; any thread, any number of times.
  void EndRemoved();
  void EndUnlessLeading(TimePoint limit);
  void Serve();

  const Options options;
  DataDirectory directory;
  ThreadExecutor tls_files{"tls-files"};  // outlives the connections

  // Registered before the data is opened, so that a port that is taken is found out first.
  ServiceContext context;
  KvService kv;
  MaintenanceService maintenance;
  LeaseService lease;
  ClusterService cluster;
  WatchService watch_service;
  LockService lock;
  ElectionService election;
  std::unique_ptr<auth::JwtTokens> jwt;  // one of them, or none
  std::unique_ptr<auth::SimpleTokens> simple_tokens;
  std::unique_ptr<Login> login;
  std::unique_ptr<AuthService> auth_service;
  std::unique_ptr<Access> access;
  rpc::AnswerMemory answers{AnswerMemoryBytes(options)};  // outlives the calls, too
  rpc::Health health;
  std::unique_ptr<watch::Hub> watches;  // outlives the calls
  std::unique_ptr<LeaderStreams> leader_streams;
  std::unique_ptr<CallCounters> counters;
  std::unique_ptr<rpc::Server> clients;
  std::vector<BoundListener> client_listeners;
  std::vector<std::string> peer_addresses;

  PeerTransport transport;
  HttpPeerRequester requester;
  std::unique_ptr<Instance> instance;
  std::unique_ptr<PromoteForwarder> promote_forwarder;
  std::unique_ptr<VersionMonitor> version_monitor;
  std::function<void()> on_end;
  std::atomic<bool> is_removed{false};
  std::unique_ptr<RequestBatcher> batcher;
  std::optional<FreedMemory> freed_memory;

  // Declared last: destroyed, and so ended, before what their tasks use.
#ifdef KVORUM_FAILPOINTS
  ThreadExecutor raft{"raft"};  // a failpoint that sleeps on it keeps no I/O loop
#else
  CombiningExecutor raft{"raft"};
#endif
  ThreadExecutor wal{"wal"};
  ThreadExecutor wal_spares{"wal-spares"};
  ThreadExecutor apply{"apply"};
  ThreadExecutor backend{"backend"};
  ThreadExecutor copier{"copier"};
  ThreadExecutor readers{"readers"};
  ThreadExecutor hasher{"hasher"};
  ThreadExecutor watch{"watch"};
  ThreadExecutor members{"members"};  // asks peers, and waits for them
  ThreadExecutor control{"control"};
  std::unique_ptr<auth::PasswordWorkers> password_workers;
};

Result<void> Process::Impl::MakeTokens() {
  KV_TRY(const auth::TokenOptions tokens,
         auth::ParseTokenOptions(options.auth_token, PosixFileSystem()));
  for (const std::string& unknown : tokens.unknown)
    KV_WARN("unknown token specific option", {"option", unknown});
  const int cost = auth::EffectiveBcryptCost(options.bcrypt_cost);
  if (options.bcrypt_cost != static_cast<std::uint64_t>(cost)) {
    KV_WARN("use default bcrypt cost instead of the invalid given cost",
            {"min-cost", auth::kMinBcryptCost}, {"max-cost", auth::kMaxBcryptCost},
            {"default-cost", cost}, {"given-cost", options.bcrypt_cost});
  }
  using Kind = auth::TokenOptions::Kind;
  if (tokens.kind == Kind::kJwt) {
    KV_TRY(jwt, auth::JwtTokens::Make(tokens.jwt));
  } else if (tokens.kind == Kind::kSimple) {
    constexpr std::uint64_t kLongestTtl = 100ULL * 365 * 24 * 3600;  // as good as for ever
    const std::uint64_t ttl_s =
        options.auth_token_ttl_s == 0 ? 300 : std::min(options.auth_token_ttl_s, kLongestTtl);
    simple_tokens = std::make_unique<auth::SimpleTokens>(
        control.clock(), auth::SimpleTokens::Options{.ttl = std::chrono::seconds(ttl_s)});
    KV_WARN("simple token is not cryptographically signed");
  }
  password_workers = std::make_unique<auth::PasswordWorkers>(auth::PasswordWorkers::Options{});
  login =
      std::make_unique<Login>(context, Login::Parts{.work = password_workers.get(),
                                                    .bcrypt_cost = cost,
                                                    .gives_simple_tokens = simple_tokens != nullptr,
                                                    .jwt = jwt.get()});
  auth_service = std::make_unique<AuthService>(context, *login);
  return {};
}

// Tokens that nobody uses any more.
void Process::Impl::SweepTokens() {
  constexpr std::size_t kAtATime = 10'000;
  simple_tokens->Sweep(kAtATime);
  control.PostAt(control.clock().Now() + std::chrono::seconds(1), [this] { SweepTokens(); });
}

Result<void> Process::Impl::Bind() {
  KV_RETURN_IF_ERROR(MakeTokens());
  rpc::Router router;
  kv.Register(router);
  maintenance.Register(router);
  lease.Register(router);
  cluster.Register(router);
  watch_service.Register(router);
  lock.Register(router);
  election.Register(router);
  auth_service->Register(router);
  RegisterUnimplemented(router, context);
  health.Register(router);
  counters = std::make_unique<CallCounters>(router.methods().size());
  ObserveCalls(router, *counters, options.warning_unary_request_duration);
  clients = std::make_unique<rpc::Server>(ClientFrontOptions(options, answers), std::move(router),
                                          MakeHttpHandler(context));
  KV_TRY(client_listeners, ListenAll(*clients, options, tls_files));
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
  instance_options.wal.background = &wal_spares;
  instance_options.peers = &requester;
  instance_options.simple_tokens = simple_tokens.get();
  instance_options.apply.answers = &answers;
  instance_options.on_removed = [this] { EndRemoved(); };
  const auto open_backend = [quota_bytes = instance_options.quota_bytes](const std::string& path) {
    return mvcc::OpenLmdbBackend({.path = path, .quota_bytes = quota_bytes});
  };
  KV_TRY(instance,
         Instance::Open(
             fs, open_backend,
             {.raft = raft, .wal = wal, .apply = apply, .backend = backend, .copier = copier},
             std::move(instance_options), ExitOnFatal));
  FillContext();
  return {};
}

void Process::Impl::FillContext() {
  batcher = std::make_unique<RequestBatcher>(instance->replica(), clients->loop_count());
  for (std::size_t i = 0; i < clients->loop_count(); ++i) {
    rpc::Loop& loop = clients->loop(i);
    loop.AddBatchHook([this, &loop] { batcher->Flush(loop); });
  }
  context.Use(*instance);
  context.batcher = batcher.get();
  access =
      std::make_unique<Access>(Access::Parts{.states = &instance->auth_states(),
                                             .store = &instance->store(),
                                             .leases = &instance->leases(),
                                             .batcher = batcher.get(),
                                             .clock = &control.clock(),
                                             .simple_tokens = simple_tokens.get(),
                                             .jwt = jwt.get(),
                                             .certificates_name_users = options.client_cert_auth,
                                             .max_txn_ops = options.max_txn_ops,
                                             .loops = clients->loop_count()});
  context.access = access.get();
  context.transport = &transport;
  promote_forwarder = std::make_unique<PromoteForwarder>(members, requester, instance->replica(),
                                                         instance->membership());
  context.promote_forwarder = promote_forwarder.get();
  version_monitor = std::make_unique<VersionMonitor>(
      members, requester, context,
      kPeerDialTimeout + std::chrono::milliseconds(options.election_ms));
  leader_streams =
      std::make_unique<LeaderStreams>(control, std::chrono::milliseconds(options.election_ms),
                                      [this] { return context.replica->is_leaderless(); });
  context.leader_streams = leader_streams.get();
  context.poster = &transport;
  context.timers = &control;
  context.readers = &readers;
  context.hasher = &hasher;
  context.answers = &answers;
  context.limits = {.max_request_bytes = options.max_request_bytes,
                    .max_txn_ops = options.max_txn_ops,
                    .quota_bytes = options.ReportedQuotaBytes(),
                    .request_timeout = options.RequestTimeout(),
                    .election_timeout = std::chrono::milliseconds(options.election_ms),
                    .strict_reconfig_check = options.strict_reconfig_check,
                    .max_learners = static_cast<std::size_t>(options.max_learners)};
  MakeHub();
  freed_memory.emplace(
      members, FreedMemory::Parts{.take_peak_bytes = [this] { return answers.TakePeakBytes(); },
                                  .used_bytes = [this] { return answers.used_bytes(); },
                                  .closed_connections =
                                      [this] {
                                        const rpc::Stats stats = clients->stats();
                                        return stats.accepted_connections - stats.open_connections;
                                      },
                                  .resident_bytes = ResidentAnonymousBytes,
                                  .trim = TrimHeaps});
}

void Process::Impl::MakeHub() {
  watch::HubOptions hub;
  hub.progress_interval = options.EffectiveWatchProgressInterval();
  if (options.watch_progress_notify_interval.count() > 0 &&
      hub.progress_interval != options.watch_progress_notify_interval) {
    KV_WARN("adjusting watch progress notify interval to minimum period",
            {"min-watch-progress-notify-interval", "100ms"});
  }
  hub.seed = EntropySeed();
  hub.bodies.fragment_bytes = options.max_request_bytes + kMessageOverheadBytes;
  watches = std::make_unique<watch::Hub>(instance->store(), watch, hub);
  for (std::size_t i = 0; i < clients->loop_count(); ++i) watches->NewShard(clients->loop(i));
  instance->store().SetPublishListener(watches.get());
  context.watches = watches.get();
}

// The member tells its name and client URLs through the log; once that is applied it is part of the
// cluster.
void Process::Impl::Publish() {
  KV_FAILPOINT("beforePublishing");
  MemberAttributes attributes{.member = context.member_id, .name = options.name, .client_urls = {}};
  const auto urls = ParseUrls(options.advertise_client_urls);
  for (const Url& url : *urls) attributes.client_urls.push_back(url.text());
  context.Propose(nullptr, RequestKind::kMemberAttributesSet, EncodeMemberAttributes(attributes),
                  std::make_unique<CallbackWaiter>([this](bool applied) {
                    if (applied) return control.Post([this] { WaitForClusterVersion(); });
                    control.PostAt(control.clock().Now() + kPublishRetry, [this] { Publish(); });
                  }),
                  options.RequestTimeout());
}

// The leader decides it as soon as it leads.
void Process::Impl::WaitForClusterVersion() {
  if (!context.membership->View()->cluster_version.empty()) return Serve();
  control.PostAt(control.clock().Now() + kVersionPoll, [this] { WaitForClusterVersion(); });
}

void Process::Impl::EndRemoved() {
  if (is_removed.exchange(true)) return;
  const TimePoint now = control.clock().Now();
  control.PostAt(now + kRemovalDelay,
                 [this, limit = now + kRemovedLeadingLimit] { EndUnlessLeading(limit); });
}

void Process::Impl::EndUnlessLeading(TimePoint limit) {
  const TimePoint now = control.clock().Now();
  if (instance->replica().leader() == context.member_id && now < limit) {
    control.PostAt(now + kRemovedPoll, [this, limit] { EndUnlessLeading(limit); });
    return;
  }
  KV_WARN("server error", {"error", "the member has been permanently removed from the cluster"});
  KV_WARN("data-dir used by this member must be removed");
  on_end();
}

void Process::Impl::Serve() {
  KV_INFO("published local member to cluster through raft",
          {"local-member-id", IdText(context.member_id)},
          {"local-member-attributes", options.advertise_client_urls},
          {"cluster-id", IdText(context.cluster_id)});
  health.SetServing(true);
  clients->Start();
  KV_INFO("ready to serve client requests");
  for (const auto& [address, secure, insecure] : client_listeners) {
    if (insecure) {
      KV_INFO("serving client traffic insecurely; this is strongly discouraged!",
              {"traffic", "grpc+http"}, {"address", address});
    }
    if (secure) {
      KV_INFO("serving client traffic securely", {"traffic", "grpc+http"}, {"address", address});
    }
  }
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
  impl.on_end = std::move(on_end);
  impl.instance->Start(impl.transport);
  impl.transport.Start(
      {.member_id = impl.context.member_id,
       .cluster_id = impl.context.cluster_id,
       .peer_urls = impl.options.initial_advertise_peer_urls},
      *impl.instance,
      {.http = MakePeerHttpHandler(impl.context, impl.cluster, impl.lease.access()),
       .on_removed = [&impl] { impl.EndRemoved(); }});
  impl.version_monitor->Start();
  impl.leader_streams->Start();
  impl.freed_memory->Start();
  impl_->control.Post([impl = impl_.get()] { impl->Publish(); });
  if (impl.simple_tokens != nullptr) impl.control.Post([&impl] { impl.SweepTokens(); });
}

void Process::Stop() {
  KV_INFO("stopping");
  NotifySupervisor("STOPPING=1");
  impl_->control.Stop();  // from here on this thread owns the servers
  impl_->requester.Stop();
  impl_->members.Stop();
  std::promise<void> handed_over;
  impl_->instance->replica().GiveUpLeadership(kHandOverLimit, [&] { handed_over.set_value(); });
  handed_over.get_future().wait();
  impl_->health.SetServing(false);
  impl_->clients->Shutdown(kShutdownGrace);
  std::promise<void> stopped;
  impl_->instance->Stop([&] { stopped.set_value(); });
  stopped.get_future().wait();
  impl_->transport.Stop();
  impl_->readers.Stop();
  impl_->hasher.Stop();
  impl_->watch.Stop();
  impl_->raft.Stop();
  for (ThreadExecutor* executor :
       {&impl_->wal, &impl_->wal_spares, &impl_->apply, &impl_->backend, &impl_->copier}) {
    executor->Stop();
  }
  KV_INFO("stopped");
}

}  // namespace kvorum::server
