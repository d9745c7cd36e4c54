#include "tests/sim/nemesis.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "api/member_id.h"
#include "server/peer/io/incarnation.h"

namespace kvorum::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMaxFileBytes = 1 << 16;

}  // namespace

Nemesis::Nemesis(World& world, std::vector<std::unique_ptr<Machine>>& machines, Network& network,
                 std::function<void(Machine&)> ended)
    : world_(world), machines_(machines), network_(network), ended_(std::move(ended)) {}

void Nemesis::Start() {
  Rng& rng = world_.scheduler.rng();
  const auto maybe = [&](Duration mean, std::function<void()> act) {
    // Between a fourth and twice the rate, or not at all.
    const Duration rate = world_.scheduler.Between(mean / 2, mean * 4);
    if (rng.OneIn(3)) return;
    Every(rate, std::move(act));
  };
  maybe(seconds(6), [this] { Crash(); });
  if (!rng.OneIn(3)) PressReceivers();
  constexpr std::array<std::uint64_t, 5> kPresses = {0, 0, 1, 2, 4};
  presses_one_in_ = kPresses[rng.Below(kPresses.size())];
  maybe(seconds(60), [this] { CrashAll(); });
  maybe(seconds(4), [this] { Partition(); });
  maybe(seconds(3), [this] { ChangeWeather(); });
  maybe(seconds(8), [this] { Pause(); });
  maybe(seconds(6), [this] {
    if (Machine* victim = UpVictim(); victim != nullptr) SlowDisk(*victim);
  });
  maybe(seconds(1), [this] { BusyLoop(); });
  maybe(seconds(20), [this] { FillDisk(); });
  maybe(seconds(20), [this] { BreakDisk(); });
  maybe(seconds(10), [this] { MoveClock(); });
  maybe(seconds(20), [this] { StopGracefully(); });
  maybe(seconds(20), [this] { Rot(); });
  if (!world_.has_replaced_disks) return;
  Every(seconds(2), [this] { CopyDisk(); });
  Every(milliseconds(1'500), [this] { ReplaceDisk(); });
}

void Nemesis::Stop() {
  stopped_ = true;
  network_.Heal();
  network_.SetWeather({});
  network_.Hurry();
  for (const auto& machine : machines_) {
    machine->disk().ClearFaults();
    machine->disk().SetCapacity(std::nullopt);
    machine->disk().PowerOffAt(std::uint64_t{1} << 62);  // never
    machine->SetClockRate(DriftingClock::kExact);
  }
}

void Nemesis::Every(Duration mean, std::function<void()> act) {
  world_.scheduler.After(world_.scheduler.Between(Duration(0), 2 * mean),
                         [this, mean, act = std::move(act)]() mutable {
                           if (stopped_) return;
                           act();
                           Every(mean, std::move(act));
                         });
}

// The leader more often than others.
Machine& Nemesis::Victim() {
  Rng& rng = world_.scheduler.rng();
  if (rng.OneIn(2)) {
    for (const auto& machine : machines_) {
      if (machine->up() &&
          machine->local_member().replica().leader() == machine->local_member().member_id())
        return *machine;
    }
  }
  return *machines_[rng.Below(machines_.size())];
}

Machine* Nemesis::UpVictim() {
  Machine& victim = Victim();
  return victim.up() ? &victim : nullptr;
}

SimFileSystem::Keep Nemesis::RandomKeep() {
  return SimFileSystem::kAllKeeps[world_.scheduler.rng().Below(SimFileSystem::kAllKeeps.size())];
}

void Nemesis::Crash() {
  Machine* victim = UpVictim();
  if (victim == nullptr) return;
  switch (world_.scheduler.rng().Below(5)) {
    case 0:
      world_.faults.Add(Fault::kKill);
      victim->Kill();
      return ended_(*victim);
    case 1:
      victim->PowerCut(RandomKeep());
      return ended_(*victim);
    default:  // its end is reported by the machine
      victim->PowerCutAt(1 + world_.scheduler.rng().Below(30), world_.scheduler.rng().OneIn(2)
                                                                   ? SimFileSystem::Keep::kGarbage
                                                                   : RandomKeep());
  }
}

// Stresses members that receive a snapshot, from its first part until after its installation: they
// lose power, or their disk is slow, so that no member learns that it has arrived.
void Nemesis::PressReceivers() {
  network_.on_receiving = [this](Machine& machine) {
    Rng& rng = world_.scheduler.rng();
    if (stopped_) return;
    switch (rng.Below(6)) {
      case 0:
        return machine.PowerCutAt(1 + rng.Below(25), RandomKeep());
      case 1:
        return CutPowerSoon(machine, milliseconds(200));
      case 2:
      case 3:
        return SlowDisk(machine);
      default:
        return;
    }
  };
}

void Nemesis::CutPowerSoon(Machine& machine, Duration limit) {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(0), limit),
                         [this, &machine, life = machine.life()] {
                           if (stopped_ || !machine.up() || machine.life() != life) return;
                           machine.PowerCut(RandomKeep());
                           ended_(machine);
                         });
}

// Leaders that disappear early leave logs that differ: some cannot even send their first entry,
// others not their first commit (figure 8 of the paper).
void Nemesis::Elected(Machine& machine) {
  Rng& rng = world_.scheduler.rng();
  if (stopped_ || presses_one_in_ == 0 || !rng.OneIn(presses_one_in_)) return;
  switch (rng.Below(5)) {
    case 0:
    case 1:
      return IsolateSoon(machine, Duration(0));
    case 2:
      return IsolateSoon(machine, SoonOrLater());
    case 3:
      return CutPowerSoon(machine, SoonOrLater());
    default:
      waits_for_commit_of_ = machine.member_id();
  }
}

void Nemesis::FirstCommit(Machine& machine) {
  if (stopped_ || machine.member_id() != waits_for_commit_of_) return;
  IsolateSoon(machine, Duration(0));
}

void Nemesis::IsolateSoon(Machine& machine, Duration when) {
  const bool comes_back = world_.scheduler.rng().OneIn(2);
  world_.scheduler.After(when, [this, &machine, comes_back] {
    if (stopped_) return;
    Isolate(machine.number());
    HealLater(seconds(2));
    if (!comes_back) CutPowerSoon(machine, milliseconds(400));
  });
}

void Nemesis::Voted(Machine& machine) {
  if (stopped_ || presses_one_in_ == 0 || !world_.scheduler.rng().OneIn(5)) return;
  CutPowerSoon(machine, SoonOrLater());
}

// A moment of any size: a message takes one millisecond, an election hundreds.
Duration Nemesis::SoonOrLater() {
  constexpr std::array kMost = {milliseconds(1), milliseconds(4), milliseconds(12),
                                milliseconds(40), milliseconds(400)};
  return world_.scheduler.Between(Duration(0), kMost[world_.scheduler.rng().Below(kMost.size())]);
}

void Nemesis::CrashAll() {
  std::size_t up = 0;
  for (const auto& machine : machines_) {
    if (!machine->up()) continue;
    ++up;
    machine->PowerCut(RandomKeep());
    ended_(*machine);
  }
  if (up > machines_.size() / 2) world_.faults.Add(Fault::kAllDown);
}

void Nemesis::Partition() {
  Rng& rng = world_.scheduler.rng();
  const std::size_t count = machines_.size();
  const auto cut = [&](std::size_t from, std::size_t to) {
    if (from != to) network_.Cut(from, to);
  };
  const std::size_t victim = Victim().number();
  const std::uint64_t kind = rng.Below(5);
  world_.Note("partition of kind {} around {}", kind, machines_[victim]->name());
  switch (kind) {
    case 0:
      Isolate(victim);
      break;
    case 1: {  // two halves
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < count; ++j) {
          if ((i % 2 == 0) != (j % 2 == 0)) cut(i, j);
        }
      }
      break;
    }
    case 2:  // hears, and is not heard
      for (std::size_t i = 0; i < count; ++i) cut(victim, i);
      break;
    case 3:  // is heard, and hears nothing
      for (std::size_t i = 0; i < count; ++i) cut(i, victim);
      break;
    default:  // single links
      for (std::size_t i = 0; i < count; ++i) cut(rng.Below(count), rng.Below(count));
  }
  HealLater(seconds(6));
}

void Nemesis::Isolate(std::size_t machine) {
  world_.Note("{} is cut off", machines_[machine]->name());
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    if (i == machine) continue;
    network_.Cut(i, machine);
    network_.Cut(machine, i);
  }
}

void Nemesis::HealLater(Duration limit) {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(50), limit),
                         [this, number = ++partition_] {
                           if (number != partition_) return;
                           world_.Note("the network is whole again");
                           network_.Heal();
                         });
}

void Nemesis::ChangeWeather() {
  Rng& rng = world_.scheduler.rng();
  Network::Weather weather;
  if (rng.OneIn(2)) weather.lost_permille = rng.Below(200);
  if (rng.OneIn(2)) weather.repeated_permille = rng.Below(200);
  if (rng.OneIn(2)) {
    weather.late_permille = rng.Below(300);
    weather.late_delay = world_.scheduler.Between(milliseconds(5), seconds(3));
  }
  if (rng.OneIn(4))
    weather.most_delay = world_.scheduler.Between(milliseconds(2), milliseconds(80));
  if (rng.OneIn(2)) weather.snapshot_cut_permille = rng.Below(200);
  network_.SetWeather(weather);
}

void Nemesis::Pause() {
  Machine* victim = UpVictim();
  if (victim == nullptr) return;
  const Duration pause = world_.scheduler.Between(milliseconds(50), kLongestPause);
  world_.Note("{} stands still for {} ms", victim->name(), pause.count() / 1'000'000);
  world_.faults.Add(Fault::kPause);
  victim->PauseUntil(world_.scheduler.Now() + pause);
}

void Nemesis::SlowDisk(Machine& machine) {
  const Duration stall = world_.scheduler.Between(milliseconds(20), kLongestPause);
  const LaneKind lane = world_.scheduler.rng().OneIn(3) ? LaneKind::kBackend : LaneKind::kWal;
  world_.Note("the disk of {} takes {} ms ({})", machine.name(), stall.count() / 1'000'000,
              lane == LaneKind::kWal ? "log" : "backend");
  world_.faults.Add(Fault::kSlowDisk);
  machine.lane(lane).HoldUntil(world_.scheduler.Now() + stall);
}

// The loop of the clients' connections has something long to do.
void Nemesis::BusyLoop() {
  Machine* victim = UpVictim();
  if (victim == nullptr) return;
  world_.faults.Add(Fault::kBusyLoop);
  victim->lane(LaneKind::kIo)
      .HoldUntil(world_.scheduler.Now() +
                 world_.scheduler.Between(milliseconds(1), milliseconds(500)));
}

void Nemesis::FillDisk() {
  Machine& victim = Victim();
  world_.Note("the disk of {} is full", victim.name());
  const std::uint64_t before = victim.disk().counters().no_space_errors;
  const std::uint64_t disk = victim.disks();
  victim.disk().SetCapacity(world_.scheduler.rng().Below(20'000));
  world_.scheduler.After(
      world_.scheduler.Between(milliseconds(200), seconds(5)), [this, &victim, disk, before] {
        if (victim.disks() != disk) return;
        victim.disk().SetCapacity(std::nullopt);
        world_.faults.Add(Fault::kDiskFull, victim.disk().counters().no_space_errors - before);
      });
}

void Nemesis::BreakDisk() {
  Machine* victim = UpVictim();
  if (victim == nullptr) return;
  world_.Note("the disk of {} will fail once", victim->name());
  const std::uint64_t before = victim->disk().counters().io_errors;
  victim->disk().FailAt(1 + world_.scheduler.rng().Below(20), SimFileSystem::Fault::kIoError);
  world_.scheduler.After(seconds(5), [this, victim, disk = victim->disks(), before] {
    if (victim->disks() != disk) return;
    victim->disk().ClearFaults();
    world_.faults.Add(Fault::kIoError, victim->disk().counters().io_errors - before);
  });
}

void Nemesis::MoveClock() {
  Machine& victim = Victim();
  if (world_.scheduler.rng().OneIn(2)) {
    const Duration jump = world_.scheduler.Between(-hours(2), hours(2));
    world_.Note("the wall clock of {} jumps by {} s", victim.name(), jump.count() / 1'000'000'000);
    world_.faults.Add(Fault::kClockJump);
    victim.clock().JumpWall(jump);
    return;
  }
  const auto rate = static_cast<std::int64_t>(700'000 + world_.scheduler.rng().Below(700'000));
  world_.Note("the clock of {} runs at {} ppm", victim.name(), rate);
  world_.faults.Add(Fault::kClockDrift);
  victim.SetClockRate(rate);
}

void Nemesis::StopGracefully() {
  Machine* victim = UpVictim();
  if (victim == nullptr) return;
  world_.faults.Add(Fault::kGracefulStop);
  victim->Stop();
}

// On one machine that is down, in a segment of the log other than the last one, or in the backend.
void Nemesis::Rot() {
  if (rotten_.has_value() && machines_[rotten_->machine]->disks() == rotten_->disk) return;
  for (const auto& machine : machines_) {
    if (machine->up()) continue;
    SimFileSystem& disk = machine->disk();
    std::vector<std::string> files;
    const std::string wal = std::string(Machine::kDataDir) + "/member/wal";
    if (const auto names = disk.List(wal); names.has_value()) {
      for (const std::string& name : *names) {
        if (name.ends_with(".wal")) files.push_back((wal + "/").append(name));
      }
      if (!files.empty()) files.pop_back();
    }
    files.push_back(std::string(Machine::kDataDir) + "/member/snap/db");
    Rng& rng = world_.scheduler.rng();
    RottenByte rotten{.machine = machine->number(),
                      .disk = machine->disks(),
                      .file = files[rng.Below(files.size())],
                      .offset = rng.Below(4000),
                      .mask = static_cast<std::uint8_t>(1U << rng.Below(8))};
    if (!disk.Corrupt(rotten.file, rotten.offset, rotten.mask)) continue;
    world_.Note("a bit of {} rots: {} at {}", machine->name(), rotten.file, rotten.offset);
    world_.faults.Add(Fault::kBitRot);
    rotten_ = std::move(rotten);
    return;
  }
}

// A process ends now and then behind it, so that the copy is one of an earlier life.
void Nemesis::CopyDisk() {
  Rng& rng = world_.scheduler.rng();
  Machine& machine = *machines_[rng.Below(world_.options.members)];
  if (rotten_.has_value() && rotten_->machine == machine.number()) return;
  OlderDisk& older = older_disks_[machine.number()];
  if (older.disk != nullptr && older.life < machine.life() && rng.OneIn(2)) return;
  older = {.life = machine.life(), .disk = machine.CopyOfDisk()};
  if (!machine.up() || !rng.OneIn(3)) return;
  machine.Kill();
  ended_(machine);
}

bool Nemesis::AllAreWhole() const {
  const std::span members(machines_.data(), world_.options.members);
  const auto is_whole = [](const auto& machine) {
    return machine->up() && machine->local_member().replica().status().lost_data() == 0;
  };
  if (!std::ranges::all_of(members, is_whole)) return false;
  for (const auto& machine : members) {
    const auto own = server::Incarnation::Parse(machine->local_member().incarnations().Own());
    const std::string start = server::IdText(own.value().recent.front());
    for (const auto& other : members) {
      if (other == machine) continue;
      const auto seen = ReadWholeFile(other->disk(), Machine::kIncarnationFile, kMaxFileBytes);
      if (!seen.has_value() || seen->find(start) == std::string::npos) return false;
    }
  }
  return true;
}

void Nemesis::ReplaceDisk() {
  if (!AllAreWhole()) return;
  if (std::exchange(awaits_whole_, false)) world_.faults.Add(Fault::kLossMadeGood);
  Machine& victim = *machines_[world_.scheduler.rng().Below(world_.options.members)];
  const server::Replica& replica = victim.local_member().replica();
  // Its acknowledgements and its vote belong to this leader or to earlier ones: a vote for a
  // later one would be forgotten.
  const auto leader = std::ranges::find(machines_, replica.leader(),
                                        [](const auto& machine) { return machine->member_id(); });
  if (leader == machines_.end() || !(*leader)->up()) return;
  const server::Replica& leading = (*leader)->local_member().replica();
  if (leading.leader() != (*leader)->member_id() || leading.term() != replica.term()) return;
  const auto older = older_disks_.find(victim.number());
  // A copy made since the last start that others have seen would not be noticed.
  const bool is_older = older != older_disks_.end() && older->second.life < victim.life();
  if (!is_older && !world_.scheduler.rng().OneIn(4)) return;
  awaits_whole_ = true;
  victim.Kill();
  if (is_older) {
    world_.faults.Add(Fault::kDiskReplaced);
    world_.Note("{} gets its disk of life {}", victim.name(), older->second.life);
    victim.ReplaceDisk(std::move(older->second.disk));
    older_disks_.erase(older);
  } else {
    world_.faults.Add(Fault::kDiskWiped);
    victim.Wipe();
  }
  ended_(victim);
}

bool Nemesis::RepairRot(Machine& machine) {
  if (!rotten_.has_value() || rotten_->machine != machine.number() ||
      rotten_->disk != machine.disks())
    return false;
  world_.Note("{} found the damage, and its disk is restored", machine.name());
  world_.faults.Add(Fault::kBitRotDetected);
  static_cast<void>(machine.disk().Corrupt(rotten_->file, rotten_->offset, rotten_->mask));
  rotten_.reset();
  return true;
}

}  // namespace kvorum::sim
