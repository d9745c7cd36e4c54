#include "tests/sim/judges/archives.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "archive/restore/base_reader.h"
#include "archive/restore/listing.h"
#include "archive/restore/log_reader.h"
#include "archive/ship/base_desk.h"
#include "archive/ship/base_shipper.h"
#include "archive/ship/log_shipper.h"
#include "archive/ship/pruner.h"
#include "bbolt/reader.h"
#include "datadir/image_database.h"
#include "mvcc/store/store.h"
#include "raft/log.h"
#include "raft/node.h"
#include "server/archive/member_archive.h"
#include "server/replay/replay_log.h"
#include "tests/disk/memory_backend.h"
#include "tests/server/replica/lanes.h"

namespace kvorum::sim {
namespace {

using archive::Contents;
using archive::Plan;
using archive::Target;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kArchiveStream = 0x617263686976655f;
constexpr const char* kImagePath = "/restored/image";
constexpr const char* kRestoredFolder = "/restored";

// A call of the simulated bucket never waits.
class NeverStops final : public archive::StopSignal {
 public:
  bool WaitFor(Duration) override { return false; }
};

// Images are of what is durable at the moment: nothing can wait within a task of the scheduler.
class DurableImage final : public archive::ImageSource {
 public:
  DurableImage(const mvcc::Store::Recovered& content, std::int64_t revision,
               std::unique_ptr<mvcc::SnapshotSource> source)
      : index_(content.consistent_index),
        term_(content.term),
        revision_(revision),
        source_(std::move(source)) {}

  raft::Index index() const override { return index_; }
  raft::Term term() const override { return term_; }
  std::int64_t revision() const override { return revision_; }
  Result<SharedBytes> Next() override { return source_->Next(); }
  Result<void> Look() override { return source_->Look(); }

 private:
  const raft::Index index_;
  const raft::Term term_;
  const std::int64_t revision_;
  const std::unique_ptr<mvcc::SnapshotSource> source_;
};

class SimMember final : public archive::ArchivedMember {
 public:
  SimMember(Machine& machine, std::unique_ptr<server::MemberArchive> member, Flaw flaw)
      : machine_(machine), member_(std::move(member)), flaw_(flaw) {}

  const Identity& identity() const override { return member_->identity(); }
  bool IsLeader() const override { return member_->IsLeader(); }
  std::vector<archive::TimeMark> MarksBehind(raft::Index index, std::size_t limit) override {
    std::vector<archive::TimeMark> marks = member_->MarksBehind(index, limit);
    const raft::Index last = Log().last_index();
    if (flaw_ != Flaw::kUncommittedArchived || last <= index) return marks;
    const archive::TimeMark newest = member_->NewestMark();
    if (last > newest.index)
      marks.push_back({.index = last, .time_ms = newest.time_ms, .revision = newest.revision});
    return marks;
  }
  archive::TimeMark NewestMark() override { return member_->NewestMark(); }
  Result<std::vector<raft::Entry>> Read(raft::Index from, raft::Index to,
                                        std::size_t max_size_bytes) override {
    if (flaw_ != Flaw::kUncommittedArchived || from <= Log().first_index())
      return member_->Read(from, to, max_size_bytes);
    const std::span<const raft::Entry> entries =
        Log().Range(from, std::min(to, Log().last_index()));
    return std::vector<raft::Entry>(entries.begin(), entries.end());
  }
  Result<raft::Index> FirstIndex() override { return member_->FirstIndex(); }
  Result<std::unique_ptr<archive::ImageSource>> OpenImage() override {
    mvcc::Store& store = machine_.local_member().store();
    std::int64_t revision = 0;
    KV_TRY(mvcc::Store::DurableSnapshot opened,
           store.OpenSnapshot([&](mvcc::Snapshot& content) -> Result<mvcc::EtcdImageOptions> {
             KV_TRY(revision, mvcc::Store::ReadRevision(content));
             return mvcc::EtcdImageOptions{};
           }));
    KV_RETURN_IF_ERROR(opened.source->Use(mvcc::SnapshotFormat::kEtcd));
    return std::make_unique<DurableImage>(opened.content, revision, std::move(opened.source));
  }
  void KeepBehind(raft::Index index) override { member_->KeepBehind(index); }

 private:
  const raft::Log& Log() const { return machine_.local_member().replica().node().log(); }

  Machine& machine_;
  const std::unique_ptr<server::MemberArchive> member_;
  const Flaw flaw_;
};

}  // namespace

// One process's.
class Archives::Writer {
 public:
  Writer(World& world, Machine& machine, std::unique_ptr<server::MemberArchive> member,
         std::unique_ptr<archive::ObjectStore> store, const Options& options)
      : world_(world),
        machine_(machine),
        member_(machine, std::move(member), world.options.flaw),
        store_(std::move(store)),
        options_(options),
        log_(member_, machine.clock(), stop_, status_, false),
        bases_(member_, machine.clock(), stop_, status_),
        schedule_(machine.clock(), options.base_interval) {}

  void Step() {
    const std::uint64_t gaps = status_.gaps.value();
    const auto done = log_.Step(*store_);
    if (status_.gaps.value() > gaps) {
      world_.faults.Add(Fault::kArchiveGap);
      world_.Note("{} declares a gap in the archive", machine_.name());
    }
    if (!done.has_value()) {
      // A member leads only with everything that is committed, and its archive has nothing else.
      if (done.error().kind == archive::ShipErrorKind::kRefused)
        world_.Fail("{}: the archive is refused: {}", machine_.name(), done.error().text);
      return;
    }
    const auto line = log_.line();
    if (!line) return;
    if (!made_ || (log_.newest_base() && *made_ < *log_.newest_base())) made_ = log_.newest_base();
    if (!schedule_.IsDue(*line, made_)) return;
    const auto base = bases_.Ship(*store_, line->history.id, line->time_ms, line->least_base);
    if (!base.has_value()) return;
    world_.faults.Add(Fault::kArchiveBase);
    made_ = *base;
    if (options_.keep_bases > 0) Retain(line->history.id);
  }

  raft::Index archived() const { return status_.values().archived.index; }

 private:
  void Retain(archive::HistoryId history) {
    const auto retention =
        archive::FindRetention(*store_, history, {.keep_bases = options_.keep_bases},
                               machine_.clock().WallNanos() / 1'000'000);
    if (!retention.has_value()) return;
    const auto counts = archive::Prune(*store_, *retention);
    if (counts.has_value() && counts->deleted > 0) world_.faults.Add(Fault::kArchivePruned);
  }

  World& world_;
  Machine& machine_;
  NeverStops stop_;
  archive::ArchiveStatus status_;
  SimMember member_;
  const std::unique_ptr<archive::ObjectStore> store_;
  const Options options_;
  archive::LogShipper log_;
  archive::BaseShipper bases_;
  archive::BaseSchedule schedule_;
  std::optional<archive::BaseName> made_;
};

Archives::Archives(World& world, std::vector<std::unique_ptr<Machine>>& machines,
                   const LogModel& log)
    : world_(world),
      machines_(machines),
      log_(log),
      rng_(world.options.seed ^ kArchiveStream),
      bucket_(world) {
  constexpr std::array kIntervals = {milliseconds(50), milliseconds(300), milliseconds(1'000)};
  options_.interval = kIntervals[rng_.Below(kIntervals.size())];
  options_.base_interval = seconds(1 + rng_.Below(30));
  options_.keep_bases = rng_.OneIn(2) ? 0 : 1 + rng_.Below(4);
  // The log of one run in three is let go before it is archived.
  options_.max_log_bytes = rng_.OneIn(3) ? 1 + rng_.Below(60'000) : std::uint64_t{1} << 30;
}

Archives::~Archives() = default;

void Archives::AddTo(server::LocalMemberOptions& options, std::size_t machine) {
  if (!world_.has_archive) return;
  options.on_applied = [this, machine](raft::Index applied, std::int64_t revision) {
    NotesOf(machine).marks.Applied(applied, revision);
  };
  options.release_bound = [this, machine](raft::Index index, std::uint64_t written_bytes) {
    return NotesOf(machine).kept.Bound(index, written_bytes);
  };
}

server::MemberNotes& Archives::NotesOf(std::size_t machine) {
  auto& notes = notes_[machine];
  if (notes == nullptr) {
    notes =
        std::make_unique<server::MemberNotes>(machines_[machine]->clock(), options_.max_log_bytes);
  }
  return *notes;
}

void Archives::Began(Machine& machine) {
  if (!world_.has_archive) return;
  const server::MemberArchive::Parts parts{.fs = machine.files(),
                                           .member = machine.local_member(),
                                           .notes = NotesOf(machine.number()),
                                           .clock = machine.clock(),
                                           .stop = stop_,
                                           .wal_dir = Machine::WalDir()};
  auto member = server::MemberArchive::Open(parts, std::nullopt);
  if (!member.has_value()) return world_.Note("{} does not archive", machine.name());
  writers_[machine.number()] =
      std::make_unique<Writer>(world_, machine, *std::move(member), bucket_.Open(), options_);
  StepLater(machine, machine.life());
}

void Archives::OnEnding(Machine& machine) {
  writers_.erase(machine.number());
  notes_.erase(machine.number());
}

void Archives::StepLater(Machine& machine, std::uint64_t life) {
  const Duration pause = options_.interval / 2 +
                         Duration(static_cast<std::int64_t>(
                             rng_.Below(static_cast<std::uint64_t>(options_.interval.count()))));
  world_.scheduler.After(pause, [this, &machine, life] {
    if (!machine.up() || machine.life() != life) return;
    const auto writer = writers_.find(machine.number());
    if (writer == writers_.end()) return;
    writer->second->Step();
    StepLater(machine, life);
  });
}

bool Archives::IsUpToDate(raft::Index applied) const {
  return !bucket_.has_late_writes() && std::ranges::any_of(writers_, [&](const auto& writer) {
    return writer.second->archived() >= applied;
  });
}

void Archives::Judge(const std::vector<Machine*>& live) {
  const auto store = bucket_.Open();
  auto listing = archive::ReadListing(*store);
  if (!listing.has_value())
    return world_.Fail("the archive is not listed: {}", listing.error().message);
  if (!listing->problems.empty()) return world_.Fail("the archive: {}", listing->problems.front());
  Contents& contents = listing->contents;
  if (contents.histories.size() != 1)
    return world_.Fail("the archive has {} histories", contents.histories.size());
  RestoreTo(contents, archive::ToLatest{}, live);
  const archive::History& history = contents.histories.begin()->second;
  const auto ranges = history.Restorables();
  for (int i = 0; i < 3 && !ranges.empty() && !world_.failed(); ++i) {
    const archive::Restorable& range = ranges[rng_.Below(ranges.size())];
    const auto more = rng_.Below(range.last - range.base.index + 1);
    RestoreTo(contents, archive::ToIndex{range.base.index + more}, live);
    const auto revisions = static_cast<std::uint64_t>(range.last_revision - range.base.revision);
    const auto later = static_cast<std::int64_t>(rng_.Below(revisions + 1));
    RestoreTo(contents, archive::ToRevision{range.base.revision + later}, live);
  }
}

// The entries by themselves, without what applies them.
void Archives::CheckEntries(archive::ObjectStore& store, const Plan& plan, raft::Term base_term) {
  archive::LogReader log(store, plan, base_term, archive::Ahead::kNone);
  raft::Index next = plan.base.index + 1;
  while (true) {
    const auto entries = log.Next();
    if (!entries.has_value())
      return world_.Fail("the archive's log: {}", entries.error().error.message);
    if (entries->empty()) return;
    for (const raft::Entry& entry : *entries) {
      if (entry.index != next)
        return world_.Fail("the archive gives entry {} for {}", entry.index, next);
      if (entry.index.value() > committed_.size() || committed_[entry.index.value() - 1] != entry)
        return world_.Fail("the archive's entry {} is not the committed one", entry.index);
      ++next;
    }
  }
}

void Archives::RestoreTo(const Contents& contents, const Target& target,
                         const std::vector<Machine*>& live) {
  if (world_.failed()) return;
  const auto store = bucket_.Open();
  const auto plan = archive::MakePlan(contents, std::nullopt, target);
  if (!plan.has_value()) return world_.Fail("no plan: {}", plan.error().message);
  SimFileSystem disk;
  static_cast<void>(disk.MakeDirectories(kRestoredFolder));
  std::string image;
  const auto end = archive::ReadBase(
      *store, {.history = plan->history, .name = plan->base},
      [&image](std::uint64_t, std::string_view bytes) -> Result<void> {
        image += bytes;
        return {};
      },
      {}, archive::Ahead::kNone);
  if (!end.has_value()) return world_.Fail("the archive's base: {}", end.error().error.message);
  CheckEntries(*store, *plan, end->term);
  if (world_.failed()) return;
  const auto written = WriteFileAtomically(disk, kImagePath, image);
  const auto reader = bbolt::Reader::Open(disk, kImagePath);
  if (!written.has_value() || !reader.has_value()) return world_.Fail("the image is not opened");
  const auto meta = mvcc::ReadEtcdMeta(**reader);
  if (!meta.has_value()) return world_.Fail("the image has no place: {}", meta.error().message);
  const auto open = [&disk](const std::string& path) {
    return mvcc::OpenMemoryBackend(disk, path);
  };
  const std::string path = std::string(kRestoredFolder) + "/db";
  auto backend =
      datadir::MakeDatabaseOfImage(**reader, {.path = path, .open = open, .meta = *meta});
  if (!backend.has_value())
    return world_.Fail("the image gives no database: {}", backend.error().message);
  backend->reset();
  Replay(*store, *plan, end->term, disk, live);
}

void Archives::Replay(archive::ObjectStore& store, const Plan& plan, raft::Term base_term,
                      SimFileSystem& disk, const std::vector<Machine*>& live) {
  server::Lanes lanes(rng_());
  const auto open = [&disk](const std::string& path) {
    return mvcc::OpenMemoryBackend(disk, path);
  };
  auto replay =
      server::Replay::Open(disk, {.folder = kRestoredFolder,
                                  .open = open,
                                  .to_revision = server::StopRevision(plan),
                                  .executors = server::ReplayExecutors{
                                      .apply = lanes.apply(),
                                      .backend = lanes.backend(),
                                      .copier = lanes.copier(),
                                      .wait = [&lanes](const std::function<bool()>& condition) {
                                        lanes.RunUntil(condition);
                                      }}});
  if (!replay.has_value()) return world_.Fail("no replay: {}", replay.error().message);
  const auto done = server::ReplayLog(store, plan, base_term, **replay, archive::Ahead::kNone, {});
  if (!done.has_value()) return world_.Fail("the replay: {}", done.error().error.message);
  world_.faults.Add(Fault::kArchiveRestored);
  if (done->revision != log_.RevisionAt(done->index)) {
    return world_.Fail("restored to entry {}: revision {} instead of {}", done->index,
                       done->revision, log_.RevisionAt(done->index));
  }
  if (std::holds_alternative<archive::ToLatest>(plan.target)) CompareWith(*live.front(), **replay);
}

void Archives::CompareWith(Machine& machine, server::Replay& replay) {
  mvcc::Store& theirs = machine.local_member().store();
  if (replay.applied() != machine.local_member().replica().applied_index())
    return world_.Fail("restored to entry {} of {}", replay.applied(),
                       machine.local_member().replica().applied_index());
  const std::int64_t revision = replay.revision();
  const auto hash = replay.store().HashKv(revision);
  const auto expected = theirs.HashKv(revision);
  if (!hash.has_value() || !expected.has_value() ||
      hash->compact_revision != expected->compact_revision || !expected->Agrees(hash->hash))
    world_.Fail("the restored keys are not those of {}", machine.name());
}

}  // namespace kvorum::sim
