// The faults of the safety phase: each run takes some kinds of faults and their rate from its seed,
// so that different runs stress different parts ("swarm testing", Groce et al. 2012).
//
// All of its faults are survivable by the fault model: a power cut takes unsynced data
// (tests/disk/sim_file_system.h); bits rot on one machine at a time, where the formats promise to
// detect it; a disk error ends the process that meets it. In runs that replace disks, one at a time
// is replaced, when the member before it has all that it had acknowledged and all others know its
// present start (docs/decisions/0053-members-that-lost-data.md says why no more can be survived).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/world/machine.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Nemesis {
 public:
  // `ended` is called for each machine whose process the nemesis has ended.
  Nemesis(World& world, std::vector<std::unique_ptr<Machine>>& machines, Network& network,
          std::function<void(Machine&)> ended);

  void Start();
  // The machine's member has begun to lead, has committed for the first time since, has voted.
  void Elected(Machine& machine);
  void FirstCommit(Machine& machine);
  void Voted(Machine& machine);
  // Causes no more faults, and ends those in effect, except for processes that are down and pauses,
  // which last at most kLongestPause.
  void Stop();

  // The machine found damage where bits were flipped: they are flipped back, as if its disk came
  // from a backup. False if nothing was damaged there.
  bool RepairRot(Machine& machine);

  // In runs that replace disks: everybody is up, has what it acknowledged, and is known to all
  // others by its present start, in their files too.
  bool AllAreWhole() const;

  static constexpr Duration kLongestPause = std::chrono::seconds(6);

 private:
  void Every(Duration mean, std::function<void()> act);
  Machine& Victim();
  Machine* UpVictim();
  SimFileSystem::Keep RandomKeep();

  void Crash();
  void PressReceivers();
  void CutPowerSoon(Machine& machine, Duration limit);
  void Isolate(std::size_t machine);
  void IsolateSoon(Machine& machine, Duration when);
  void HealLater(Duration limit);
  Duration SoonOrLater();
  void CrashAll();
  void Partition();
  void ChangeWeather();
  void Pause();
  void SlowDisk(Machine& machine);
  void BusyLoop();
  void FillDisk();
  void BreakDisk();
  void MoveClock();
  void StopGracefully();
  void Rot();
  void CopyDisk();
  void ReplaceDisk();

  struct RottenByte {
    std::size_t machine = 0;
    std::uint64_t disk = 0;  // of the machine's disks
    std::string file;
    std::uint64_t offset = 0;
    std::uint8_t mask = 0;
  };

  struct OlderDisk {
    std::uint64_t life = 0;  // of the process at that time
    std::unique_ptr<SimFileSystem> disk;
  };

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  Network& network_;
  std::function<void(Machine&)> ended_;
  bool stopped_ = false;
  raft::MemberId waits_for_commit_of_ = raft::kNone;
  std::uint64_t presses_one_in_ = 0;  // elections; 0: none
  std::uint64_t partition_ = 0;       // counts them
  std::optional<RottenByte> rotten_;
  std::map<std::size_t, OlderDisk> older_disks_;  // by machine
  bool awaits_whole_ = false;                     // since a disk was replaced
};

}  // namespace kvorum::sim
