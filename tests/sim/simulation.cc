#include "tests/sim/simulation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/logging.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kTailLines = 120;
// From the end of the faults until the cluster must have converged: pauses that are still going on,
// a restart, elections, the retries of clients.
constexpr Duration kLivenessBound = seconds(60);

const World* running = nullptr;

class Simulation final : public MachineWatcher {
 public:
  explicit Simulation(const Options& options)
      : world_(options),
        network_(world_),
        machines_(MakeMachines()),
        oracle_(world_, machines_),
        clients_(world_, machines_, ClientOptions()),
        nemesis_(world_, machines_, network_, [this](Machine& machine) { StartLater(machine); }) {
    running = &world_;
  }
  ~Simulation() override {
    running = nullptr;
    machines_.clear();
  }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Report Run() {
    for (const auto& machine : machines_) StartLater(*machine);
    clients_.Start();
    world_.scheduler.After(seconds(2), [this] { nemesis_.Start(); });
    Periodically();
    RunUntil(world_.scheduler.Now() + seconds(world_.options.seconds), [] { return false; });
    if (!world_.failed()) Converge();
    if (!world_.failed()) Judge(world_, clients_.requests(), oracle_.states());
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
                                      1 - oracle_.states().size()};
    if (world_.failed()) report.tail = world_.trace.Tail(kTailLines);
    return report;
  }

  // ---- MachineWatcher ----
  void AfterTask(Machine& machine, LaneKind lane) override {
    if (lane == LaneKind::kRaft) oracle_.AfterRaft(machine);
    if (lane == LaneKind::kApply) oracle_.AfterApply(machine);
  }
  void OnEnded(Machine& machine) override { StartLater(machine); }
  void OnEnding(Machine& machine) override { network_.Forget(machine); }

 private:
  std::vector<std::unique_ptr<Machine>> MakeMachines() {
    std::string cluster;
    for (std::size_t i = 0; i < world_.options.members; ++i)
      cluster += fmt::format("{}m{}=http://10.0.0.{}:2380", i == 0 ? "" : ",", i + 1, i + 1);
    Rng& rng = world_.scheduler.rng();
    server::InstanceOptions options;
    options.initial_cluster = cluster;
    options.initial_cluster_token = "simulation";
    constexpr std::array kTicks = {milliseconds(20), milliseconds(50), milliseconds(100)};
    options.replica.tick = kTicks[rng.Below(kTicks.size())];
    options.replica.request_timeout = seconds(5) + 20 * options.replica.tick;
    options.replica.snapshot_count = 1'000'000'000;
    constexpr std::array<std::size_t, 3> kAppendBytes = {1, 300, 1 << 20};
    options.raft.max_append_size_bytes = kAppendBytes[rng.Below(kAppendBytes.size())];
    constexpr std::array<std::size_t, 3> kInflight = {2, 16, 512};
    options.raft.max_inflight_messages = kInflight[rng.Below(kInflight.size())];
    options.log.max_wals = 1;
    options.log.max_snapshots = 1;
    options.wal.segment_size_bytes = 16'384;
    options.wal.reserve_size_bytes = 0;
    options.wal.zero_segments = false;
    options.store.restore_threads = 1;
    options.store.commit.batch_operations = 1 + rng.Below(30);
    options.store.compaction.batch_limit = 4;
    options.log.unsafe_no_fsync = world_.options.flaw == Flaw::kUnsyncedLog;
    if (world_.options.flaw == Flaw::kLeaseReads) options.raft.read_mode = raft::ReadMode::kLease;

    std::vector<std::unique_ptr<Machine>> machines;
    for (std::size_t i = 0; i < world_.options.members; ++i) {
      machines.push_back(std::make_unique<Machine>(world_, *this, i, fmt::format("m{}", i + 1)));
      machines.back()->options() = options;
      machines.back()->options().name = machines.back()->name();
      network_.Connect(*machines.back());
    }
    world_.Note("{} members, seed {}, tick {} ms, appends of {} bytes, {} in flight",
                machines.size(), world_.options.seed, options.replica.tick.count() / 1'000'000,
                options.raft.max_append_size_bytes, options.raft.max_inflight_messages);
    return machines;
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

  // The operator's supervisor.
  void StartLater(Machine& machine) {
    world_.scheduler.After(world_.scheduler.Between(milliseconds(20), seconds(4)),
                           [this, &machine] { StartNow(machine); });
  }

  void StartNow(Machine& machine) {
    if (machine.up() || world_.failed() || stays_down_.at(machine.number())) return;
    const SimFileSystem::Counters before = machine.disk().counters();
    const Result<void> started = machine.Start();
    if (started.has_value()) return;
    const SimFileSystem::Counters after = machine.disk().counters();
    const bool disk_failed = after.io_errors != before.io_errors ||
                             after.no_space_errors != before.no_space_errors ||
                             after.power_cuts != before.power_cuts;
    if (disk_failed || nemesis_.RepairRot(machine)) return StartLater(machine);
    world_.Fail("{} refuses to start: {}", machine.name(), started.error().message);
  }

  void Periodically() {
    world_.scheduler.After(seconds(1), [this] {
      oracle_.CheckAll();
      Periodically();
    });
  }

  // False when that time has come before the condition.
  template <class Condition>
  bool RunUntil(TimePoint end, Condition&& condition) {
    while (!world_.failed() && world_.scheduler.Now() < end) {
      if (condition()) return true;
      if (!world_.scheduler.Step()) break;
    }
    return condition();
  }

  void Converge() {
    clients_.Stop();
    nemesis_.Stop();
    world_.Note("---- the faults are over ----");
    // A minority may be gone for good.
    if (world_.scheduler.rng().OneIn(3)) {
      const std::size_t gone = (machines_.size() - 1) / 2;
      const std::size_t first = world_.scheduler.rng().Below(machines_.size());
      for (std::size_t i = 0; i < gone; ++i) {
        Machine& machine = *machines_[(first + i) % machines_.size()];
        stays_down_[machine.number()] = true;
        if (machine.up()) machine.Kill();
      }
    }
    std::vector<Machine*> live;
    for (const auto& machine : machines_) {
      if (stays_down_[machine->number()]) continue;
      live.push_back(machine.get());
      WriteAndRead(*machine);
    }
    const TimePoint end = world_.scheduler.Now() + kLivenessBound;
    const bool converged = RunUntil(end, [&] {
      return proven_.size() == live.size() && clients_.pending() == 0 && AreEqual(live);
    });
    if (world_.failed()) return;
    if (!converged) {
      std::string states;
      for (Machine* machine : live) {
        if (!machine->up()) {
          states += machine->name() + " is down; ";
          continue;
        }
        server::Replica& replica = machine->instance().replica();
        states += fmt::format("{} term {} leader {:x} commit {} applied {}; ", machine->name(),
                              replica.term(), replica.leader(), replica.commit_index(),
                              replica.applied_index());
      }
      return world_.Fail("not converged {} s after the faults: {}{} of {} members proven",
                         kLivenessBound.count() / 1'000'000'000, states, proven_.size(),
                         live.size());
    }
    FlushAll(live);
    if (world_.failed()) return;
    oracle_.CheckAll();
    oracle_.CheckEqual(live);
  }

  // A member is proven once it has taken a write and then answered a linearizable read.
  void WriteAndRead(Machine& machine) {
    if (world_.failed()) return;
    const auto again = [this, &machine] {
      world_.scheduler.After(milliseconds(200), [this, &machine] { WriteAndRead(machine); });
    };
    if (!machine.up()) return again();
    Request put = PutOf(clients_.RandomKey(), clients_.NewValue());
    clients_.Ask(machine.number(), std::move(put), [this, &machine, again](bool written) {
      if (!written) return again();
      clients_.Ask(machine.number(), ReadOfAll(false), [this, &machine, again](bool answered) {
        if (!answered) return again();
        proven_.push_back(machine.number());
      });
    });
  }

  bool AreEqual(const std::vector<Machine*>& live) const {
    for (Machine* machine : live) {
      if (!machine->up()) return false;
    }
    const server::Replica& first = live.front()->instance().replica();
    return std::ranges::all_of(live, [&](Machine* machine) {
      server::Replica& replica = machine->instance().replica();
      return replica.leader() != raft::kNone && replica.leader() == first.leader() &&
             replica.applied_index() == first.applied_index() &&
             replica.applied_index() == replica.node().log().last_index();
    });
  }

  void FlushAll(const std::vector<Machine*>& live) {
    std::size_t flushed = 0;
    for (Machine* machine : live) machine->instance().store().Flush([&flushed] { ++flushed; });
    if (!RunUntil(world_.scheduler.Now() + seconds(20), [&] { return flushed == live.size(); }))
      world_.Fail("a backend does not commit");
  }

  World world_;
  const TimePoint began_ = world_.scheduler.Now();
  std::vector<bool> stays_down_ = std::vector<bool>(world_.options.members);
  std::vector<std::size_t> proven_;
  Network network_;
  std::vector<std::unique_ptr<Machine>> machines_;
  Oracle oracle_;
  Clients clients_;
  Nemesis nemesis_;
};

}  // namespace

std::size_t MembersOf(std::uint64_t seed) { return seed % 4 == 3 ? 5 : 3; }

Report RunSimulation(const Options& options) {
  SetLogLevel(LogLevel::kPanic);  // what goes wrong is in the trace
  return Simulation(options).Run();
}

std::string ReplayCommand(const Options& options) {
  std::string command =
      fmt::format("build/release/bin/kvorum-sim --seed {} --members {} --seconds {}", options.seed,
                  options.members, options.seconds);
  if (options.flaw == Flaw::kUnsyncedLog) command += " --flaw unsynced-log";
  if (options.flaw == Flaw::kLeaseReads) command += " --flaw lease-reads";
  return command + " --trace trace.txt";
}

std::string RunningTail() {
  return running == nullptr ? std::string() : running->trace.Tail(kTailLines);
}

}  // namespace kvorum::sim
