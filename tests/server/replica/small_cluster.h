// Whole members (small_member.h) of one cluster in one thread, over a network without losses
// (small_network.h): a test stops, cuts and crashes them by number, 0 and up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/disk/sim_file_system.h"
#include "tests/server/replica/small_member.h"
#include "tests/server/replica/small_network.h"

namespace kvorum::server {

class SmallCluster {
 public:
  static constexpr const char* kToken = "etcd-cluster";

  // The members of a new cluster, named m0, m1 and so on; none is up. `options` may change those of
  // each before every start.
  SmallCluster(std::size_t size, std::uint64_t seed,
               std::function<void(LocalMemberOptions&)> options = {})
      : seed_(seed),
        change_options_(std::move(options)),
        scheduler_(seed),
        network_(scheduler_),
        rng_(seed + 1) {
    std::string initial;
    for (std::size_t i = 0; i < size; ++i) {
      initial += (i == 0 ? "" : ",") + NameOf(i) + "=" + PeerUrlOf(i);
    }
    const auto members = ParseInitialCluster(initial, kToken);
    for (std::size_t i = 0; i < size; ++i) {
      const auto member = std::ranges::find(*members, NameOf(i), &Member::name);
      AddMachine(member->id, initial, false);
    }
  }
  ~SmallCluster() {
    for (std::size_t i = 0; i < machines_.size(); ++i) Kill(i);
  }
  SmallCluster(const SmallCluster&) = delete;
  SmallCluster& operator=(const SmallCluster&) = delete;

  static std::string NameOf(std::size_t i) { return "m" + std::to_string(i); }
  static std::string PeerUrlOf(std::size_t i) {
    return "http://10.0.0." + std::to_string(i + 1) + ":2380";
  }
  // Adds a machine with an empty disk for a member that was added to the cluster; returns its
  // number.
  std::size_t AddMachine(raft::MemberId id, std::string initial_cluster, bool join_existing) {
    Machine& machine = *machines_.emplace_back(std::make_unique<Machine>());
    machine.id = id;
    machine.initial_cluster = std::move(initial_cluster);
    machine.join_existing = join_existing;
    return machines_.size() - 1;
  }

  // The machine's files are on the real disk from its next start on, below `root`, with LMDB.
  void UseLmdb(std::size_t i, std::string root) { machines_[i]->real_root = std::move(root); }
  // The in-memory backend that the machine has opened last.
  mvcc::Backend& backend(std::size_t i) { return *machines_[i]->backend; }

  // `on_open` is called with the member before it begins to run.
  Result<void> Start(std::size_t i, const std::function<void(LocalMember&)>& on_open = {}) {
    Machine& machine = *machines_[i];
    Kill(i);
    FileSystem& fs = machine.real_root.empty() ? *machine.disk : PosixFileSystem();
    machine.member = std::make_unique<SmallMember>(fs, scheduler_, network_.PortOf(machine.id));
    if (!machine.real_root.empty()) machine.member->UseLmdb(machine.real_root);
    machine.member->OnBackend([&machine](mvcc::Backend& backend) { machine.backend = &backend; });
    if (on_open) machine.member->OnOpen(on_open);
    LocalMemberOptions& options = machine.member->options();
    options.name = NameOf(i);
    options.initial_cluster = machine.initial_cluster;
    options.initial_cluster_token = kToken;
    options.join_existing = machine.join_existing;
    options.seed = seed_ * 1000 + ++starts_;
    if (change_options_) change_options_(options);
    KV_RETURN_IF_ERROR(machine.member->Start());
    network_.Plug(machine.id, &machine.member->local_member(),
                  &machine.member->local_member().incarnations());
    return {};
  }
  Result<void> StartAll() {
    for (std::size_t i = 0; i < machines_.size(); ++i) KV_RETURN_IF_ERROR(Start(i));
    return {};
  }
  // The process is gone, the disk is unchanged (kill -9).
  void Kill(std::size_t i) {
    Machine& machine = *machines_[i];
    if (machine.member == nullptr) return;
    network_.Plug(machine.id, nullptr);
    machine.member.reset();
    machine.disk->Kill();
  }
  // Power is lost as well.
  void Crash(std::size_t i, SimFileSystem::Keep keep) {
    Kill(i);
    machines_[i]->disk->Crash(keep, rng_);
  }
  // A copy of the disk as it is.
  std::unique_ptr<SimFileSystem> CopyOfDisk(std::size_t i) {
    return machines_[i]->disk->CrashImage(SimFileSystem::Keep::kAll, rng_);
  }
  // The machine gets another disk; it is down from here on.
  void ReplaceDisk(std::size_t i, std::unique_ptr<SimFileSystem> disk) {
    Kill(i);
    machines_[i]->disk = std::move(disk);
  }
  // Waits until the member has stopped in good order, then ends it.
  bool Stop(std::size_t i) {
    bool stopped = false;
    member(i).local_member().Stop([&] { stopped = true; });
    const bool in_time = scheduler_.RunUntil([&] { return stopped; });
    Kill(i);
    return in_time;
  }
  // SIGSTOP and SIGCONT: nothing of it runs, and messages wait at its door.
  void Pause(std::size_t i, bool paused) { member(i).lanes().HoldAll(paused); }

  std::size_t size() const { return machines_.size(); }
  raft::MemberId id(std::size_t i) const { return machines_[i]->id; }
  bool is_up(std::size_t i) const { return machines_[i]->member != nullptr; }
  SmallMember& member(std::size_t i) { return *machines_[i]->member; }
  Replica& replica(std::size_t i) { return member(i).local_member().replica(); }
  SimFileSystem& disk(std::size_t i) { return *machines_[i]->disk; }
  SmallNetwork& network() { return network_; }
  Scheduler& scheduler() { return scheduler_; }
  bool RunUntil(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(60)) {
    return scheduler_.RunUntil(condition, limit);
  }
  void RunFor(Duration duration) { scheduler_.RunFor(duration); }

  void Isolate(std::size_t i) { network_.Isolate(id(i)); }

  // The number of the member that says it leads, in the latest term.
  std::optional<std::size_t> Leader() {
    std::optional<std::size_t> leader;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!is_up(i) || replica(i).leader() != id(i)) continue;
      if (!leader.has_value() || replica(i).term() > replica(*leader).term()) leader = i;
    }
    return leader;
  }
  // Waits until all that are up follow one leader that is up too; its number.
  std::optional<std::size_t> WaitForLeader(Duration limit = std::chrono::seconds(60)) {
    const auto agreed = [&] {
      const std::optional<std::size_t> leader = Leader();
      if (!leader.has_value()) return false;
      for (std::size_t i = 0; i < size(); ++i) {
        if (is_up(i) &&
            (replica(i).leader() != id(*leader) || replica(i).term() != replica(*leader).term()))
          return false;
      }
      return true;
    };
    if (!RunUntil(agreed, limit)) return std::nullopt;
    return Leader();
  }
  // Waits until all members that are up have applied everything that the leader has committed.
  bool CatchUp(Duration limit = std::chrono::seconds(60)) {
    return RunUntil(
        [&] {
          const std::optional<std::size_t> leader = Leader();
          if (!leader.has_value()) return false;
          const raft::Index committed = replica(*leader).commit_index();
          for (std::size_t i = 0; i < size(); ++i) {
            if (is_up(i) && replica(i).applied_index() < committed) return false;
          }
          return true;
        },
        limit);
  }

  // Proposes through member i and waits for the outcome.
  Result<ApplyResult::Value> Propose(std::size_t i, RequestKind kind, const std::string& body,
                                     const auth::Identity& as = {}, raft::Term only_in_term = 0) {
    auto outcome = std::make_shared<std::optional<Result<ApplyResult::Value>>>();
    member(i).Propose(
        kind, body, [outcome](Result<ApplyResult::Value> value) { *outcome = std::move(value); },
        as, only_in_term);
    if (!RunUntil([&] { return outcome->has_value(); }))
      return Fail(Code::kDeadlineExceeded, "no outcome");
    return *std::move(*outcome);
  }
  // A linearizable read through member i; waits until it may be answered.
  Result<void> ReadIndex(std::size_t i) {
    auto outcome = std::make_shared<std::optional<Result<void>>>();
    replica(i).ReadIndex([outcome](const Result<void>& result) { *outcome = result; });
    if (!RunUntil([&] { return outcome->has_value(); }))
      return Fail(Code::kDeadlineExceeded, "no outcome");
    return *std::move(*outcome);
  }

 private:
  struct Machine {
    raft::MemberId id = raft::kNone;
    std::string initial_cluster;
    bool join_existing = false;
    std::string real_root;  // empty: its files are on `disk`
    std::unique_ptr<SimFileSystem> disk = std::make_unique<SimFileSystem>();
    mvcc::Backend* backend = nullptr;     // the member's
    std::unique_ptr<SmallMember> member;  // destroyed before its disk
  };

  const std::uint64_t seed_;
  const std::function<void(LocalMemberOptions&)> change_options_;
  std::uint64_t starts_ = 0;
  Scheduler scheduler_;
  SmallNetwork network_;
  Rng rng_;
  std::vector<std::unique_ptr<Machine>> machines_;  // destroyed first
};

}  // namespace kvorum::server
