#include "datadir/snapshot_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "base/crc32c.h"
#include "base/log/logging.h"
#include "proto/snap.pb.h"
#include "tests/damage.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::datadir {
namespace {

using testing::ElementsAre;

constexpr const char* kDir = "/snap";

raft::SnapshotMetadata At(raft::Term term, raft::Index index) {
  return {.conf_state = {.voters = {7}}, .index = index, .term = term};
}

class SnapshotFilesTest : public testing::Test {
 protected:
  SnapshotFilesTest() {
    SetLogLevel(LogLevel::kError);
    EXPECT_TRUE(fs_.MakeDirectories(kDir).has_value());
    EXPECT_TRUE(fs_.SyncDirectory("/").has_value());
  }
  void Save(raft::Term term, raft::Index index) {
    const auto saved = SaveSnapshotFile(fs_, kDir, At(term, index));
    ASSERT_TRUE(saved.has_value()) << saved.error().message;
  }
  // The index of the newest, 0 if there is none.
  static raft::Index Newest(FileSystem& fs, raft::Index valid_up_to = 1'000'000) {
    const auto found = LoadNewestSnapshotFile(
        fs, kDir,
        [&](const raft::SnapshotMetadata& metadata) { return metadata.index <= valid_up_to; });
    EXPECT_TRUE(found.has_value());
    return found.has_value() && found->has_value() ? (*found)->index : 0;
  }
  std::vector<std::string> Names() { return *fs_.List(kDir); }

  SimFileSystem fs_;
};

TEST_F(SnapshotFilesTest, NoneIsNoError) { EXPECT_EQ(Newest(fs_), 0); }

TEST_F(SnapshotFilesTest, NameAndContentAreTheFormats) {
  Save(0x12, 0xabc);
  EXPECT_THAT(Names(), ElementsAre("0000000000000012-0000000000000abc.snap"));
  snappb::snapshot file;
  ASSERT_TRUE(file.ParseFromString(
      *ReadWholeFile(fs_, "/snap/0000000000000012-0000000000000abc.snap", 1000)));
  EXPECT_EQ(file.crc(), Crc32c(0, file.data()));
  const auto snapshot = raft::DecodeSnapshot(SharedBytes::Copy(file.data()));
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_TRUE(snapshot->data.empty());
  EXPECT_EQ(snapshot->metadata, At(0x12, 0xabc));
}

TEST_F(SnapshotFilesTest, TheNewestIsOfTheHighestTermThenIndex) {
  Save(1, 90);
  Save(2, 30);
  Save(2, 200);
  EXPECT_EQ(Newest(fs_), 200);
  EXPECT_EQ(Newest(fs_, 100), 30) << "one that is not valid is passed over, and kept";
  EXPECT_EQ(Names().size(), 3);
}

TEST_F(SnapshotFilesTest, ADamagedOneIsSetAside) {
  Save(1, 10);
  Save(1, 20);
  const std::string path = "/snap/0000000000000001-0000000000000014.snap";
  ASSERT_TRUE(fs_.Corrupt(path, 8, 1));
  EXPECT_EQ(Newest(fs_), 10);
  EXPECT_THAT(Names(), ElementsAre("0000000000000001-000000000000000a.snap",
                                   "0000000000000001-0000000000000014.snap.broken"));
}

TEST_F(SnapshotFilesTest, EachFlippedBitAndEachLengthCutIsFound) {
  Save(3, 10);
  const std::string path = "/snap/0000000000000003-000000000000000a.snap";
  const std::string content = *ReadWholeFile(fs_, path, 1000);
  const auto check = [&](std::string_view damaged, auto...) {
    ASSERT_TRUE(WriteFileAtomically(fs_, path, damaged).has_value());
    const auto found = LoadNewestSnapshotFile(fs_, kDir, [](const auto&) { return true; });
    ASSERT_TRUE(found.has_value());
    if (found->has_value()) {
      EXPECT_EQ(**found, At(3, 10)) << "damage that was not found";
    }
  };
  ForEachCut(content, check);
  ForEachFlip(content, check);
}

TEST_F(SnapshotFilesTest, AnErrorOfTheDiskIsNoDamage) {
  Save(1, 10);
  fs_.FailPath(SimFileSystem::Operation::kOpen, "000a.snap", SimFileSystem::Fault::kNoSpace);
  EXPECT_FALSE(LoadNewestSnapshotFile(fs_, kDir, [](const auto&) { return true; }).has_value());
  fs_.ClearFaults();
  EXPECT_EQ(Newest(fs_), 10);
}

TEST_F(SnapshotFilesTest, PurgeKeepsTheNewest) {
  for (raft::Index index = 1; index <= 5; ++index) Save(1, index);
  ASSERT_TRUE(PurgeSnapshotFiles(fs_, kDir, 0).has_value());
  EXPECT_EQ(Names().size(), 5);
  ASSERT_TRUE(PurgeSnapshotFiles(fs_, kDir, 2).has_value());
  EXPECT_THAT(Names(), ElementsAre("0000000000000001-0000000000000004.snap",
                                   "0000000000000001-0000000000000005.snap"));
  ASSERT_TRUE(PurgeSnapshotFiles(fs_, kDir, 9).has_value());
  EXPECT_EQ(Names().size(), 2);
}

// A purge that keeps one would keep a file that the log does not know.
TEST_F(SnapshotFilesTest, WhatIsNewerThanTheLogKnowsIsSetAside) {
  for (raft::Index index = 1; index <= 3; ++index) Save(1, index);
  Save(2, 1);
  ASSERT_TRUE(
      SetNewerSnapshotFilesAside(fs_, kDir, {.conf_state = {}, .index = 2, .term = 1}).has_value());
  EXPECT_EQ(Newest(fs_), 2);
  ASSERT_TRUE(PurgeSnapshotFiles(fs_, kDir, 1).has_value());
  EXPECT_THAT(Names(), ElementsAre("0000000000000001-0000000000000002.snap",
                                   "0000000000000001-0000000000000003.snap.broken",
                                   "0000000000000002-0000000000000001.snap.broken"));
  ASSERT_TRUE(SetNewerSnapshotFilesAside(fs_, kDir, {}).has_value());
  EXPECT_THAT(Names(), testing::Not(testing::Contains(testing::EndsWith(".snap"))));
}

TEST_F(SnapshotFilesTest, WhatIsLeftOfReceivedSnapshotsIsRemovedButForOne) {
  Save(1, 5);
  for (const char* name : {"/0000000000000005.snap.db", "/0000000000000005.snap.db-lock",
                           "/0000000000000006.snap.db", "/0000000000000007.snap.db.part", "/db"}) {
    ASSERT_TRUE(fs_.Open(kDir + std::string(name), FileSystem::OpenMode::kCreate).has_value());
  }
  EXPECT_EQ(ReceivedSnapshotPath(kDir, 5), kDir + std::string("/0000000000000005.snap.db"));
  ASSERT_TRUE(RemoveReceivedSnapshots(fs_, kDir, 5).has_value());
  EXPECT_THAT(Names(), ElementsAre("0000000000000001-0000000000000005.snap",
                                   "0000000000000005.snap.db", "db"));
}

// Fault model: tests/disk/sim_file_system.h.
TEST_F(SnapshotFilesTest, APowerCutLeavesTheOldOneOrTheNewOne) {
  Save(1, 10);
  Rng rng(1);
  std::set<raft::Index> found;
  fs_.SetObserver([&] {
    for (const auto keep : SimFileSystem::kAllKeeps) {
      const auto image = fs_.CrashImage(keep, rng);
      found.insert(Newest(*image));
    }
  });
  Save(1, 20);
  fs_.SetObserver(nullptr);
  EXPECT_THAT(found, ElementsAre(raft::Index{10}, raft::Index{20}));
  EXPECT_EQ(Newest(*fs_.CrashImage(SimFileSystem::Keep::kNothing, rng)), 20);
}

}  // namespace
}  // namespace kvorum::datadir
