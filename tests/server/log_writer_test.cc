// The log's writer over a simulated disk, on an executor that the test runs by hand.
#include "server/replica/log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/logging.h"
#include "tests/disk/sim_file_system.h"
#include "tests/mvcc/manual_executor.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kSegmentBytes = 16'384;
constexpr const char* kDir = "/data/wal";

class LogWriterTest : public ::testing::Test {
 protected:
  LogWriterTest() {
    SetLogLevel(LogLevel::kError);
    EXPECT_TRUE(fs_.MakeDirectories("/data/snap").has_value());
    wal::Options options;
    options.segment_size_bytes = kSegmentBytes;
    options.reserve_size_bytes = 0;
    auto writer = wal::Create(fs_, kDir, {.node_id = 1, .cluster_id = 2}, options);
    EXPECT_TRUE(writer.has_value());
    log_ = std::make_unique<LogWriter>(
        fs_, *std::move(writer), executor_, LogWriter::Options{.snap_dir = "/data/snap"},
        LogWriter::Hooks{
            .on_persisted = [this](std::uint64_t number) { persisted_.push_back(number); },
            .on_snapshot_durable = [](std::shared_ptr<const raft::Snapshot>) {},
            .on_snapshot_ended = [this](raft::Index index) { snapshots_.push_back(index); },
            .on_fatal = [this](const Error& error) { fatal_.push_back(error.message); }});
  }

  // The next entry, as a ready of its own.
  void Push(std::size_t size_bytes) {
    ++index_;
    LogWriter::Write write;
    write.ready_number = index_;
    write.must_sync = true;
    raft::Entry& entry = write.entries.emplace_back();
    entry.term = 1;
    entry.index = index_;
    entry.data = SharedBytes::Own(std::string(size_bytes, 'e'));
    write.hard_state = raft::HardState{.term = 1, .vote = 1, .commit = index_};
    log_->Push(std::move(write));
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
  std::vector<raft::Index> snapshots_;
  std::vector<std::string> fatal_;
};

TEST_F(LogWriterTest, AFullDiskIsTriedOnceASecondHoweverMuchIsPushed) {
  MeetFullDisk();
  const std::size_t acknowledged = persisted_.size();
  std::uint64_t before = attempts();
  for (int i = 0; i < 50; ++i) {
    Push(100);
    RunDue();
  }
  raft::SnapshotMetadata metadata;
  metadata.conf_state.voters = {1};
  metadata.index = 1;
  metadata.term = 1;
  log_->SaveSnapshot(metadata);
  RunDue();
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
  bool closed = false;
  log_->Close([&] { closed = true; });
  RunDue();
  ASSERT_TRUE(closed);
  log_.reset();
  const auto contents = wal::Read(fs_, kDir, {});
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
  EXPECT_LT(persisted_.back(), index_);
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
  const std::string segment = std::string(kDir) + "/0000000000000000-0000000000000000.wal";
  const auto bytes = [&] { return ReadWholeFile(fs_, segment, 1 << 20).value(); };
  const std::size_t begin = bytes().find_last_not_of('\0') + 8;
  for (const std::size_t size : {40UL, 80UL, 600UL}) {
    Push(size);
    --index_;  // the next one takes its place
  }
  RunDue();
  ASSERT_EQ(persisted_.size(), 2u) << "one group";
  // Of the last write but for what stands before its data.
  const std::size_t last_write_at = bytes().rfind(std::string(600, 'e')) - 64;
  ASSERT_LT(begin + 200, last_write_at);
  int refused = 0;
  for (std::size_t at = begin; at < last_write_at + 600; ++at) {
    ASSERT_TRUE(fs_.Corrupt(segment, at, 0x04));
    const auto contents = wal::Read(fs_, kDir, {});
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

}  // namespace
}  // namespace kvorum::server
