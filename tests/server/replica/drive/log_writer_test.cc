// The log's writer over a simulated disk, on an executor that the test runs by hand.
#include "server/replica/drive/log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/log/logging.h"
#include "datadir/snapshot_files.h"
#include "tests/disk/sim_file_system.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/manual_executor.h"
#include "tests/server/replica/log_file.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kSegmentBytes = 16'384;
constexpr std::size_t kPartBytes = 12'000;
constexpr const char* kLogDir = "/data/wal";

class LogWriterTest : public ::testing::Test {
 protected:
  LogWriterTest() {
    SetLogLevel(LogLevel::kError);
    EXPECT_TRUE(fs_.MakeDirectories("/data/snap").has_value());
    wal::Options options;
    options.segment_size_bytes = kSegmentBytes;
    options.reserve_size_bytes = 0;
    auto writer = wal::Create(fs_, kLogDir, {.node_id = 1, .cluster_id = 2}, options);
    EXPECT_TRUE(writer.has_value());
    log_ = std::make_unique<LogWriter>(
        fs_, *std::move(writer), executor_,
        LogWriter::Options{.snap_dir = "/data/snap", .part_bytes = kPartBytes},
        LogWriter::Hooks{
            .on_persisted = [this](std::uint64_t number) { persisted_.push_back(number); },
            .on_snapshot_durable =
                [this](const std::shared_ptr<const raft::Snapshot>& snapshot) {
                  received_.push_back(snapshot->metadata.index.value());
                  persisted_before_received_ = persisted_;
                },
            .on_snapshot_ended = [this](raft::Index index) { snapshots_.push_back(index.value()); },
            .on_fatal = [this](const Error& error) { fatal_.push_back(error.message); }});
  }

  // Pushes the next entry, in a separate Ready.
  LogWriter::Write Next(std::size_t size_bytes) {
    ++index_;
    LogWriter::Write write;
    write.ready_number = index_.value();
    write.must_sync = true;
    raft::Entry& entry = write.entries.emplace_back();
    entry.term = 1;
    entry.index = index_;
    entry.data = SharedBytes::Own(std::string(size_bytes, 'e'));
    write.hard_state = raft::HardState{.term = 1, .vote = 1, .commit = index_};
    return write;
  }
  void Push(std::size_t size_bytes) { log_->Push(Next(size_bytes)); }
  // Pushes a leader's snapshot, and the entry after it, as one Ready.
  void PushReceived(raft::Index snapshot_index) {
    index_ = snapshot_index;
    LogWriter::Write write = Next(10);
    write.snapshot = std::make_shared<const raft::Snapshot>(
        raft::Snapshot{.metadata = Metadata(snapshot_index)});
    log_->Push(std::move(write));
  }
  // One Ready of a new term.
  LogWriter::Write ManyInOne(int count, std::size_t size_bytes) {
    LogWriter::Write all = Next(size_bytes);
    for (int i = 1; i < count; ++i) {
      LogWriter::Write next = Next(size_bytes);
      all.entries.push_back(next.entries[0]);
      all.ready_number = next.ready_number;
    }
    for (raft::Entry& entry : all.entries) entry.term = 7;
    all.hard_state = raft::HardState{.term = 7, .vote = 1, .commit = index_};
    return all;
  }
  void ExpectSmallSegments() {
    const std::vector<std::string> names = fs_.List(kLogDir).value();
    for (const std::string& name : names) {
      if (!name.ends_with(".wal")) continue;
      const auto bytes = ReadWholeFile(fs_, std::string(kLogDir) + "/" + name, 1 << 30);
      EXPECT_LE(bytes->size(), kSegmentBytes) << name;
    }
  }
  static raft::SnapshotMetadata Metadata(raft::Index index) {
    return {.conf_state = {.voters = {1}}, .index = index, .term = 1};
  }
  void SaveSnapshot(raft::Index index) {
    log_->SaveSnapshot(Metadata(index));
    RunDue();
  }
  void Close() {
    bool is_closed = false;
    log_->Close([&] { is_closed = true; });
    RunDue();
    EXPECT_TRUE(is_closed);
  }
  // The content that a restart finds.
  Result<wal::Contents> ReadBack(const wal::SnapshotMarker& from = {}) {
    log_.reset();
    return wal::Read(fs_, kLogDir, from);
  }
  void RunDue() {
    while (executor_.RunOne()) {
    }
  }
  void Wait(Duration time) {
    clock_.Advance(time);
    RunDue();
  }
  // No room for another segment, and the one that is open is used up.
  void MeetFullDisk() {
    fs_.SetCapacity(0);
    while (fs_.counters().no_space_errors == 0) {
      Push(4'000);
      RunDue();
      ASSERT_LT(index_, 100u);
    }
  }
  std::uint64_t attempts() const { return fs_.counters().no_space_errors; }

  SimFileSystem fs_;
  ManualClock clock_;
  ManualExecutor executor_{clock_};
  std::unique_ptr<LogWriter> log_;
  raft::Index index_ = 0;
  std::vector<std::uint64_t> persisted_;
  std::vector<std::uint64_t> snapshots_;
  std::vector<std::uint64_t> received_;
  std::vector<std::uint64_t> persisted_before_received_;
  std::vector<std::string> fatal_;
};

TEST_F(LogWriterTest, WhatIsQueuedWhenTheDiskIsFreeGoesOutAsOneWriteAndOneSync) {
  Push(100);
  RunDue();
  const std::uint64_t before = fs_.operations();
  for (int i = 0; i < 10; ++i) Push(100);
  EXPECT_EQ(fs_.operations(), before) << "nothing is done on the raft executor";
  RunDue();
  EXPECT_EQ(fs_.operations(), before + 2);
  EXPECT_THAT(persisted_, ElementsAre(1, 11)) << "told once for all";
  EXPECT_EQ(ReadBack()->entries.size(), 11U);
}

// Neither the segment nor the memory for its frames grows with what was queued while the disk was
// stuck.
TEST_F(LogWriterTest, WhatExceedsAPartIsWrittenInSeveral) {
  for (int i = 0; i < 40; ++i) Push(1'000);
  RunDue();
  EXPECT_THAT(persisted_, ElementsAre(40));
  ExpectSmallSegments();
  const auto contents = ReadBack();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  EXPECT_EQ(contents->entries.size(), 40U);
  EXPECT_EQ(contents->hard_state.commit, 40U);
}

TEST_F(LogWriterTest, OneReadyIsDividedToo) {
  log_->Push(ManyInOne(40, 1'000));
  RunDue();
  EXPECT_THAT(persisted_, ElementsAre(40));
  ExpectSmallSegments();
  const auto contents = ReadBack();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  EXPECT_EQ(contents->entries.size(), 40U);
  EXPECT_EQ(contents->hard_state, (raft::HardState{.term = 7, .vote = 1, .commit = 40}));
}

TEST_F(LogWriterTest, APartOfAReadyStandsByItself) {
  log_->Push(ManyInOne(40, 1'000));
  fs_.SetCapacity(20'000);  // for the segment that is open, and what is little beside it
  RunDue();
  EXPECT_THAT(persisted_, IsEmpty());
  EXPECT_THAT(fatal_, IsEmpty());
  const auto read = wal::Read(fs_, kLogDir, {});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_GT(read->entries.size(), 5U);
  EXPECT_LT(read->entries.size(), 40U);
  EXPECT_EQ(read->hard_state, (raft::HardState{.term = 7, .vote = 1, .commit = 0}))
      << "with the term of its entries, and no commit index beyond them";
  fs_.SetCapacity(std::nullopt);
  Wait(std::chrono::seconds(1));
  EXPECT_THAT(persisted_, ElementsAre(40));
  const auto contents = ReadBack();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  ASSERT_EQ(contents->entries.size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(contents->entries[i].index, i + 1);
}

// Raft gives it out with each batch: a separate sync would be one too many.
TEST_F(LogWriterTest, ACommitIndexAloneWaitsForTheNextThatNeedsTheDisk) {
  Push(100);
  RunDue();
  LogWriter::Write state;
  state.ready_number = 90;
  state.hard_state = raft::HardState{.term = 1, .vote = 1, .commit = 1};
  const std::uint64_t before = fs_.operations();
  log_->Push(std::move(state));
  EXPECT_FALSE(executor_.RunOne());
  EXPECT_EQ(fs_.operations(), before);
  Push(100);
  RunDue();
  EXPECT_THAT(persisted_, ElementsAre(1, 2)) << "nobody waits for it";
  EXPECT_EQ(ReadBack()->hard_state.commit, 2U);
}

TEST_F(LogWriterTest, EntriesThatReplaceOthersAreWrittenBehindThem) {
  for (int i = 0; i < 3; ++i) Push(10);
  index_ = 1;
  LogWriter::Write replacing = Next(20);
  replacing.entries[0].term = 2;
  replacing.ready_number = 4;
  replacing.hard_state = raft::HardState{.term = 2, .vote = 2, .commit = 1};
  log_->Push(std::move(replacing));
  RunDue();
  EXPECT_THAT(persisted_, ElementsAre(4));
  const auto contents = ReadBack();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  ASSERT_EQ(contents->entries.size(), 2U);
  EXPECT_EQ(contents->entries[1].term, 2U);
  EXPECT_EQ(contents->hard_state.term, 2U);
}

// After a failed sync the kernel may have dropped the data: the next one proves nothing.
TEST_F(LogWriterTest, AFailedSyncIsTheEnd) {
  Push(100);
  RunDue();
  fs_.FailPath(SimFileSystem::Operation::kSync, ".wal", SimFileSystem::Fault::kIoError);
  Push(100);
  RunDue();
  EXPECT_EQ(fatal_.size(), 1U);
  fs_.ClearFaults();
  Push(100);
  RunDue();
  SaveSnapshot(1);
  Close();
  EXPECT_THAT(persisted_, ElementsAre(1)) << "nothing more is acknowledged";
  EXPECT_THAT(snapshots_, ElementsAre(0));
  EXPECT_EQ(fatal_.size(), 1U) << "said once";
}

TEST_F(LogWriterTest, AFailedWriteIsTheEnd) {
  fs_.FailPath(SimFileSystem::Operation::kWrite, ".wal", SimFileSystem::Fault::kIoError);
  Push(100);
  RunDue();
  Push(100);
  RunDue();
  EXPECT_EQ(fatal_.size(), 1U);
  EXPECT_THAT(persisted_, IsEmpty());
}

TEST_F(LogWriterTest, AReceivedSnapshotVoidsTheLogBeforeIt) {
  Push(100);
  PushReceived(20);
  RunDue();
  EXPECT_THAT(persisted_, ElementsAre(21));
  EXPECT_THAT(received_, ElementsAre(20));
  EXPECT_THAT(persisted_before_received_, ElementsAre(21)) << "Raft is told first";
  const auto newest =
      datadir::LoadNewestSnapshotFile(fs_, "/data/snap", [](const auto&) { return true; });
  EXPECT_EQ((*newest)->index, 20U);
  const auto contents = ReadBack({.index = 20, .term = 1, .conf_state = Metadata(20).conf_state});
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  ASSERT_EQ(contents->entries.size(), 1U);
  EXPECT_EQ(contents->entries[0].index, 21U);
}

// A marker in the log is trusted: without its file a restart would find nothing to begin with.
TEST_F(LogWriterTest, AReceivedSnapshotWhoseFileCannotBeWrittenLeavesNoMarker) {
  Push(100);
  RunDue();
  fs_.FailPath(SimFileSystem::Operation::kSync, "/data/snap/", SimFileSystem::Fault::kIoError);
  PushReceived(20);
  RunDue();
  EXPECT_EQ(fatal_.size(), 1U);
  EXPECT_THAT(received_, IsEmpty());
  EXPECT_THAT(persisted_, ElementsAre(1));
  log_.reset();
  const auto markers = wal::ListMarkers(fs_, kLogDir);
  ASSERT_TRUE(markers.has_value()) << markers.error().message;
  EXPECT_EQ(markers->back().index, 0U);
}

// No file, no marker, and no entry after it, until there is room for all.
TEST_F(LogWriterTest, AReceivedSnapshotWaitsForSpaceWithItsEntries) {
  Push(100);
  RunDue();
  fs_.FailPath(SimFileSystem::Operation::kWrite, "/data/snap/", SimFileSystem::Fault::kNoSpace);
  PushReceived(20);
  RunDue();
  EXPECT_THAT(persisted_, ElementsAre(1));
  EXPECT_THAT(received_, IsEmpty());
  EXPECT_THAT(fatal_, IsEmpty());
  fs_.ClearFaults();
  Wait(std::chrono::seconds(1));
  EXPECT_THAT(persisted_, ElementsAre(1, 21));
  EXPECT_THAT(received_, ElementsAre(20));
}

TEST_F(LogWriterTest, ASnapshotIsMarkedBehindAllThatWasPushedBefore) {
  for (int i = 0; i < 3; ++i) Push(100);
  log_->SaveSnapshot(Metadata(3));
  RunDue();
  EXPECT_THAT(snapshots_, ElementsAre(3));
  log_.reset();
  const auto markers = wal::ListMarkers(fs_, kLogDir);
  ASSERT_TRUE(markers.has_value()) << markers.error().message;
  EXPECT_EQ(markers->back().index, 3U) << "the commit index that it needs is there";
}

TEST_F(LogWriterTest, ASnapshotThatAReceivedOneHasOvertakenIsNotMarked) {
  Push(100);
  PushReceived(20);
  SaveSnapshot(1);
  EXPECT_THAT(snapshots_, ElementsAre(0));
  SaveSnapshot(21);
  EXPECT_THAT(snapshots_, ElementsAre(0, 21));
}

TEST_F(LogWriterTest, ASnapshotWithoutSpaceForItsFileKeepsMoreOfTheLog) {
  Push(100);
  RunDue();
  fs_.FailPath(SimFileSystem::Operation::kWrite, "/data/snap/", SimFileSystem::Fault::kNoSpace);
  SaveSnapshot(1);
  EXPECT_THAT(snapshots_, ElementsAre(0));
  EXPECT_THAT(fatal_, IsEmpty());
  fs_.ClearFaults();
  SaveSnapshot(1);
  EXPECT_THAT(snapshots_, ElementsAre(0, 1));
}

TEST_F(LogWriterTest, ASnapshotWhoseFileCannotBeWrittenIsTheEnd) {
  Push(100);
  RunDue();
  fs_.FailPath(SimFileSystem::Operation::kSync, "/data/snap/", SimFileSystem::Fault::kIoError);
  SaveSnapshot(1);
  EXPECT_EQ(fatal_.size(), 1U);
  EXPECT_THAT(snapshots_, IsEmpty());
}

TEST_F(LogWriterTest, ASnapshotLetsOldSegmentsGo) {
  const auto segments = [&] {
    return std::ranges::count_if(fs_.List(kLogDir).value(),
                                 [](const std::string& name) { return name.ends_with(".wal"); });
  };
  while (segments() < 9) {
    Push(4'000);
    RunDue();
    ASSERT_LT(index_, 100U);
  }
  SaveSnapshot(index_);
  EXPECT_EQ(segments(), 5) << "as many as max_wals keeps";
}

TEST_F(LogWriterTest, BehindCloseNothingIsWritten) {
  Push(100);
  RunDue();
  Close();
  const std::uint64_t before = fs_.operations();
  Push(100);
  RunDue();
  SaveSnapshot(1);
  Close();
  EXPECT_EQ(fs_.operations(), before);
  EXPECT_THAT(persisted_, ElementsAre(1));
  EXPECT_THAT(snapshots_, ElementsAre(0));
  EXPECT_THAT(fatal_, IsEmpty());
}

TEST_F(LogWriterTest, LowSpaceIsLookedAtEverySecondUntilThereIsEnough) {
  MeetFullDisk();
  ASSERT_TRUE(log_->SpaceLow());
  log_->WatchSpace();
  log_->WatchSpace();
  Wait(std::chrono::seconds(3));
  EXPECT_TRUE(log_->SpaceLow());
  fs_.SetCapacity(std::nullopt);
  Wait(std::chrono::seconds(1));
  EXPECT_FALSE(log_->SpaceLow());
  Wait(std::chrono::seconds(2));
  EXPECT_FALSE(executor_.HasTimed()) << "no timer is left";
}

TEST_F(LogWriterTest, SegmentsThatStayForOthersGoWhenTheDiskIsShortOfSpace) {
  const auto segments = [this] {
    const std::vector<std::string> names = fs_.List(kLogDir).value();
    return std::ranges::count_if(names, [](const auto& name) { return name.ends_with(".wal"); });
  };
  for (int i = 0; i < 40; ++i) {
    Push(4'000);
    RunDue();
  }
  log_->SaveSnapshot(Metadata(38), 1);
  RunDue();
  const auto before = segments();
  EXPECT_GT(before, 9);
  log_->WatchSpace();
  Wait(std::chrono::seconds(1));
  EXPECT_EQ(segments(), before) << "there is space";
  MeetFullDisk();
  EXPECT_EQ(segments(), 5) << "as many as always stay";
}

TEST_F(LogWriterTest, AFullDiskIsTriedOnceASecondHoweverMuchIsPushed) {
  MeetFullDisk();
  const std::size_t acknowledged = persisted_.size();
  std::uint64_t before = attempts();
  for (int i = 0; i < 50; ++i) {
    Push(100);
    RunDue();
  }
  SaveSnapshot(1);
  EXPECT_EQ(attempts(), before) << "nothing is tried between two looks";
  EXPECT_THAT(snapshots_, ElementsAre(0)) << "not now";

  for (int second = 0; second < 5; ++second) {
    before = attempts();
    Wait(std::chrono::seconds(1));
    // The segment that is wanted, and the one that is to be at hand.
    EXPECT_GE(attempts(), before + 1);
    EXPECT_LE(attempts(), before + 2) << "second " << second;
  }
  EXPECT_EQ(persisted_.size(), acknowledged) << "nothing that is not durable is acknowledged";

  fs_.SetCapacity(std::nullopt);
  Wait(std::chrono::seconds(1));
  EXPECT_EQ(persisted_.back(), index_);
  EXPECT_THAT(fatal_, IsEmpty());
  Wait(std::chrono::seconds(5));
  EXPECT_FALSE(executor_.HasTimed()) << "no timer is left";
}

TEST_F(LogWriterTest, WhatWaitedForSpaceIsInTheLogInItsOrder) {
  MeetFullDisk();
  for (int i = 0; i < 10; ++i) Push(100);
  RunDue();
  fs_.SetCapacity(std::nullopt);
  Wait(std::chrono::seconds(1));
  Close();
  const auto contents = ReadBack();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  ASSERT_EQ(contents->entries.size(), index_);
  EXPECT_EQ(contents->entries.back().index, index_);
  EXPECT_EQ(contents->hard_state.commit, index_);
}

TEST_F(LogWriterTest, ANameThatTheFullDiskHasNoRoomForIsWaitedOut) {
  Push(100);
  RunDue();
  fs_.FailPath(SimFileSystem::Operation::kRename, "/spare-", SimFileSystem::Fault::kNoSpace);
  while (fs_.counters().no_space_errors == 0) {
    Push(4'000);
    RunDue();
    ASSERT_LT(index_, 100u);
  }
  EXPECT_LT(persisted_.back(), index_.value());
  fs_.ClearFaults();
  Wait(std::chrono::seconds(1));
  EXPECT_THAT(fatal_, IsEmpty());
  EXPECT_EQ(persisted_.back(), index_);
}

TEST_F(LogWriterTest, AnErrorOfTheOpenSegmentIsFatalWhateverItIs) {
  Push(100);
  RunDue();
  fs_.FailPath(SimFileSystem::Operation::kWrite, ".wal", SimFileSystem::Fault::kNoSpace);
  Push(100);
  RunDue();
  EXPECT_EQ(fatal_.size(), 1u) << "its space was reserved; how much is written is unknown";
  fs_.ClearFaults();
  Push(100);
  Wait(std::chrono::seconds(3));
  EXPECT_EQ(fatal_.size(), 1u);
  EXPECT_THAT(persisted_, ElementsAre(1));
}

// One sync confirms what takes several writes: entries that replace others.
TEST_F(LogWriterTest, AChangedByteOfAnEarlierWriteOfTheLastSyncIsRefused) {
  Push(100);
  RunDue();
  const std::string segment = std::string(kLogDir) + "/0000000000000000-0000000000000000.wal";
  const auto bytes = [&] { return ReadWholeFile(fs_, segment, 1 << 20).value(); };
  const std::size_t begin = bytes().find_last_not_of('\0') + 8;
  for (const std::size_t size : {40UL, 80UL, 600UL}) {
    Push(size);
    --index_;  // the next one replaces it
  }
  RunDue();
  ASSERT_EQ(persisted_.size(), 2u) << "one group";
  // The last write, without the bytes before its data.
  const std::size_t last_write_at = bytes().rfind(std::string(600, 'e')) - 64;
  ASSERT_LT(begin + 200, last_write_at);
  int refused = 0;
  for (std::size_t at = begin; at < last_write_at + 600; ++at) {
    ASSERT_TRUE(fs_.Corrupt(segment, at, 0x04));
    const auto contents = wal::Read(fs_, kLogDir, {});
    if (contents.has_value()) {
      EXPECT_GE(at, last_write_at);
      EXPECT_EQ(contents->entries.back().data.size(), 80u) << at << ": only the last write is gone";
    } else {
      ++refused;
      EXPECT_EQ(contents.error().code, Code::kDataLoss);
      EXPECT_NE(contents.error().message.find(segment), std::string::npos);
    }
    ASSERT_TRUE(fs_.Corrupt(segment, at, 0x04));
  }
  EXPECT_GT(refused, 200);
}

std::uint64_t CountOf(const Histogram& histogram) {
  const HistogramValues values = histogram.values();
  return std::accumulate(values.counts.begin(), values.counts.end(), std::uint64_t{0});
}

// A new segment costs up to three: the old one's end, its own beginning, the folder.
TEST_F(LogWriterTest, TheSyncsOfANewSegmentAreTimedAsWell) {
  Push(10);
  RunDue();
  EXPECT_EQ(CountOf(log_->times().sync), 1u);
  SaveSnapshot(1);
  EXPECT_EQ(CountOf(log_->times().sync), 2u);
  Push(kSegmentBytes);
  RunDue();
  // Nothing of the old segment was unsynced.
  EXPECT_EQ(CountOf(log_->times().sync), 2u + 2 + 1);
}

TEST_F(LogWriterTest, ASlowSyncIsLogged) {
  LogFile log;
  Push(10);
  RunDue();
  EXPECT_THAT(log.LinesWith("slow fdatasync"), IsEmpty());
  fs_.SetObserver([this] { clock_.Advance(std::chrono::seconds(2)); });
  Push(10);
  RunDue();
  fs_.SetObserver({});
  const std::vector<std::string> lines = log.LinesWith("slow fdatasync");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], ::testing::HasSubstr(R"("expected-duration":"1s")"));
}

}  // namespace
}  // namespace kvorum::server
