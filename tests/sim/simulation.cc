#include "tests/sim/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/log/logging.h"
#include "raft/node.h"
#include "tests/sim/clients/administrator.h"
#include "tests/sim/clients/lock_clients.h"
#include "tests/sim/clients/users.h"
#include "tests/sim/clients/watchers.h"
#include "tests/sim/ending.h"
#include "tests/sim/judges/archives.h"
#include "tests/sim/judges/auth_judge.h"
#include "tests/sim/judges/copies.h"
#include "tests/sim/judges/lease_holders.h"
#include "tests/sim/judges/lease_ledger.h"
#include "tests/sim/judges/lock_judge.h"
#include "tests/sim/judges/log_model.h"
#include "tests/sim/operator.h"
#include "tests/sim/spoiler.h"
#include "tests/sim/world/peer_ports.h"
#include "tests/sim/world/peer_posts.h"
#include "tests/sim/world/services.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kTailLines = 120;
// From the end of the faults until the cluster must have converged: pauses that are still going on,
// a restart, elections, the retries of clients.
constexpr Duration kLivenessBound = seconds(60);

// Until a member that was spoiled last serves again.
constexpr Duration kMendBound = seconds(240);

constexpr const char* kToken = "simulation";

const World* running_world = nullptr;

class Simulation final : public MachineWatcher {
 public:
  explicit Simulation(const Options& options)
      : world_(options),
        network_(world_),
        posts_(world_, machines_, network_),
        events_(world_),
        log_(world_, events_),
        judge_(world_, log_, passwords_),
        users_(world_, judge_),
        archives_(world_, machines_, log_),
        machines_(MakeMachines()),
        ledger_(world_, machines_, events_),
        oracle_(world_, machines_),
        operator_(world_, machines_, oracle_, FirstMembers(),
                  [this](Machine& machine) { StartLater(machine); }),
        clients_(world_, machines_, judge_, users_, ClientOptions()),
        watchers_(world_, machines_, events_, judge_, users_, WatcherOptions()),
        holders_(world_, machines_, clients_, ledger_, judge_, users_, HolderOptions()),
        lock_judge_(world_, events_, ledger_),
        locks_(world_, machines_, holders_, lock_judge_, users_, LockOptions()),
        copies_(world_, machines_, events_, clients_, users_, CopiesOptions()),
        ending_(world_, {.clients = clients_,
                         .watchers = watchers_,
                         .locks = locks_,
                         .lock_judge = lock_judge_,
                         .copies = copies_}),
        administrator_(world_, machines_, log_, judge_, users_),
        nemesis_(world_, machines_, network_, [this](Machine& machine) { StartLater(machine); }),
        spoiler_(world_, machines_, [this](Machine& machine) { StartLater(machine); }) {
    running_world = &world_;
  }
  ~Simulation() override {
    running_world = nullptr;
    // While all of them are there to refer to.
    for (const auto& machine : machines_) {
      if (machine->up()) machine->Kill();
    }
  }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Report Run() {
    oracle_.on_elected = [this](Machine& machine) { nemesis_.Elected(machine); };
    oracle_.on_first_commit = [this](Machine& machine) { nemesis_.FirstCommit(machine); };
    oracle_.on_voted = [this](Machine& machine) { nemesis_.Voted(machine); };
    oracle_.on_committed = [this](const raft::Entry& entry) {
      log_.Take(entry);
      archives_.Take(entry);
    };
    for (const auto& machine : machines_) StartLater(*machine);
    network_.StartDialing();
    clients_.Start();
    watchers_.Start();
    holders_.Start();
    locks_.Start();
    copies_.Start();
    administrator_.Start();
    world_.scheduler.After(seconds(2), [this] {
      spoiler_.Start();
      if (world_.has_spoils) return;
      nemesis_.Start();
      operator_.Start();
    });
    Periodically();
    world_.RunUntil(world_.scheduler.Now() + seconds(world_.options.seconds), [] { return false; });
    if (!world_.failed()) Converge();
    if (!world_.failed()) Judge(world_, clients_.requests(), oracle_.states(), events_, ledger_);
    for (const auto& machine : machines_) {
      if (machine->up()) CountProposals(*machine);
    }
    Report report{.failure = world_.failure,
                  .tail = {},
                  .faults = world_.faults,
                  .digest = world_.trace.digest(),
                  .trace_lines = world_.trace.lines(),
                  .trace = world_.trace.text(),
                  .seconds = static_cast<double>((world_.scheduler.Now() - began_).count()) / 1e9,
                  .steps = world_.scheduler.steps(),
                  .operations = clients_.requests().size(),
                  .answered = clients_.answered(),
                  .elections = oracle_.elections(),
                  .revisions = oracle_.states().last_revision(),
                  .unseen_revisions = static_cast<std::uint64_t>(oracle_.states().last_revision()) -
                                      1 - oracle_.states().size(),
                  .found = spoiler_.found(),
                  .mended = spoiler_.mended()};
    if (world_.failed()) report.tail = world_.trace.Tail(kTailLines);
    return report;
  }

  // ---- MachineWatcher ----
  void AfterTask(Machine& machine, LaneKind lane) override {
    if (lane == LaneKind::kRaft) oracle_.AfterRaft(machine);
    if (lane == LaneKind::kIntegrity) spoiler_.AfterCheck(machine);
    if (lane != LaneKind::kApply) return;
    events_.Compacted(machine.local_member().store().compact_revision());
    oracle_.AfterApply(machine);
    log_.AfterApply(machine);
    ledger_.AfterApply(machine);
  }
  void OnEnded(Machine& machine) override { StartLater(machine); }
  void OnEnding(Machine& machine) override {
    network_.Forget(machine);
    posts_.Forget(machine);
    oracle_.OnEnding(machine);
    archives_.OnEnding(machine);
    if (machine.up()) CountProposals(machine);
  }

 private:
  void CountProposals(Machine& machine) {
    const server::Replica& replica = machine.local_member().replica();
    world_.faults.Add(Fault::kProposalNotTaken, replica.repeated_proposals());
    world_.faults.Add(Fault::kWatchAwaited, replica.waiting_proposals().ever_held_for_watchers());
  }

  std::vector<std::unique_ptr<Machine>> MakeMachines() {
    Rng& rng = world_.scheduler.rng();
    server::LocalMemberOptions options;
    options.initial_cluster_token = kToken;
    constexpr std::array kTicks = {milliseconds(20), milliseconds(50), milliseconds(100)};
    options.replica.tick = kTicks[rng.Below(kTicks.size())];
    options.replica.request_timeout = seconds(5) + 20 * options.replica.tick;
    // So that followers that were away need a snapshot, most of them often.
    options.replica.snapshot_count = 10 + rng.Below(rng.OneIn(4) ? 2000 : 200);
    options.raft.catch_up_entries = rng.Below(30);
    constexpr std::array<std::size_t, 4> kAppendBytes = {1, 1, 300, 1 << 20};
    options.raft.max_append_size_bytes = kAppendBytes[rng.Below(kAppendBytes.size())];
    constexpr std::array<std::size_t, 4> kInflight = {1, 2, 16, 512};
    options.raft.max_inflight_messages = kInflight[rng.Below(kInflight.size())];
    options.log.max_wals = 1;
    options.log.max_snapshots = 1;
    options.wal.segment_size_bytes = 16'384;
    options.wal.reserve_size_bytes = 0;
    options.wal.zero_segments = false;
    options.store.restore_threads = 1;
    options.store.commit.batch_operations = 1 + rng.Below(30);
    options.store.compaction.batch_limit = 4;
    // In one of four a task for each key, so that others come between.
    if (world_.options.seed % 4 == 1) options.store.compaction.index_step = 1;
    // The key index is saved all the time in half of them.
    options.store.index_file.saving = {.is_on = world_.options.seed % 2 == 1,
                                       .least_records = 10,
                                       .share = 4,
                                       .pause = seconds(1),
                                       .piece_bytes = 100,
                                       .sync_bytes = 400,
                                       .free_bytes = 0};
    if (world_.has_spoils) {
      // Only callers that ask for a snapshot need one.
      options.replica.snapshot_count = 1'000'000;
      options.raft.catch_up_entries = 1'000'000;
      // Members' compactions keep up with each other, so that they have some in common.
      options.store.compaction.batch_limit = 1'000;
    }
    options.replica.election_timeout = options.raft.election_ticks * options.replica.tick;
    // The writes of some clusters wait for watchers. It is not drawn: the others run without.
    const std::uint64_t seed = world_.options.seed;
    if (seed % 4 == 3) options.replica.max_watch_lag = 1 + seed / 4 % 20;
    SetLeaseOptions(options);
    Services::Options services = FrontOptions();
    services.passwords = &passwords_;
    options.log.unsafe_no_fsync = world_.options.flaw == Flaw::kUnsyncedLog;
    if (world_.options.flaw == Flaw::kLeaseReads) options.raft.read_mode = raft::ReadMode::kLease;

    std::vector<std::unique_ptr<Machine>> machines;
    // Spare ones for members that are added later.
    const std::size_t count = world_.options.members + rng.Below(3);
    for (std::size_t i = 0; i < count; ++i) {
      machines.push_back(std::make_unique<Machine>(world_, *this, i, fmt::format("m{}", i + 1)));
      machines.back()->options() = options;
      machines.back()->options().name = machines.back()->name();
      archives_.AddTo(machines.back()->options(), i);
      peer_ports_.push_back(std::make_unique<PeerPorts>(world_, machines_, network_, i));
      machines.back()->options().peers = peer_ports_.back().get();
      machines.back()->options().watch_lag = [this, i] {
        return machines_[i]->services().AwaitedLag();
      };
      posters_.push_back(posts_.PosterOf(i));
      machines.back()->make_services = [this, i, services] {
        Services::Options options_of_front = services;
        options_of_front.hub.seed = world_.scheduler.rng()();
        archives_.Began(*machines_[i]);
        return std::make_unique<Services>(world_, *machines_[i], *posters_[i], events_,
                                          options_of_front);
      };
      network_.Connect(*machines.back());
    }
    stays_down_.resize(count);
    world_.Note("{} members of {} machines, seed {}, tick {} ms, appends of {} bytes, {} in flight",
                world_.options.members, count, world_.options.seed,
                options.replica.tick.count() / 1'000'000, options.raft.max_append_size_bytes,
                options.raft.max_inflight_messages);
    return machines;
  }

  void SetLeaseOptions(server::LocalMemberOptions& options) {
    Rng& rng = world_.scheduler.rng();
    // The flags' value: one and a half election time-outs.
    const Duration least = options.replica.election_timeout * 3 / 2;
    options.lease.min_ttl_s = (least + seconds(1) - Duration(1)) / seconds(1);
    options.lease.retry = options.replica.request_timeout;
    options.lease.checkpoints = rng.OneIn(2);
    options.lease.checkpoint_interval = seconds(1);
    constexpr std::array<std::size_t, 3> kInFlight = {1, 4, 512};
    options.lease_expiry.max_in_flight = kInFlight[rng.Below(kInFlight.size())];
  }

  // Bounds that a run's few keys can reach.
  Services::Options FrontOptions() {
    Rng& rng = world_.scheduler.rng();
    const auto small_or_large = [&](std::uint64_t least, std::uint64_t most, std::uint64_t large) {
      return rng.OneIn(2) ? least + rng.Below(most - least) : large;
    };
    Services::Options options;
    options.watch_window_bytes = small_or_large(2, 1'000, 256 << 10);
    options.hub.progress_interval = milliseconds(500 + rng.Below(4'000));
    options.hub.bodies = {.full_bytes = small_or_large(1, 1'000, 256 << 10),
                          .revisions = static_cast<std::int64_t>(small_or_large(1, 10, 1'000)),
                          .fragment_bytes = small_or_large(1, 600, 2 << 20)};
    options.hub.catch_up = {
        .join_revisions = static_cast<std::int64_t>(small_or_large(1, 50, 4'000)),
        .jobs = small_or_large(1, 4, 4'096),
        .records = small_or_large(1, 50, 20'000),
        .read_bytes = small_or_large(1, 8'000, 32 << 20),
        .bytes = small_or_large(1, 2'000, 8 << 20),
        .stream_bytes = small_or_large(1, 1'000, 256 << 10),
        .untaken_bytes = small_or_large(1, 4'000, 16 << 20)};
    options.hub.inbox_batches = small_or_large(1, 4, 256);
    options.hub.recent_bytes = small_or_large(1, 8'000, 4 << 20);
    options.hub.previous_bytes = small_or_large(1, 2'000, 16 << 20);
    return options;
  }

  std::vector<server::Member> FirstMembers() const {
    std::string cluster;
    for (std::size_t i = 0; i < world_.options.members; ++i)
      cluster += fmt::format("{}m{}={}", i == 0 ? "" : ",", i + 1, PeerUrlOf(i));
    return server::ParseInitialCluster(cluster, kToken).value();
  }

  Clients::Options ClientOptions() {
    Rng& rng = world_.scheduler.rng();
    constexpr std::array kThinking = {milliseconds(15), milliseconds(60), milliseconds(200),
                                      milliseconds(500)};
    return {.clients = 2 + rng.Below(5),
            .keys = 3 + rng.Below(5),
            .most_thinking = kThinking[rng.Below(kThinking.size())],
            .compacts = !rng.OneIn(3)};
  }

  Watchers::Options WatcherOptions() {
    Rng& rng = world_.scheduler.rng();
    constexpr std::array kThinking = {milliseconds(300), milliseconds(1'000), milliseconds(3'000)};
    return {.clients = 1 + rng.Below(4),
            .keys = clients_.options().keys,
            .most_thinking = kThinking[rng.Below(kThinking.size())]};
  }

  LeaseHolders::Options HolderOptions() {
    Rng& rng = world_.scheduler.rng();
    LeaseHolders::Options options{.holders = 1 + rng.Below(4), .longest_s = 1 + rng.Below(6)};
    if (world_.has_locks) options.holders = LockClients::kMost;
    return options;
  }

  LockClients::Options LockOptions() {
    if (!world_.has_locks) return {};
    Rng& rng = world_.scheduler.rng();
    constexpr std::array kThinking = {milliseconds(100), milliseconds(500), milliseconds(2'000)};
    return {.clients = 2 + rng.Below(LockClients::kMost - 1),
            .locks = 1 + rng.Below(2),
            .observers = 1 + rng.Below(2),
            .most_thinking = kThinking[rng.Below(kThinking.size())]};
  }

  Copies::Options CopiesOptions() {
    if (!world_.has_copies) return {};
    Rng& rng = world_.scheduler.rng();
    constexpr std::array kThinking = {milliseconds(200), milliseconds(1'000), milliseconds(3'000)};
    return {.agents = 2 + rng.Below(3),
            .caches = 1 + rng.Below(3),
            .most_thinking = kThinking[rng.Below(kThinking.size())]};
  }

  // The operator's supervisor.
  void StartLater(Machine& machine) {
    // Half of them are back before another member has campaigned.
    const Duration most = world_.scheduler.rng().OneIn(2) ? milliseconds(100) : seconds(4);
    world_.scheduler.After(world_.scheduler.Between(milliseconds(2), most),
                           [this, &machine] { StartNow(machine); });
  }

  void StartNow(Machine& machine) {
    if (machine.up() || world_.failed() || stays_down_.at(machine.number())) return;
    if (!operator_.Prepare(machine)) return StartLater(machine);
    const SimFileSystem::Counters before = machine.disk().counters();
    const Result<void> started = machine.Start();
    if (started.has_value()) return operator_.Started(machine);
    const SimFileSystem::Counters after = machine.disk().counters();
    const bool disk_failed = after.io_errors != before.io_errors ||
                             after.no_space_errors != before.no_space_errors ||
                             after.power_cuts != before.power_cuts;
    if (disk_failed || nemesis_.RepairRot(machine) || operator_.MayRefuse(machine, started.error()))
      return StartLater(machine);
    world_.Fail("{} refuses to start: {}", machine.name(), started.error().message);
  }

  void Periodically() {
    world_.scheduler.After(seconds(1), [this] {
      oracle_.CheckAll();
      ledger_.CheckAll();
      ledger_.CheckOverdue(KeptLeases());
      copies_.CheckAll();
      locks_.CheckOverdue(std::max(quiet_since_, ledger_.decided_since()));
      Periodically();
    });
  }

  void Converge() {
    spoiler_.Stop();
    if (!world_.RunUntil(world_.scheduler.Now() + kMendBound,
                         [this] { return spoiler_.IsQuiet(); }) &&
        !world_.failed())
      world_.Fail("a spoiled member is not mended");
    if (world_.failed()) return;
    clients_.Stop();
    nemesis_.Stop();
    operator_.Stop();
    administrator_.Stop();
    archives_.Settle();
    world_.Note("---- the faults are over ----");
    // A minority may be gone for good.
    if (world_.scheduler.rng().OneIn(2) && MayLoseMinority()) KillMinority();
    watchers_.Settle([this] { return LiveVoters(); });
    holders_.Settle();
    ledger_.Settle();
    quiet_since_ = world_.scheduler.Now() + Nemesis::kLongestPause +
                   machines_.front()->options().replica.request_timeout;
    locks_.Settle([this] { return LiveVoters(); });
    copies_.Settle([this] { return LiveVoters(); });
    for (const auto& machine : machines_) WriteAndRead(*machine);
    const TimePoint end = world_.scheduler.Now() + kLivenessBound;
    std::vector<Machine*> live;
    raft::Index applied = 0;
    // Members that have just started still publish their names: the compared state must not change.
    do {
      const bool converged = world_.RunUntil(end, [&] {
        return clients_.pending() == 0 && AreEqual(Live()) && AreOver() && locks_.AreOver() &&
               copies_.IsCatalogTrue();
      });
      if (world_.failed()) return;
      if (!converged) return FailToConverge();
      live = Live();
      applied = live.front()->local_member().replica().applied_index();
      FlushAll(live);
      if (world_.failed()) return;
    } while (!AreEqual(live) || live.front()->local_member().replica().applied_index() != applied);
    oracle_.CheckAll();
    oracle_.CheckEqual(live);
    if (!world_.failed()) ending_.Run([this] { return LiveVoters(); });
    if (!world_.failed() && world_.has_archive) JudgeArchive();
  }

  void JudgeArchive() {
    const auto applied = [this] {
      return Live().front()->local_member().replica().applied_index();
    };
    if (!world_.RunUntil(world_.scheduler.Now() + kLivenessBound,
                         [&] { return AreEqual(Live()) && archives_.IsUpToDate(applied()); }) &&
        !world_.failed())
      world_.Fail("the archive does not get up to date");
    if (!world_.failed()) archives_.Judge(Live());
  }

  // The leases that are renewed to the end.
  std::set<lease::LeaseId> KeptLeases() const {
    std::set<lease::LeaseId> kept = holders_.Kept();
    kept.merge(copies_.Leases());
    return kept;
  }

  // Leases that are not renewed.
  bool AreOver() {
    const std::set<lease::LeaseId> kept = KeptLeases();
    return std::ranges::none_of(
        Live(), [&](Machine* machine) { return ledger_.HasOthers(*machine, kept); });
  }

  // A member that has lost its data has no vote yet: two would be missing.
  bool MayLoseMinority() const { return !world_.has_replaced_disks || nemesis_.AllAreWhole(); }

  void KillMinority() {
    std::vector<Machine*> voters;
    std::set<raft::MemberId> gone;
    for (const auto& machine : machines_) {
      const server::Member* member = operator_.MemberOf(machine->number());
      if (member == nullptr || member->is_learner) continue;
      voters.push_back(machine.get());
    }
    const std::size_t most = (voters.size() - 1) / 2;
    const std::size_t first = world_.scheduler.rng().Below(voters.size());
    for (std::size_t i = 0; i < most; ++i) {
      Machine& machine = *voters[(first + i) % voters.size()];
      gone.insert(operator_.MemberOf(machine.number())->id);
      if (!operator_.CanDoWithout(gone)) return;
      world_.faults.Add(Fault::kDeadForGood);
      stays_down_[machine.number()] = true;
      if (machine.up()) machine.Kill();
    }
  }

  // The machines that must be there in the end.
  std::vector<Machine*> Live() {
    std::vector<Machine*> live;
    for (const auto& machine : machines_) {
      const std::size_t number = machine->number();
      if (operator_.MemberOf(number) == nullptr || operator_.IsLost(number) || stays_down_[number])
        continue;
      live.push_back(machine.get());
    }
    return live;
  }

  // Learners serve no watchers.
  std::vector<Machine*> LiveVoters() {
    std::vector<Machine*> voters = Live();
    std::erase_if(voters, [this](Machine* machine) {
      return operator_.MemberOf(machine->number())->is_learner;
    });
    return voters;
  }

  void FailToConverge() {
    std::string states;
    for (Machine* machine : Live()) {
      if (!machine->up()) {
        states += machine->name() + " is down; ";
        continue;
      }
      server::Replica& replica = machine->local_member().replica();
      states += fmt::format("{} {:x} term {} leader {:x} commit {} applied {}; ", machine->name(),
                            machine->member_id(), replica.term(), replica.leader(),
                            replica.commit_index(), replica.applied_index());
    }
    world_.Fail("not converged {} s after the faults: {}{} members proven; {}",
                kLivenessBound.count() / 1'000'000'000, states, proven_.size(), copies_.Behind());
  }

  // A voter is proven once it has taken a write and then answered a linearizable read.
  void WriteAndRead(Machine& machine) {
    if (world_.failed()) return;
    const auto again = [this, &machine] {
      world_.scheduler.After(milliseconds(200), [this, &machine] { WriteAndRead(machine); });
    };
    if (!machine.up() || !IsVoter(machine)) return again();
    Request put = PutOf(clients_.RandomKey(), clients_.NewValue());
    clients_.Ask(machine.number(), std::move(put), [this, &machine, again](bool written) {
      if (!written) return again();
      clients_.Ask(machine.number(), ReadOfAll(false), [this, &machine, again](bool answered) {
        if (!answered) return again();
        proven_.insert(machine.member_id());
      });
    });
  }

  bool IsVoter(const Machine& machine) const {
    const server::Member* member = operator_.MemberOf(machine.number());
    return member != nullptr && member->id == machine.member_id() && !member->is_learner;
  }

  bool AreEqual(const std::vector<Machine*>& live) const {
    for (Machine* machine : live) {
      const server::Member* member = operator_.MemberOf(machine->number());
      if (!machine->up() || machine->member_id() != member->id) return false;
      if (!member->is_learner && !proven_.contains(member->id)) return false;
    }
    const server::Replica& first = live.front()->local_member().replica();
    return std::ranges::all_of(live, [&](Machine* machine) {
      server::Replica& replica = machine->local_member().replica();
      return replica.status().lost_data() == 0 && replica.leader() != raft::kNone &&
             replica.leader() == first.leader() &&
             replica.applied_index() == first.applied_index() &&
             replica.applied_index() == replica.node().log().last_index();
    });
  }

  void FlushAll(const std::vector<Machine*>& live) {
    std::size_t flushed = 0;
    for (Machine* machine : live) machine->local_member().store().Flush([&flushed] { ++flushed; });
    const auto done = [&] { return flushed == live.size(); };
    if (!world_.RunUntil(world_.scheduler.Now() + seconds(20), done))
      world_.Fail("a backend does not commit");
  }

  World world_;
  const TimePoint began_ = world_.scheduler.Now();
  TimePoint quiet_since_{};  // no fault is left from then on
  std::vector<bool> stays_down_;
  std::set<raft::MemberId> proven_;
  Network network_;
  std::vector<std::unique_ptr<PeerPorts>> peer_ports_;
  PeerPosts posts_;
  std::vector<std::unique_ptr<server::PeerPoster>> posters_;
  EventHistory events_;
  LogModel log_;
  Passwords passwords_;
  AuthJudge judge_;
  Users users_;
  Archives archives_;
  std::vector<std::unique_ptr<Machine>> machines_;
  LeaseLedger ledger_;
  Oracle oracle_;
  Operator operator_;
  Clients clients_;
  Watchers watchers_;
  LeaseHolders holders_;
  LockJudge lock_judge_;
  LockClients locks_;
  Copies copies_;
  Ending ending_;
  Administrator administrator_;
  Nemesis nemesis_;
  Spoiler spoiler_;
};

}  // namespace

std::size_t MembersOf(std::uint64_t seed) { return seed % 4 == 3 ? 5 : 3; }

Report RunSimulation(const Options& options) {
  SetLogLevel(LogLevel::kPanic);  // what goes wrong is in the trace
  return Simulation(options).Run();
}

std::string RunningTail() {
  return running_world == nullptr ? std::string() : running_world->trace.Tail(kTailLines);
}

}  // namespace kvorum::sim
