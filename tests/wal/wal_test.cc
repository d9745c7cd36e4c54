// A log without faults, and its refusals.
#include "wal/wal.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/executor.h"
#include "base/failpoint/failpoint_control.h"
#include "tests/wal/listed_file_system.h"
#include "tests/wal/log_fixture.h"

namespace kvorum::wal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class WalTest : public LogFixture {};

TEST_F(WalTest, ANewLogIsEmpty) {
  Create();
  Reopen();
  EXPECT_EQ(contents_.metadata, kMetadata);
  EXPECT_TRUE(contents_.entries.empty());
  EXPECT_TRUE(contents_.hard_state.empty());
  EXPECT_FALSE(torn_.has_value());
  EXPECT_THAT(ListMarkers(fs_, kDir).value(), ElementsAre(SnapshotMarker{}));
}

TEST_F(WalTest, GivesBackWhatWasAppended) {
  Create();
  const auto entries = MakeEntries(1, 10, 1);
  AppendAndSync(entries, {.term = 1, .vote = 7, .commit = 4});
  Reopen();
  EXPECT_EQ(contents_.entries, entries);
  EXPECT_EQ(contents_.hard_state, (raft::HardState{.term = 1, .vote = 7, .commit = 4}));
  EXPECT_EQ(writer_->last_index(), 10u);
}

TEST_F(WalTest, TakesEntriesOfAllSizesAndTypes) {
  Create(SmallOptions(1 << 20));
  std::vector<raft::Entry> entries;
  for (const std::size_t size : std::initializer_list<std::size_t>{
           0, 1, 7, 8, 9, 500, 1023, 1024, 1025, 4096, 100'000, 1'500'000}) {
    raft::Entry entry = MakeEntry(raft::Index{entries.size() + 1}, 3, std::string(size, '\xa5'));
    entry.type = static_cast<raft::EntryType>(entries.size() % 3);
    entries.push_back(entry);
  }
  AppendAndSync(entries, {.term = 3, .vote = 1, .commit = 0});
  Reopen();
  EXPECT_EQ(contents_.entries, entries);
}

TEST_F(WalTest, GoesOnAfterEachReopen) {
  Create();
  std::vector<raft::Entry> all;
  for (raft::Index next = 1; next < 100; next += 3) {
    const auto entries = MakeEntries(next, 3, 1, 100);
    all.insert(all.end(), entries.begin(), entries.end());
    AppendAndSync(entries, {.term = 1, .vote = 1, .commit = next - 1});
    if (next.value() % 2 == 0) EXPECT_OK(writer_->Close());
    Reopen();
    ASSERT_EQ(contents_.entries, all);
    ASSERT_EQ(contents_.hard_state.commit, next - 1);
    ASSERT_FALSE(torn_.has_value());
  }
  EXPECT_GT(SegmentFiles().size(), 2u);
}

TEST_F(WalTest, ALaterEntryReplacesThatOfItsIndexAndAllAfterIt) {
  Create();
  AppendAndSync(MakeEntries(1, 8, 1), {.term = 1, .vote = 1, .commit = 2});
  AppendAndSync(MakeEntries(4, 2, 2), {.term = 2, .vote = 1, .commit = 2});
  Reopen();
  auto expected = MakeEntries(1, 3, 1);
  for (const raft::Entry& entry : MakeEntries(4, 2, 2)) expected.push_back(entry);
  EXPECT_EQ(contents_.entries, expected);
  EXPECT_EQ(writer_->last_index(), 5u);
  AppendAndSync(MakeEntries(6, 1, 2));
}

TEST_F(WalTest, CutsASegmentBeforeTheBatchThatDoesNotFit) {
  Create();
  std::vector<raft::Entry> all;
  for (raft::Index next = 1; next <= 60; next += 2) {
    const auto entries = MakeEntries(next, 2, 5, 200);
    all.insert(all.end(), entries.begin(), entries.end());
    AppendAndSync(entries, {.term = 5, .vote = 9, .commit = next});
  }
  const std::vector<std::string> files = SegmentFiles();
  ASSERT_GT(files.size(), 3u);
  EXPECT_EQ(files[0], "0000000000000000-0000000000000000.wal");
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(SegmentName::Parse(files[i])->sequence, i);
    // No write went past the space that was reserved.
    EXPECT_LE(Bytes(files[i]).size(), 4096u);
  }
  Reopen();
  EXPECT_EQ(contents_.entries, all);
  EXPECT_EQ(contents_.hard_state, (raft::HardState{.term = 5, .vote = 9, .commit = 59}));
}

TEST_F(WalTest, ABatchLargerThanASegmentGetsOneOfItsSize) {
  Create();
  const auto entries = MakeEntries(1, 3, 1, 50'000);
  AppendAndSync(entries);
  AppendAndSync(MakeEntries(4, 1, 1));
  Reopen();
  EXPECT_EQ(contents_.entries.size(), 4u);
  EXPECT_EQ(contents_.entries[2], entries[2]);
}

TEST_F(WalTest, TheHardStateStandsAtTheHeadOfEachSegment) {
  Create();
  const raft::HardState state = {.term = 4, .vote = 2, .commit = 1};
  AppendAndSync(MakeEntries(1, 1, 4), state);
  ASSERT_OK(writer_->Cut());
  AppendAndSync(MakeEntries(2, 1, 4));
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(2, 4)));
  writer_->ReleaseTo(2);
  ASSERT_EQ(writer_->Purge(1).value(), 1u);
  Reopen(MakeMarker(2, 4));
  EXPECT_EQ(contents_.hard_state, state);
  EXPECT_EQ(contents_.metadata, kMetadata);
}

TEST_F(WalTest, BeginsAtTheMarkerThatIsAskedFor) {
  Create();
  for (raft::Index next = 1; next <= 40; ++next) {
    AppendAndSync(MakeEntries(next, 1, 2, 300), {.term = 2, .vote = 1, .commit = next});
    if (next.value() % 10 == 0) ASSERT_OK(writer_->SaveSnapshot(MakeMarker(next, 2)));
  }
  EXPECT_THAT(ListMarkers(fs_, kDir).value(),
              ElementsAre(SnapshotMarker{}, MakeMarker(10, 2), MakeMarker(20, 2), MakeMarker(30, 2),
                          MakeMarker(40, 2)));
  for (const raft::Index from :
       {raft::Index{0}, raft::Index{10}, raft::Index{20}, raft::Index{30}, raft::Index{40}}) {
    Reopen(from == 0 ? SnapshotMarker{} : MakeMarker(from, 2));
    ASSERT_EQ(contents_.entries.size(), 40 - from);
    if (from < 40) {
      EXPECT_EQ(contents_.entries.front().index, from + 1);
    }
    EXPECT_EQ(contents_.hard_state.commit, 40u);
    EXPECT_EQ(writer_->last_index(), 40u);
  }
}

TEST_F(WalTest, DoesNotListMarkersPastTheCommitIndex) {
  Create();
  AppendAndSync(MakeEntries(1, 5, 1), {.term = 1, .vote = 1, .commit = 3});
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(3, 1)));
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(5, 1)));
  EXPECT_THAT(ListMarkers(fs_, kDir).value(), ElementsAre(SnapshotMarker{}, MakeMarker(3, 1)));
}

TEST_F(WalTest, ReplacedEntriesAreGoneAlsoForAReaderThatBeginsBehindTheReplacement) {
  Create();
  AppendAndSync(MakeEntries(1, 8, 1), {.term = 1, .vote = 1, .commit = 2});
  AppendAndSync(MakeEntries(4, 2, 2), {.term = 2, .vote = 1, .commit = 5});
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(5, 2)));
  Reopen(MakeMarker(5, 2));
  EXPECT_TRUE(contents_.entries.empty()) << "entries 6 to 8 were replaced with those from 4 on";
  EXPECT_EQ(writer_->last_index(), 5u);
}

// --- a log that is larger than the memory for it ------------------------------------------------

// Room for about ten of the entries that these tests make, and those before the index.
Needs NeedsBehind(raft::Index index, int* asked = nullptr) {
  return {.size_bytes = 10 * (sizeof(raft::Entry) + 100), .not_up_to = [=] {
            if (asked != nullptr) ++*asked;
            return index;
          }};
}

TEST_F(WalTest, LeavesOutTheOldestEntriesThatNobodyNeeds) {
  Create();
  AppendAndSync(MakeEntries(1, 100, 2, 100), {.term = 2, .commit = 100});
  int asked = 0;
  Reopen({}, NeedsBehind(80, &asked));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(contents_.previous_index, 80U);
  EXPECT_EQ(contents_.previous_term, 2U);
  EXPECT_EQ(contents_.entries, MakeEntries(81, 20, 2, 100)) << "needed, however many";
  Reopen({}, NeedsBehind(100));
  EXPECT_EQ(contents_.entries, MakeEntries(91, 10, 2, 100)) << "for followers that lag";
  EXPECT_EQ(contents_.previous_index, 90U);
  Append(MakeEntries(101, 1, 2));
}

TEST_F(WalTest, ALogThatFitsIsGivenBackWhole) {
  Create();
  AppendAndSync(MakeEntries(1, 9, 2, 100));
  int asked = 0;
  Reopen({}, NeedsBehind(9, &asked));
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(contents_.previous_index, 0U);
  EXPECT_EQ(contents_.entries, MakeEntries(1, 9, 2, 100));
}

// The earlier entry there was not the committed one.
TEST_F(WalTest, EntriesThatWereLeftOutCanStillBeReplaced) {
  Create();
  Append(MakeEntries(1, 20, 2, 100));
  Append(MakeEntries(21, 20, 3, 100));
  Append(MakeEntries(25, 4, 4, 100));
  AppendAndSync(MakeEntries(22, 30, 5, 100), {.term = 5, .commit = 51});
  Reopen({}, NeedsBehind(30));
  EXPECT_EQ(contents_.previous_index, 30U);
  EXPECT_EQ(contents_.previous_term, 5U);
  EXPECT_EQ(contents_.entries, MakeEntries(31, 21, 5, 100));

  AppendAndSync(MakeEntries(22, 1, 6, 100), {.term = 6, .commit = 22});
  Reopen({}, NeedsBehind(22));
  EXPECT_EQ(contents_.previous_index, 21U);
  EXPECT_EQ(contents_.previous_term, 3U);
  EXPECT_EQ(contents_.entries, MakeEntries(22, 1, 6, 100));
}

TEST_F(WalTest, LeavesOutNothingBeforeTheMarkerThatIsAskedFor) {
  Create();
  AppendAndSync(MakeEntries(1, 20, 2, 100), {.term = 2, .commit = 20});
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(20, 2)));
  AppendAndSync(MakeEntries(21, 40, 2, 100), {.term = 2, .commit = 60});
  Reopen(MakeMarker(20, 2), NeedsBehind(10));
  EXPECT_EQ(contents_.previous_index, 20U);
  EXPECT_EQ(contents_.entries, MakeEntries(21, 40, 2, 100));
  Reopen(MakeMarker(20, 2), NeedsBehind(60));
  EXPECT_EQ(contents_.entries, MakeEntries(51, 10, 2, 100));
  AppendAndSync(MakeEntries(21, 1, 3, 100), {.term = 3, .commit = 21});
  Reopen(MakeMarker(20, 2), NeedsBehind(21));
  EXPECT_EQ(contents_.previous_index, 20U);
  EXPECT_EQ(contents_.previous_term, 2U);
}

// --- refusals -----------------------------------------------------------------------------------

TEST_F(WalTest, RefusesAMarkerThatIsNotThere) {
  Create();
  AppendAndSync(MakeEntries(1, 5, 1), {.term = 1, .vote = 1, .commit = 5});
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(3, 1)));
  EXPECT_EQ(TryOpen(MakeMarker(4, 1)).error().code, Code::kNotFound);
  const auto other_term = TryOpen(MakeMarker(3, 2));
  EXPECT_EQ(other_term.error().code, Code::kDataLoss);
  EXPECT_THAT(other_term.error().message, HasSubstr("has term 1, the snapshot has 2"));
}

TEST_F(WalTest, ReadTakesNoLockAndChangesNothing) {
  Create();
  AppendAndSync(MakeEntries(1, 5, 1), {.term = 1, .vote = 1, .commit = 5});
  const std::uint64_t before = fs_.operations();
  const auto contents = Read(fs_, kDir, {});
  ASSERT_OK(contents);
  EXPECT_EQ(contents->entries.size(), 5u);
  EXPECT_EQ(fs_.operations(), before);
}

// The log of a member that runs, looked at by another process.
TEST_F(WalTest, WhoReadsItWhileItIsPurgedReadsWhatIsLeft) {
  Create();
  for (raft::Index next = 1; next <= 60; ++next) {
    AppendAndSync(MakeEntries(next, 1, 1, 300), {.term = 1, .vote = 1, .commit = next});
  }
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(20, 1)));
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(40, 1)));
  ListedFileSystem listed(fs_);
  const auto purge_meanwhile = [&](raft::Index released) {
    listed.AfterNextList([this, released] {
      writer_->ReleaseTo(released);
      ASSERT_GT(writer_->Purge(1).value(), 0U);
    });
  };
  purge_meanwhile(20);
  const auto contents = Read(listed, kDir, MakeMarker(40, 1));
  ASSERT_OK(contents);
  EXPECT_EQ(contents->entries, MakeEntries(41, 20, 1, 300));
  purge_meanwhile(30);
  const auto markers = ListMarkers(listed, kDir);
  ASSERT_OK(markers);
  EXPECT_EQ(markers->back().index, 40U);
  purge_meanwhile(40);
  const auto too_late = Read(listed, kDir, MakeMarker(20, 1));
  ASSERT_FALSE(too_late.has_value());
  EXPECT_THAT(too_late.error().message, HasSubstr("behind the snapshot at 20"));
}

TEST_F(WalTest, TheFolderBelongsToOneProcess) {
  Create();
  const auto second = wal::Open(fs_, kDir, {}, options_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr(kDir));
  EXPECT_THAT(second.error().message, HasSubstr("in use by another process"));
  EXPECT_EQ(wal::Create(fs_, kDir, kMetadata, options_).error().code, Code::kFailedPrecondition);
  writer_.reset();
  EXPECT_EQ(wal::Create(fs_, kDir, kMetadata, options_).error().code, Code::kAlreadyExists);
  Reopen();
}

TEST_F(WalTest, ThereIsNoLogWhereNoneWasMade) {
  EXPECT_FALSE(Exists(fs_, kDir).value());
  EXPECT_EQ(wal::Open(fs_, kDir, {}, SmallOptions()).error().code, Code::kNotFound);
  EXPECT_FALSE(fs_.Exists(kDir).value());
  Create();
  EXPECT_TRUE(Exists(fs_, kDir).value());
}

TEST_F(WalTest, PurgesOnlyWhatWasReleased) {
  Create();
  for (raft::Index next = 1; next <= 60; ++next) {
    AppendAndSync(MakeEntries(next, 1, 1, 300), {.term = 1, .vote = 1, .commit = next});
  }
  const std::size_t count = SegmentFiles().size();
  ASSERT_GT(count, 5u);
  EXPECT_EQ(writer_->Purge(0).value(), 0u);

  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(30, 1)));
  writer_->ReleaseTo(30);
  const std::size_t purged = writer_->Purge(2).value();
  EXPECT_GT(purged, 0u);
  EXPECT_EQ(SegmentFiles().size(), count - purged);
  // The first that is left begins at or below the released index: nothing past it is gone.
  EXPECT_LE(SegmentName::Parse(SegmentFiles()[0])->first_index, 30u);
  EXPECT_GT(SegmentName::Parse(SegmentFiles()[1])->first_index, 30u);
  EXPECT_EQ(writer_->Purge(0).value(), 0u);
  Reopen(MakeMarker(30, 1));
  EXPECT_EQ(contents_.entries, MakeEntries(31, 30, 1, 300));
  EXPECT_EQ(contents_.hard_state.commit, 60u);

  writer_->ReleaseTo(60);
  EXPECT_GT(writer_->Purge(2).value(), 0u);
  EXPECT_EQ(SegmentFiles().size(), 2u);
  EXPECT_EQ(TryOpen().error().code, Code::kNotFound);
}

TEST_F(WalTest, PassesOverAndRemovesWhatACrashedPurgeLeft) {
  Create();
  for (raft::Index next = 1; next <= 60; ++next) {
    AppendAndSync(MakeEntries(next, 1, 1, 300), {.term = 1, .vote = 1, .commit = next});
  }
  ASSERT_OK(writer_->SaveSnapshot(MakeMarker(40, 1)));
  ASSERT_OK(fs_.Remove(Path(SegmentFiles()[1])));  // and the first is still there
  EXPECT_GT(SegmentName::Parse(SegmentFiles()[0])->sequence, 1u);
  Reopen(MakeMarker(40, 1));
  EXPECT_EQ(contents_.entries, MakeEntries(41, 20, 1, 300));
  writer_->ReleaseTo(40);
  EXPECT_GT(writer_->Purge(1).value(), 0u);
  EXPECT_FALSE(fs_.Exists(Path("0000000000000000-0000000000000000.wal")).value());
}

TEST_F(WalTest, RemovesTemporaryFilesAtOpen) {
  Create();
  ASSERT_OK(fs_.Open(Path("spare-99.tmp"), FileSystem::OpenMode::kCreate));
  Reopen();
  EXPECT_FALSE(fs_.Exists(Path("spare-99.tmp")).value());
}

TEST_F(WalTest, RefusesASegmentOfAnotherMember) {
  Create();
  AppendAndSync(MakeEntries(1, 1, 1), {.term = 1, .vote = 1, .commit = 1});
  writer_.reset();
  auto other = wal::Create(fs_, "/data/other", {.node_id = 1, .cluster_id = 2}, options_);
  ASSERT_OK(other);
  ASSERT_OK((*other)->Cut());
  ASSERT_OK(fs_.Rename("/data/other/0000000000000001-0000000000000001.wal",
                       Path("0000000000000001-0000000000000002.wal")));
  const auto opened = TryOpen();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::kDataLoss);
}

TEST_F(WalTest, RefusesACommitIndexPastTheLastEntry) {
  Create();
  AppendAndSync(MakeEntries(1, 3, 1), {.term = 1, .vote = 1, .commit = 9});
  const auto opened = TryOpen();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::kDataLoss);
  EXPECT_THAT(opened.error().message, HasSubstr("entries are missing"));
}

// --- errors are final --------------------------------------------------------------------------

TEST_F(WalTest, AFailedSyncIsNeverRetried) {
  Create();
  Append(MakeEntries(1, 1, 1));
  fs_.FailAt(1, SimFileSystem::Fault::kIoError);
  const auto failed = writer_->Sync();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Code::kDataLoss);
  EXPECT_THAT(failed.error().message, HasSubstr("0000000000000000-0000000000000000.wal"));
  const std::uint64_t before = fs_.operations();
  EXPECT_EQ(writer_->Sync().error(), failed.error());
  EXPECT_EQ(writer_->Append(MakeEntries(2, 1, 1), nullptr).error(), failed.error());
  EXPECT_EQ(writer_->SaveSnapshot(MakeMarker(1, 1)).error(), failed.error());
  EXPECT_EQ(writer_->Close().error(), failed.error());
  EXPECT_EQ(fs_.operations(), before);
}

TEST_F(WalTest, AFailedWriteIsFinal) {
  Create();
  fs_.FailAt(1, SimFileSystem::Fault::kIoError);
  EXPECT_EQ(writer_->Append(MakeEntries(1, 1, 1), nullptr).error().code, Code::kDataLoss);
  EXPECT_EQ(writer_->Append(MakeEntries(1, 1, 1), nullptr).error().code, Code::kDataLoss);
}

TEST_F(WalTest, AClosedLogTakesNothing) {
  Create();
  AppendAndSync(MakeEntries(1, 1, 1));
  ASSERT_OK(writer_->Close());
  EXPECT_EQ(writer_->Append(MakeEntries(2, 1, 1), nullptr).error().code, Code::kFailedPrecondition);
}

TEST_F(WalTest, ClosingAgainAndAgainDoesNotGrowTheLog) {
  Create();
  AppendAndSync(MakeEntries(1, 1, 1));
  ASSERT_OK(writer_->Close());
  const std::string bytes = Bytes(SegmentFiles()[0]);
  for (int i = 0; i < 3; ++i) {
    Reopen();
    ASSERT_OK(writer_->Close());
  }
  EXPECT_EQ(Bytes(SegmentFiles()[0]), bytes);
}

// --- a full disk -------------------------------------------------------------------------------

class FullDiskTest : public LogFixture {
 protected:
  static constexpr std::uint64_t kSegment = 8192;
  static constexpr std::uint64_t kReserve = 4096;

  void SetUp() override {
    LogFixture::SetUp();
    Options options = SmallOptions(kSegment);
    options.reserve_size_bytes = kReserve;
    Create(options);
  }
  // Appends until it fails; returns the error. Counts what went in.
  Error Fill() {
    while (true) {
      const auto appended = writer_->Append(MakeEntries(next_, 1, 1, 300), nullptr);
      if (!appended.has_value()) return appended.error();
      EXPECT_OK(writer_->Sync());
      if (writer_->SpaceLow()) ++after_low_;
      ++next_;
    }
  }
  raft::Index next_ = 1;
  int after_low_ = 0;
};

TEST_F(FullDiskTest, IsToldWhileThereIsRoomLeft) {
  EXPECT_FALSE(writer_->SpaceLow());
  fs_.SetCapacity(kSegment + kReserve);
  const Error error = Fill();
  EXPECT_EQ(error.code, Code::kResourceExhausted);
  // Half a segment and the reserve were left when SpaceLow said so.
  EXPECT_GT(after_low_, 15);
  // Nothing was written of the refused one, and the log goes on once there is room.
  fs_.SetCapacity(std::nullopt);
  AppendAndSync(MakeEntries(next_, 1, 1, 300));
  writer_->RetrySpace();
  EXPECT_FALSE(writer_->SpaceLow());
  Reopen();
  EXPECT_EQ(contents_.entries, MakeEntries(1, next_.value(), 1, 300));
}

TEST_F(FullDiskTest, AFullDiskLeavesALogThatOpens) {
  fs_.SetCapacity(kSegment + kReserve);
  Fill();
  Reopen();
  EXPECT_EQ(contents_.entries, MakeEntries(1, next_.value() - 1, 1, 300));
  EXPECT_TRUE(writer_->SpaceLow());
  EXPECT_EQ(Fill().code, Code::kResourceExhausted);
}

TEST_F(FullDiskTest, IsToldAtOnceIfTheReserveCannotBeMade) {
  writer_.reset();
  ASSERT_OK(fs_.Remove(Path("reserve")));
  fs_.SetCapacity(kSegment);
  Reopen();
  EXPECT_TRUE(writer_->SpaceLow());
  AppendAndSync(MakeEntries(1, 1, 1));
  // Room for all of it, but not without filling a disk that may hold more than the log.
  fs_.SetCapacity(10 * kSegment);
  writer_->RetrySpace();
  EXPECT_TRUE(writer_->SpaceLow());
  fs_.SetCapacity(std::uint64_t{32} << 20);
  writer_->RetrySpace();
  EXPECT_FALSE(writer_->SpaceLow());
}

TEST_F(FullDiskTest, NoLogIsMadeWithoutRoomForASegment) {
  fs_.SetCapacity(kSegment + kReserve + kSegment / 2);
  const auto created = wal::Create(fs_, "/data/other", kMetadata, options_);
  ASSERT_FALSE(created.has_value());
  EXPECT_EQ(created.error().code, Code::kResourceExhausted);
  EXPECT_FALSE(Exists(fs_, "/data/other").value());
}

// --- the spare segment -------------------------------------------------------------------------

TEST_F(WalTest, PreparesTheNextSegmentInTheBackground) {
  ThreadExecutor background("prepare");
  Options options = SmallOptions(64 * 1024);
  options.zero_segments = true;
  options.reserve_size_bytes = 4096;
  options.background = &background;
  Create(options);
  raft::Index next = 1;
  for (; next <= 1000; ++next) AppendAndSync(MakeEntries(next, 1, 1, 1000));
  background.Stop();
  Reopen();
  EXPECT_EQ(contents_.entries.size(), 1000u);
  EXPECT_GT(SegmentFiles().size(), 10u);
}

TEST_F(WalTest, AStoppedWriterLeavesNoSpareBehind) {
  const auto has_temporary_file = [&] {
    const std::vector<std::string> names = fs_.List(kDir).value();
    return std::ranges::any_of(names, [](const auto& name) { return name.ends_with(".tmp"); });
  };
  Create();
  EXPECT_FALSE(has_temporary_file());
  AppendAndSync(MakeEntries(1, 1, 1, 2500));  // past the middle
  EXPECT_TRUE(has_temporary_file());
  writer_.reset();
  EXPECT_FALSE(has_temporary_file());
}

TEST_F(WalTest, StandsAtTheFailpointsOfTheTools) {
  Create();
  ASSERT_OK(failpoint::Set("walBeforeSync", "print"));
  ASSERT_OK(failpoint::Set("walAfterSync", "print"));
  AppendAndSync(MakeEntries(1, 1, 1));
  EXPECT_EQ(failpoint::Count("walBeforeSync").value(), 1u);
  EXPECT_EQ(failpoint::Count("walAfterSync").value(), 1u);
  ASSERT_OK(failpoint::Set("walSyncError", "return(Input/output error)"));
  Append(MakeEntries(2, 1, 1));
  EXPECT_EQ(writer_->Sync().error().message, "Input/output error");
  failpoint::ClearAll();
  EXPECT_FALSE(writer_->Sync().has_value());
}

}  // namespace
}  // namespace kvorum::wal
