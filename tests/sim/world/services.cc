#include "tests/sim/world/services.h"

#include <utility>

#include "base/check.h"
#include "server/call/method_registrar.h"
#include "server/peer/transport/peer_poster.h"
#include "server/replica/drive/replica.h"
#include "server/services/lease/lease_http.h"
#include "tests/sim/world/machine.h"

namespace kvorum::sim {
namespace {

// Batches of which the hub hears only that they are there, as if its first watcher had come while
// they were published.
constexpr std::uint64_t kUnseenOneIn = 60;

}  // namespace

// Keeps published events for the judges, and passes them on to the hub.
class Services::Tee final : public mvcc::PublishListener {
 public:
  Tee(World& world, const Machine& machine, EventHistory& events, Services& services)
      : world_(world), machine_(machine), events_(events), services_(services) {}

  bool WantsRecords() const override { return true; }
  void OnPublished(Published published) override {
    KV_CHECK(published.records.has_value(), "what is published comes with its records");
    events_.Take(machine_.name(), published.first, published.last, *published.records);
    const bool is_watched = services_.hub_.WantsRecords();
    const bool is_unseen = is_watched && world_.scheduler.rng().OneIn(kUnseenOneIn);
    if (is_unseen) world_.faults.Add(Fault::kWatchJump);
    if (!is_watched || is_unseen) published.records.reset();
    services_.hub_.OnPublished(std::move(published));
  }
  void OnInstalled(std::int64_t revision) override {
    ++services_.installs_;
    if (services_.hub_.WantsRecords()) world_.faults.Add(Fault::kWatchUnderSnapshot);
    services_.hub_.OnInstalled(revision);
  }

 private:
  World& world_;
  const Machine& machine_;
  EventHistory& events_;
  Services& services_;
};

Services::Services(World& world, Machine& machine, server::PeerPoster& poster, EventHistory& events,
                   const Options& options)
    : batcher_(machine.local_member().replica(), 0),
      hub_(machine.local_member().store(), machine.lane(LaneKind::kWatch), options.hub),
      tee_(std::make_unique<Tee>(world, machine, events, *this)),
      leader_streams_(
          machine.lane(LaneKind::kIo), machine.options().replica.election_timeout,
          [&replica = machine.local_member().replica()] { return replica.is_leaderless(); }),
      access_({.states = &machine.local_member().auth_states(),
               .store = &machine.local_member().store(),
               .leases = &machine.local_member().leases(),
               .batcher = &batcher_,
               .clock = &machine.clock(),
               .simple_tokens = &machine.tokens(),
               .max_txn_ops = 128}),
      executors_{.timers = &machine.lane(LaneKind::kIo),
                 .readers = &machine.lane(LaneKind::kIo),
                 .hasher = &machine.lane(LaneKind::kIo),
                 .digester = &machine.lane(LaneKind::kIo)},
      limits_{.max_request_bytes = 1'572'864,
              .max_txn_ops = 128,
              .request_timeout = machine.options().replica.request_timeout,
              .election_timeout = machine.options().replica.election_timeout,
              .watch_window_bytes = options.watch_window_bytes},
      parts_({.member = machine.local_member(),
              .transport = machine.transport(),
              .patches = patches_,
              .batcher = batcher_,
              .access = access_,
              .executors = executors_,
              .limits = limits_,
              .answers = answers_}),
      quarantine_(machine.files(), Machine::kQuarantineFile),
      guard_{.proposer = parts_.proposer,
             .access = access_,
             .quarantine = quarantine_,
             .leader_streams = leader_streams_,
             .client_versions = client_versions_,
             .tells_status_alone = tells_status_alone_},
      services_({.proposer = parts_.proposer,
                 .reads = parts_.reads,
                 .member = machine.local_member(),
                 .quarantine = quarantine_,
                 .watches = hub_,
                 .leader_streams = leader_streams_,
                 .poster = poster}),
      password_work_(machine.lane(LaneKind::kPasswords), *options.passwords),
      login_(parts_.proposer, parts_.reads,
             {.work = &password_work_,
              .random =
                  [&world](std::span<std::uint8_t> out) {
                    for (std::uint8_t& byte : out)
                      byte = static_cast<std::uint8_t>(world.auth_rng.Below(256));
                  },
              .bcrypt_cost = auth::kMinBcryptCost,
              .gives_simple_tokens = true}),
      auth_(parts_.proposer, parts_.reads, login_) {
  hub_.NewShard(machine.lane(LaneKind::kIo));
  machine.local_member().store().SetPublishListener(tee_.get());
  server::MethodRegistrar methods(router_, guard_);
  services_.Register(methods);
  auth_.Register(methods);
  server::HandleLeases(peers_, services_.lease.access());
  leader_streams_.Start();
  if (world.has_replica_checks)
    checks_ = std::make_unique<ReplicaChecks>(machine, parts_, quarantine_);
}

Services::~Services() = default;

void Services::Call(std::shared_ptr<rpc::CallContext> call, std::string_view path,
                    std::string_view request, rpc::UnaryReply reply) {
  router_.Find(path)->unary(std::move(call), SharedBytes::Copy(request), std::move(reply));
}

void Services::Serve(std::string_view path, std::shared_ptr<ClientStream> stream) {
  router_.Find(path)->stream(std::move(stream));
}

void Services::ServePeer(std::string path, SharedBytes body, rpc::HttpReply reply) {
  rpc::HttpRequest request;
  request.method = "POST";
  request.target = std::move(path);
  request.body = std::move(body);
  peers_.Serve(std::move(request), std::move(reply));
}

void Services::Adopt(const std::shared_ptr<ClientStream>& stream) {
  std::erase_if(streams_, [](const auto& each) { return each->is_over(); });
  streams_.push_back(stream);
}

void Services::Adopt(const std::shared_ptr<rpc::CallContext>& call) {
  std::erase_if(calls_, [](const auto& each) { return each.expired(); });
  calls_.push_back(call);
}

void Services::BreakCalls() {
  for (const auto& stream : std::exchange(streams_, {})) stream->Break();
  for (const auto& each : std::exchange(calls_, {})) {
    if (const auto call = each.lock(); call != nullptr)
      call->Cancel({Code::kUnavailable, "the process has ended"});
  }
  services_.lease.access().DropPosted();  // they hold calls, and no leader answers them any more
}

}  // namespace kvorum::sim
