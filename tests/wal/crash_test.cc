// Power cuts and kills at every write and sync of a log's life, under the fault model of
// tests/disk/sim_file_system.h. The following must hold at each of them: the log opens; every entry
// and hard state that a Sync confirmed is there; unconfirmed ones are there as a prefix or not at
// all; the opened log takes more, and keeps it.
#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "base/rng.h"
#include "tests/disk/disk_digest.h"
#include "tests/wal/log_fixture.h"

namespace kvorum::wal {
namespace {

using Keep = SimFileSystem::Keep;

// A log's content, as its user knows it.
struct Log {
  std::map<raft::Index, raft::Entry> entries;
  raft::HardState state;

  void Add(const raft::Entry& entry) {
    entries.erase(entries.lower_bound(entry.index), entries.end());
    entries[entry.index] = entry;
  }
};

// An entry or a hard state, in the order in which they were appended.
using Appended = std::variant<raft::Entry, raft::HardState>;

void Add(Log& log, const Appended& record) {
  if (const auto* entry = std::get_if<raft::Entry>(&record)) {
    log.Add(*entry);
  } else {
    log.state = std::get<raft::HardState>(record);
  }
}

// Makes calls of a Writer as a member does: batches of entries and hard states, some of them synced
// at once, some later; conflicts above the commit index; snapshots, purges, closes and reopens.
class Workload {
 public:
  Workload(SimFileSystem& fs, std::uint64_t seed) : fs_(fs), rng_(seed) {}

  Result<void> Run(int steps) {
    KV_RETURN_IF_ERROR(MakeDataDirectory(fs_));
    KV_TRY(writer_, Create(fs_, kDir, kMetadata, SmallOptions(kSegmentBytes)));
    created = true;
    for (int i = 0; i < steps; ++i) KV_RETURN_IF_ERROR(Step());
    return Sync();
  }

  static constexpr std::uint64_t kSegmentBytes = 8192;
  bool created = false;
  Log durable;                        // the confirmed part
  std::vector<Appended> unconfirmed;  // appended since then
  SnapshotMarker marker;              // the newest one confirmed

 private:
  Result<void> Step() {
    switch (rng_.Below(20)) {
      case 0:
        return SaveSnapshot();
      case 1:
        return Reopen();
      case 2:
        return writer_->Cut();
      default:
        return Append();
    }
  }

  raft::Index last() const {
    return std::max(marker.index, now_.entries.empty() ? 0 : now_.entries.rbegin()->first);
  }

  Result<void> Append() {
    raft::HardState state = now_.state;
    if (state.term == 0 || rng_.OneIn(10)) {
      ++state.term;
      state.vote = raft::MemberId{1 + rng_.Below(3)};
    }
    raft::Index first = last() + 1;
    if (rng_.OneIn(6) && last() > state.commit) {
      first = state.commit + 1 + rng_.Below(last() - state.commit);
    }
    const std::size_t count = rng_.Below(5);
    const std::size_t bytes = rng_.OneIn(8) ? 1500 + rng_.Below(2000) : rng_.Below(300);
    const auto entries = MakeEntries(first, count, state.term, bytes);
    // The model first: the call may do its work and fail all the same.
    for (const raft::Entry& entry : entries) Note(entry);
    state.commit += rng_.Below(last() - state.commit + 1);
    const bool with_state = state.term != now_.state.term || rng_.OneIn(2);
    if (with_state) Note(state);
    KV_RETURN_IF_ERROR(writer_->Append(entries, with_state ? &state : nullptr));
    return rng_.OneIn(3) ? Result<void>() : Sync();
  }

  void Note(const Appended& record) {
    Add(now_, record);
    unconfirmed.push_back(record);
  }
  void Confirm() {
    durable = now_;
    unconfirmed.clear();
  }

  Result<void> Sync() {
    KV_RETURN_IF_ERROR(writer_->Sync());
    Confirm();
    return {};
  }

  Result<void> SaveSnapshot() {
    KV_RETURN_IF_ERROR(Sync());
    const auto entry = now_.entries.find(now_.state.commit);
    if (entry == now_.entries.end() || entry->first <= marker.index) return {};
    const SnapshotMarker next = MakeMarker(entry->first, entry->second.term);
    KV_RETURN_IF_ERROR(writer_->SaveSnapshot(next));
    marker = next;
    if (rng_.OneIn(2)) {
      writer_->ReleaseTo(marker.index);
      KV_RETURN_IF_ERROR(writer_->Purge(1));
    }
    return {};
  }

  Result<void> Reopen() {
    if (rng_.OneIn(2)) {
      KV_RETURN_IF_ERROR(writer_->Close());
      Confirm();
    }
    writer_.reset();
    KV_TRY(Opened opened, Open(fs_, kDir, marker, SmallOptions(kSegmentBytes)));
    writer_ = std::move(opened.writer);
    Confirm();  // Open has synced everything that it returns
    return {};
  }

  Log now_;
  SimFileSystem& fs_;
  Rng rng_;
  std::unique_ptr<Writer> writer_;
};

// True if this is the content that a reader sees from the marker on.
bool Matches(const Contents& read, const Log& log, raft::Index from) {
  auto expected = log.entries.upper_bound(from);
  for (const raft::Entry& entry : read.entries) {
    if (expected == log.entries.end() || expected->second != entry) return false;
    ++expected;
  }
  if (expected != log.entries.end()) return false;
  raft::HardState state = log.state;
  if (!read.entries.empty() && read.entries.back().term > state.term) {
    state.term = read.entries.back().term;
    state.vote = raft::kNone;
  }
  return read.hard_state == state;
}

// A crash leaves everything confirmed and a prefix of the entries appended since.
bool MayFollow(const Contents& read, const Workload& workload, raft::Index from) {
  Log log = workload.durable;
  if (Matches(read, log, from)) return true;
  for (const Appended& record : workload.unconfirmed) {
    Add(log, record);
    if (Matches(read, log, from)) return true;
  }
  return false;
}

// The life that a log has after its crash: opened, grown, crashed again, opened again.
void CheckSurvivor(SimFileSystem& disk, const Workload& workload, Rng& rng, const char* when) {
  const bool exists = Exists(disk, kDir).value();
  if (!workload.created && !exists) return;
  ASSERT_TRUE(exists) << when;
  const auto markers = ListMarkers(disk, kDir);
  ASSERT_TRUE(markers.has_value()) << when << ": " << markers.error().message;
  ASSERT_FALSE(markers->empty()) << when;
  const SnapshotMarker from = markers->back();
  ASSERT_GE(from.index, workload.marker.index) << when;

  auto opened = Open(disk, kDir, from, SmallOptions(Workload::kSegmentBytes));
  ASSERT_TRUE(opened.has_value()) << when << ": " << opened.error().message;
  EXPECT_EQ(opened->contents.metadata, kMetadata);
  ASSERT_TRUE(MayFollow(opened->contents, workload, from.index)) << when;

  // It shows the same to a second reader, even when the data read had never been synced.
  const Contents first = std::move(opened->contents);
  std::unique_ptr<Writer> writer = std::move(opened->writer);
  writer.reset();
  disk.Crash(Keep::kNothing, rng);
  auto again = Open(disk, kDir, from, SmallOptions(Workload::kSegmentBytes));
  ASSERT_TRUE(again.has_value()) << when << ", again: " << again.error().message;
  EXPECT_EQ(again->contents.entries, first.entries) << when;
  EXPECT_EQ(again->contents.hard_state, first.hard_state) << when;
  EXPECT_FALSE(again->torn.has_value()) << when;

  // And it grows.
  writer = std::move(again->writer);
  auto expected = first.entries;
  const raft::Term term = first.hard_state.term + 1;
  for (int i = 0; i < 3; ++i) {
    const auto more = MakeEntries(writer->last_index() + 1, 2, term, 700);
    for (const raft::Entry& entry : more) expected.push_back(entry);
    const raft::HardState state = {.term = term, .vote = 2, .commit = first.hard_state.commit};
    ASSERT_OK(writer->Append(more, &state));
  }
  ASSERT_OK(writer->Sync());
  writer.reset();
  disk.Crash(Keep::kNothing, rng);
  const auto grown = Open(disk, kDir, from, SmallOptions(Workload::kSegmentBytes));
  ASSERT_TRUE(grown.has_value()) << when << ", grown: " << grown.error().message;
  EXPECT_EQ(grown->contents.entries, expected) << when;
  EXPECT_EQ(grown->contents.hard_state.term, term) << when;
}

SimFileSystem::Counters Sum(const SimFileSystem::Counters& a, const SimFileSystem::Counters& b) {
  SimFileSystem::Counters sum = a;
  sum.sectors_lost += b.sectors_lost;
  sum.sectors_garbage += b.sectors_garbage;
  sum.sizes_lost += b.sizes_lost;
  sum.name_changes_lost += b.name_changes_lost;
  sum.power_cuts += b.power_cuts;
  return sum;
}

class CrashTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr int kShortRun = 25;

  // The draws of survivors among the writes that are not durable yet: none, all, random pieces.
  static constexpr int kDraws = 16;
  static Keep KeepOf(int draw) {
    if (draw < 2) return draw == 0 ? Keep::kNothing : Keep::kAll;
    return draw < 10 ? Keep::kRandom : Keep::kGarbage;
  }

  static std::uint64_t OperationsOfShortRun() {
    SimFileSystem fs;
    Workload workload(fs, GetParam());
    EXPECT_OK(workload.Run(kShortRun));
    return fs.operations();
  }
};

// Pictures of the disk before every operation, each different one looked at once.
TEST_P(CrashTest, NothingConfirmedIsLostAtAnyWriteOrSync) {
  SimFileSystem fs;
  Workload workload(fs, GetParam());
  Rng rng(GetParam() + 1000);
  SimFileSystem::Counters seen;
  std::set<std::uint64_t> states;  // digests: the same disk counts once
  fs.SetObserver([&] {
    std::set<std::uint64_t> checked;
    for (int draw = 0; draw < kDraws; ++draw) {
      if (testing::Test::HasFatalFailure()) return;
      const Keep keep = KeepOf(draw);
      const std::unique_ptr<SimFileSystem> image = fs.CrashImage(keep, rng);
      const std::uint64_t digest = DigestOf(*image);
      if (!checked.insert(digest).second) continue;
      states.insert(digest);
      seen = Sum(seen, image->counters());
      const std::string when = "before operation " + std::to_string(fs.operations() + 1) +
                               ", keep " + std::to_string(static_cast<int>(keep)) + ", seed " +
                               std::to_string(GetParam());
      CheckSurvivor(*image, workload, rng, when.c_str());
    }
  });
  const Result<void> run = workload.Run(60);
  fs.SetObserver({});  // the workload's end removes files that the observer looks at
  ASSERT_OK(run);
  EXPECT_GE(states.size(), 800u) << "too few different disks were tried";
  // The faults did come about.
  EXPECT_GT(seen.sectors_lost, 100u);
  EXPECT_GT(seen.sectors_garbage, 10u);
  EXPECT_GT(seen.sizes_lost, 0u);
  EXPECT_GT(seen.name_changes_lost, 5u);
}

// The power goes in the middle of an operation: it is done, or half done, and was answered by an
// error.
TEST_P(CrashTest, NothingConfirmedIsLostWhenThePowerGoesDuringAnOperation) {
  const std::uint64_t total = OperationsOfShortRun();
  for (std::uint64_t n = 1; n <= total; ++n) {
    for (const Keep keep : SimFileSystem::kAllKeeps) {
      SimFileSystem fs;
      Workload workload(fs, GetParam());
      fs.PowerOffAt(n);
      EXPECT_FALSE(workload.Run(kShortRun).has_value());
      Rng rng(n);
      fs.Crash(keep, rng);
      const std::string when = "operation " + std::to_string(n) + " of " + std::to_string(total) +
                               ", keep " + std::to_string(static_cast<int>(keep)) + ", seed " +
                               std::to_string(GetParam());
      CheckSurvivor(fs, workload, rng, when.c_str());
      if (HasFatalFailure()) return;
    }
  }
}

// An operation fails, the process ends because of it, the disk loses the data it had given up.
TEST_P(CrashTest, NothingConfirmedIsLostWhenAnOperationFails) {
  const std::uint64_t total = OperationsOfShortRun();
  for (std::uint64_t n = 4; n <= total; ++n) {
    SimFileSystem fs;
    Workload workload(fs, GetParam());
    fs.FailAt(n, SimFileSystem::Fault::kIoError);
    static_cast<void>(workload.Run(kShortRun));  // a failed trim or purge is ignored
    fs.Kill();
    Rng rng(n);
    fs.Crash(Keep::kRandom, rng);
    CheckSurvivor(fs, workload, rng, ("failed operation " + std::to_string(n)).c_str());
    if (HasFatalFailure()) return;
  }
}

// An operation fails, the process ends because of it, and another one starts on the same machine:
// it reads data that a failed sync has left in the cache, tells the cluster of it, and only then
// the power goes.
TEST_P(CrashTest, WhatARestartReadsAfterAFailedOperationSurvivesAPowerCut) {
  const std::uint64_t total = OperationsOfShortRun();
  for (std::uint64_t n = 4; n <= total; ++n) {
    SimFileSystem fs;
    Workload workload(fs, GetParam());
    fs.FailAt(n, SimFileSystem::Fault::kIoError);
    static_cast<void>(workload.Run(kShortRun));
    fs.Kill();
    Rng rng(n);
    CheckSurvivor(fs, workload, rng, ("restart after operation " + std::to_string(n)).c_str());
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CrashTest, testing::Range<std::uint64_t>(1, 7));

class KillTest : public LogFixture {};

TEST_F(KillTest, WhatAKilledProcessHadWrittenCountsOnceItWasRead) {
  Create();
  AppendAndSync(MakeEntries(1, 2, 1));
  Append(MakeEntries(3, 2, 1));
  fs_.Kill();
  Reopen();
  ASSERT_EQ(contents_.entries.size(),
            4u);  // still in the kernel's cache, so the cluster hears of it
  Rng rng(1);
  fs_.Crash(Keep::kNothing, rng);
  Reopen();
  EXPECT_EQ(contents_.entries.size(), 4u);
}

TEST_F(KillTest, WhatAFailedSyncLeftInTheCacheIsMadeDurable) {
  Create();
  AppendAndSync(MakeEntries(1, 1, 1));
  Append(MakeEntries(2, 1, 1, 1500));  // over sectors that no later entry shares
  fs_.FailAt(1, SimFileSystem::Fault::kIoError);
  ASSERT_FALSE(writer_->Sync().has_value());
  fs_.Kill();
  Reopen();
  ASSERT_EQ(contents_.entries.size(), 2u);
  AppendAndSync(MakeEntries(3, 1, 1));
  AppendAndSync(MakeEntries(4, 1, 1));
  Rng rng(1);
  fs_.Crash(Keep::kNothing, rng);
  Reopen();
  EXPECT_EQ(contents_.entries.size(), 4u);
}

// At some of the sizes its seal fills a separate sector.
TEST_F(KillTest, ACloseWhoseLastSyncFailedIsMadeDurable) {
  for (std::size_t size_bytes = 20; size_bytes < 20 + SimFileSystem::kSectorBytes;
       size_bytes += kFrameAlignment) {
    const std::string dir = std::string(kDir) + std::to_string(size_bytes);
    auto writer = wal::Create(fs_, dir, kMetadata, SmallOptions());
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->Append(MakeEntries(1, 1, 1, size_bytes), nullptr));
    ASSERT_OK((*writer)->Sync());
    fs_.FailAt(2, SimFileSystem::Fault::kIoError);  // its write, then its sync
    ASSERT_FALSE((*writer)->Close().has_value());
    fs_.Kill();
    writer->reset();
    for (raft::Index index = 2; index <= 3; ++index) {
      auto opened = wal::Open(fs_, dir, {}, SmallOptions());
      ASSERT_TRUE(opened.has_value()) << size_bytes << ": " << opened.error().message;
      ASSERT_OK(opened->writer->Append(MakeEntries(index, 1, 1, 600), nullptr));
      ASSERT_OK(opened->writer->Sync());
      ASSERT_OK(opened->writer->Append(MakeEntries(index + 1, 1, 1, 600), nullptr));
      ASSERT_OK(opened->writer->Sync());
      Rng rng(1);
      fs_.Crash(Keep::kNothing, rng);
    }
  }
}

TEST_F(KillTest, TheFolderIsFreeAfterAKill) {
  Create();
  const std::unique_ptr<Writer> still_alive = std::move(writer_);
  fs_.Kill();
  Reopen();
  EXPECT_EQ(still_alive->Append(MakeEntries(1, 1, 1), nullptr).error().code, Code::kUnavailable);
}

TEST_F(KillTest, ATornHardStateLeavesItsTermBehind) {
  Create();
  AppendAndSync(MakeEntries(1, 1, 1), {.term = 1, .vote = 1, .commit = 1});
  const std::size_t end = Bytes(SegmentFiles()[0]).find_last_not_of('\0') + 1;
  Append(MakeEntries(2, 1, 5, 600), {.term = 5, .vote = 3, .commit = 1});
  const std::string bytes = Bytes(SegmentFiles()[0]);
  const std::size_t state_at = bytes.find(std::string("\x08\x03\x10", 3), end) - 8;
  ASSERT_NE(state_at, std::string::npos);
  Overwrite(SegmentFiles()[0], state_at, std::string(200, '\0'));
  Reopen();
  EXPECT_EQ(contents_.entries.size(), 2u);
  EXPECT_EQ(contents_.hard_state, (raft::HardState{.term = 5, .vote = 0, .commit = 1}));
}

}  // namespace
}  // namespace kvorum::wal
