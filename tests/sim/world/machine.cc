#include "tests/sim/world/machine.h"

#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "tests/disk/memory_backend.h"

namespace kvorum::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The limits that server/process/process/process.cc has.
constexpr Duration kTransferLimit = seconds(3);
constexpr Duration kRemovalDelay = seconds(1);

Lane::Options SpeedOf(LaneKind kind) {
  switch (kind) {
    case LaneKind::kRaft:
    case LaneKind::kApply:
    case LaneKind::kIo:
    case LaneKind::kPeer:
      return {.least = microseconds(1), .most = microseconds(40), .stalled = milliseconds(20)};
    case LaneKind::kWal:
      return {.least = microseconds(50), .most = milliseconds(3), .stalled = milliseconds(200)};
    case LaneKind::kWatch:  // it reads the database
    case LaneKind::kIntegrity:
      return {.least = microseconds(10), .most = milliseconds(20), .stalled = milliseconds(300)};
    case LaneKind::kBackend:
    case LaneKind::kCopier:
    case LaneKind::kPasswords:
      return {.least = microseconds(200), .most = milliseconds(10), .stalled = milliseconds(500)};
  }
  return {};
}

// By the marks in the database; revisions are written so that they compare as text.
bool HasUnfinishedCompaction(mvcc::Store& store) {
  std::string scheduled;
  std::string finished;
  const auto read =
      store.ForEach(mvcc::Bucket::kMeta, [&](std::string_view key, std::string_view value) {
        if (key == "scheduledCompactRev") scheduled = value;
        if (key == "finishedCompactRev") finished = value;
      });
  return read.has_value() && scheduled > finished;
}

}  // namespace

Machine::Machine(World& world, MachineWatcher& watcher, std::size_t number, std::string name)
    : world_(world),
      watcher_(watcher),
      number_(number),
      name_(std::move(name)),
      disk_(std::make_unique<SimFileSystem>()),
      clock_(world.scheduler) {}

Machine::~Machine() {
  if (up()) End();
}

Result<void> Machine::Start() {
  ++life_;
  fatal_.reset();
  stopping_ = false;
  stopped_ = false;
  removed_ = false;
  files_ = std::make_unique<ProcessFileSystem>(*disk_);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const auto kind = static_cast<LaneKind>(i);
    lanes_[i] = std::make_shared<Lane>(world_.scheduler, clock_, SpeedOf(kind),
                                       [this, kind] { AfterTask(kind); });
  }
  if (world_.has_lent_apply) {
    lane(LaneKind::kApply)
        .StartLending(
            [this] {
              world_.faults.Add(Fault::kApplyLent);
              watcher_.AfterTask(*this, LaneKind::kRaft);  // which entry is committed
            },
            [this] { watcher_.AfterTask(*this, LaneKind::kApply); });
  }
  // None ends by its age: a run is too short to tell that from another end.
  tokens_ = std::make_unique<auth::SimpleTokens>(
      clock_, auth::SimpleTokens::Options{.ttl = std::chrono::hours(24)});
  const Result<void> opened = Open();
  if (opened.has_value()) {
    member_id_ = local_member_->member_id();
    insists_ = false;
    world_.Note("{} start life {} member {:x} revision {}", name_, life_, member_id_,
                local_member_->store().revision());
    if (HasUnfinishedCompaction(local_member_->store()))
      world_.faults.Add(Fault::kCompactionResumed);
    if (local_member_->store().has_loaded_index() &&
        local_member_->store().metrics().later_records.load() > 0)
      world_.faults.Add(Fault::kIndexLoaded);
    services_ = make_services();
    local_member_->Start(transport());
    return {};
  }
  world_.Note("{} refuses to start: {}", name_, opened.error().message);
  const bool power_cut = disk_->counters().power_cuts != power_cuts_seen_;
  if (power_cut) {
    PowerCut(power_cut_due_.value_or(SimFileSystem::Keep::kRandom));
  } else {
    EndAfterError();
  }
  return opened;
}

Result<void> Machine::Open() {
  KV_TRY(directory_, datadir::OpenDataDirectory(*files_, kDataDir, ""));
  options_.wal_dir = directory_.wal;
  options_.snap_dir = directory_.snap;
  options_.database_note = kQuarantineFile;
  options_.seed = world_.scheduler.rng()();
  options_.simple_tokens = tokens_.get();
  options_.on_removed = [this] { EndRemoved(); };
  KV_TRY(local_member_,
         server::LocalMember::Open(
             *files_,
             [this](const std::string& path) { return mvcc::OpenMemoryBackend(*files_, path); },
             {.raft = lane(LaneKind::kRaft),
              .wal = lane(LaneKind::kWal),
              .apply = lane(LaneKind::kApply),
              .backend = lane(LaneKind::kBackend),
              .copier = lane(LaneKind::kCopier)},
             options_,
             [this](const Error& error) {
               if (!fatal_.has_value()) fatal_ = error;
             }));
  return {};
}

void Machine::AfterTask(LaneKind kind) {
  if (disk_->counters().power_cuts != power_cuts_seen_) {
    world_.faults.Add(Fault::kPowerCutAtIo);
    PowerCut(power_cut_due_.value_or(SimFileSystem::Keep::kRandom));
    return watcher_.OnEnded(*this);
  }
  if (fatal_.has_value()) {
    world_.Note("{} ends by itself: {}", name_, fatal_->message);
    EndAfterError();
    return watcher_.OnEnded(*this);
  }
  if (stopped_) {
    world_.Note("{} has stopped", name_);
    disk_->Kill();
    End();
    return watcher_.OnEnded(*this);
  }
  watcher_.AfterTask(*this, kind);
}

void Machine::EndAfterError() {
  if (disk_->counters().io_errors != io_errors_seen_) {
    io_errors_seen_ = disk_->counters().io_errors;
    return PowerCut(SimFileSystem::Keep::kRandom);
  }
  disk_->Kill();
  End();
}

void Machine::End() {
  files_->Die();
  watcher_.OnEnding(*this);
  for (auto& lane : lanes_) lane->Stop();
  if (services_ != nullptr) services_->BreakCalls();
  local_member_.reset();
  if (services_ != nullptr && services_->waiting_calls() != 0)
    world_.Fail("{} has ended, and {} calls wait there", name_, services_->waiting_calls());
  services_.reset();
  directory_ = {};
}

void Machine::Kill() {
  world_.Note("{} is killed", name_);
  disk_->Kill();
  End();
}

void Machine::PowerCut(SimFileSystem::Keep keep) {
  world_.Note("{} loses power", name_);
  const SimFileSystem::Counters before = disk_->counters();
  disk_->Crash(keep, world_.scheduler.rng());
  CountCrash(before);
  power_cut_due_.reset();
  power_cuts_seen_ = disk_->counters().power_cuts;
  End();
  clock_.Boot(world_.scheduler.Between(seconds(0), seconds(1000)));
}

void Machine::CountCrash(const SimFileSystem::Counters& before) {
  const SimFileSystem::Counters now = disk_->counters();
  world_.faults.Add(Fault::kPowerCut);
  world_.faults.Add(Fault::kUnsyncedLost, now.sectors_lost - before.sectors_lost + now.sizes_lost -
                                              before.sizes_lost + now.name_changes_lost -
                                              before.name_changes_lost);
  world_.faults.Add(Fault::kTornWrite, now.sectors_garbage - before.sectors_garbage);
}

void Machine::PowerCutAt(std::uint64_t nth_operation, SimFileSystem::Keep keep) {
  power_cut_due_ = keep;
  disk_->PowerOffAt(nth_operation);
}

void Machine::Stop() {
  if (std::exchange(stopping_, true)) return;
  world_.Note("{} is asked to stop", name_);
  local_member_->replica().GiveUpLeadership(
      kTransferLimit, [this] { local_member_->Stop([this] { stopped_ = true; }); });
}

void Machine::EndRemoved() {
  if (std::exchange(removed_, true)) return;
  world_.Note("{} learns that its member was removed", name_);
  lane(LaneKind::kIo).PostAt(clock_.Now() + kRemovalDelay, [this] { Stop(); });
}

void Machine::PauseUntil(TimePoint until) {
  for (auto& lane : lanes_) lane->HoldUntil(until);
}

void Machine::Wipe() {
  world_.Note("{} gets an empty disk", name_);
  ReplaceDisk(std::make_unique<SimFileSystem>());
}

void Machine::ReplaceDisk(std::unique_ptr<SimFileSystem> disk) {
  ++disks_;
  disk_ = std::move(disk);
  power_cut_due_.reset();
  power_cuts_seen_ = disk_->counters().power_cuts;
  io_errors_seen_ = disk_->counters().io_errors;
}

std::unique_ptr<SimFileSystem> Machine::CopyOfDisk() {
  return disk_->CrashImage(SimFileSystem::Keep::kAll, world_.scheduler.rng());
}

void Machine::Propose(server::RequestKind kind, std::string_view body,
                      std::move_only_function<void(Result<server::ApplyResult::Value>)> done) {
  struct CallbackWaiter final : server::Waiter {
    std::move_only_function<void(Result<server::ApplyResult::Value>)> done;
    void Applied(server::ApplyResult result) override { done(std::move(result.value)); }
    void Failed(const Error& error) override { done(std::unexpected(error)); }
  };
  auto waiter = std::make_unique<CallbackWaiter>();
  waiter->done = std::move(done);
  const std::uint64_t id = local_member_->ids().Next();
  std::vector<server::Proposal> proposals;
  proposals.push_back({.id = id,
                       .data = server::EncodeInternalRequest(id, kind, body),
                       .deadline = clock_.Now() + options_.replica.request_timeout,
                       .waiter = std::move(waiter),
                       .is_key_write = server::IsKeyWrite(kind)});
  local_member_->replica().Propose(std::move(proposals));
}

}  // namespace kvorum::sim
