// One simulated machine: a disk, clocks, and the life of the server process on it. The process is
// the production server::LocalMember over this disk, the backend's in-memory twin and lanes of the
// run's scheduler.
//
// A process ends by Kill (written data stays), by PowerCut (unsynced data may be lost), by Stop
// (gracefully), or by itself when it says so (on_fatal); its watcher (MachineWatcher) restarts it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "auth/simple_tokens.h"
#include "datadir/data_directory.h"
#include "server/replica/member/local_member.h"
#include "server/replica/recovery/local_member_options.h"
#include "tests/disk/sim_file_system.h"
#include "tests/sim/world/drifting_clock.h"
#include "tests/sim/world/lane.h"
#include "tests/sim/world/process_file_system.h"
#include "tests/sim/world/services.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

enum class LaneKind : std::uint8_t {
  kRaft,
  kWal,
  kApply,
  kBackend,
  kCopier,
  kIo,
  kPeer,
  kWatch,
  kPasswords,
  kIntegrity
};

class Machine;

class MachineWatcher {
 public:
  virtual ~MachineWatcher() = default;
  // After a task of that executor.
  virtual void AfterTask(Machine& machine, LaneKind lane) = 0;
  // The process has ended by itself or by a due power cut.
  virtual void OnEnded(Machine& machine) = 0;
  // Its remains are about to be destroyed: nothing may refer to its member any more.
  virtual void OnEnding(Machine& machine) = 0;
};

class Machine {
 public:
  static constexpr const char* kDataDir = "/data";
  static constexpr const char* kIncarnationFile = "/data/member/incarnation";
  static constexpr const char* kQuarantineFile = "/data/member/quarantined";

  Machine(World& world, MachineWatcher& watcher, std::size_t number, std::string name);
  ~Machine();

  std::size_t number() const { return number_; }
  const std::string& name() const { return name_; }
  SimFileSystem& disk() { return *disk_; }
  DriftingClock& clock() { return clock_; }
  const DriftingClock& clock() const { return clock_; }
  void SetClockRate(std::int64_t rate_ppm) {
    clock_.SetRate(rate_ppm);
    world_.fastest_clock.SetRate(number_, rate_ppm);
  }
  // Read at each start.
  server::LocalMemberOptions& options() { return options_; }
  std::function<server::Transport&()> transport;
  // The services of a process that begins, over its local_member.
  std::function<std::unique_ptr<Services>()> make_services;
  static std::string WalDir() { return std::string(kDataDir) + "/member/wal"; }

  bool up() const { return local_member_ != nullptr; }
  // Counts its processes.
  std::uint64_t life() const { return life_; }
  server::LocalMember& local_member() { return *local_member_; }
  Services& services() { return *services_; }
  const Services& services() const { return *services_; }
  // Its disk, as the process sees it.
  FileSystem& files() { return *files_; }
  // The process's: they live in its memory.
  auth::SimpleTokens& tokens() { return *tokens_; }
  // That of the last process that got this far.
  raft::MemberId member_id() const { return member_id_; }
  Lane& lane(LaneKind kind) { return *lanes_[static_cast<std::size_t>(kind)]; }

  // An error says why it refuses to start.
  Result<void> Start();
  void Kill();
  void PowerCut(SimFileSystem::Keep keep);
  // Power goes at the nth write operation from now on.
  void PowerCutAt(std::uint64_t nth_operation, SimFileSystem::Keep keep);
  // Hands leadership over and ends gracefully; calls OnEnded when it is done.
  void Stop();
  // Its member was removed, as it has just learnt: ends a little later.
  void EndRemoved();
  // Pauses the whole process until then.
  void PauseUntil(TimePoint until);
  // The disk is replaced by an empty one. The process is down.
  void Wipe();
  // From the next start on, until one succeeds, the peers cannot be asked.
  void Insist() { insists_ = true; }
  bool insists() const { return insists_; }
  // The disk is replaced by this one. The process is down.
  void ReplaceDisk(std::unique_ptr<SimFileSystem> disk);
  // The disk as it is now.
  std::unique_ptr<SimFileSystem> CopyOfDisk();
  // Counts them.
  std::uint64_t disks() const { return disks_; }

  // Proposes a request, from an I/O thread; `done` gets the outcome unless the process ends first.
  void Propose(server::RequestKind kind, std::string_view body,
               std::move_only_function<void(Result<server::ApplyResult::Value>)> done);

 private:
  Result<void> Open();
  void AfterTask(LaneKind kind);
  // After a disk error the machine is restarted as well, not the process alone: a failed sync
  // leaves data in the machine's memory that the disk never got, and a process restarted on it
  // would consider that durable (docs/simulation.md).
  void EndAfterError();
  // The process is gone from one moment to the next. The disk has been dealt with.
  void End();
  void CountCrash(const SimFileSystem::Counters& before);

  World& world_;
  MachineWatcher& watcher_;
  const std::size_t number_;
  const std::string name_;
  std::unique_ptr<SimFileSystem> disk_;
  DriftingClock clock_;
  server::LocalMemberOptions options_;
  std::uint64_t life_ = 0;
  std::uint64_t disks_ = 1;
  bool insists_ = false;
  raft::MemberId member_id_ = raft::kNone;
  std::optional<SimFileSystem::Keep> power_cut_due_;
  std::uint64_t power_cuts_seen_ = 0;
  std::uint64_t io_errors_seen_ = 0;

  // State of the process.
  std::unique_ptr<ProcessFileSystem> files_;
  std::array<std::shared_ptr<Lane>, 10> lanes_;
  datadir::DataDirectory directory_;
  std::unique_ptr<auth::SimpleTokens> tokens_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<server::LocalMember> local_member_;
  std::optional<Error> fatal_;
  bool stopping_ = false;
  bool stopped_ = false;
  bool removed_ = false;
};

}  // namespace kvorum::sim
