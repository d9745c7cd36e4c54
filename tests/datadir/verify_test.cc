// The state of a directory as Verify tells it, on a real disk: etcd's and ours, whole and damaged.
#include "datadir/verify.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "datadir/release.h"
#include "mvcc/index/index_file.h"
#include "mvcc/lmdb/backend.h"
#include "tests/datadir/etcd_directory_on_disk.h"

namespace kvorum::datadir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class VerifyTest : public EtcdDirectoryOnDisk {
 protected:
  void Flip(const std::string& path, std::streamoff at) {
    std::fstream file(OnDisk(path), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const auto byte = static_cast<char>(file.get() ^ 0xff);
    file.seekp(at);
    file.put(byte);
  }
  Verified Look() {
    const auto found = Verify(PosixFileSystem(), dir_, "",
                              std::chrono::duration_cast<Duration>(std::chrono::milliseconds(1)));
    EXPECT_TRUE(found.has_value()) << found.error().message;
    return found.value_or(Verified{});
  }
  // By their names, with their content.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return files;
  }
  void SetModes(mode_t folders, mode_t files) const {
    chmod(dir_.c_str(), folders);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_))
      chmod(entry.path().c_str(), entry.is_directory() ? folders : files);
  }
  void TakeRightsAway() const { SetModes(0555, 0444); }
  void GiveRightsBack() const { SetModes(0755, 0644); }
  // Root may open everything.
  Result<Verified> LookAsNobody() const {
    constexpr uid_t kNobody = 65534;
    const uid_t self = geteuid();
    if (self == 0) {
      EXPECT_EQ(seteuid(kNobody), 0);
    }
    auto looked = Verify(PosixFileSystem(), dir_, "",
                         std::chrono::duration_cast<Duration>(std::chrono::milliseconds(1)));
    EXPECT_EQ(seteuid(self), 0);
    return looked;
  }
  void TearDown() override {
    GiveRightsBack();
    EtcdDirectoryOnDisk::TearDown();
  }
};

TEST_F(VerifyTest, ADirectoryOfEtcdThatIsWhole) {
  const Verified found = Look();
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_THAT(found.lost, IsEmpty());
  EXPECT_EQ(found.owner, DatabaseOwner::kEtcd);
  EXPECT_EQ(found.member, wal::kMetadata.node_id);
  EXPECT_EQ(found.cluster, wal::kMetadata.cluster_id);
  EXPECT_EQ(found.first_index, raft::Index{1});
  EXPECT_EQ(found.last_index, kLast);
  EXPECT_EQ(found.commit, kLast);
  EXPECT_EQ(found.snapshot_index, kMarked);
  EXPECT_EQ(found.database->applied, kApplied);
  EXPECT_EQ(found.database->records, 3U);
  EXPECT_EQ(found.database->revision, 4);
  EXPECT_EQ(found.database->storage_version, "3.7.0");
}

TEST_F(VerifyTest, ADirectoryOfOursThatIsWhole) {
  AdoptIt();
  const Verified found = Look();
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_EQ(found.owner, DatabaseOwner::kKvorum);
  EXPECT_EQ(found.database->records, 3U);
  EXPECT_EQ(found.database->applied, kApplied);
}

TEST_F(VerifyTest, AMoveThatWasCutOff) {
  AdoptIt();
  std::filesystem::remove(OnDisk(layout_.format));
  EXPECT_THAT(Look().problems, ElementsAre(HasSubstr("run kvorumutl adopt again")));
}

TEST_F(VerifyTest, ADirectoryOfALaterLayout) {
  AdoptIt();
  std::ofstream(OnDisk(layout_.format)) << "kvorum data 2\n";
  const Verified found = Look();
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("says \"kvorum data 2\"")));
  EXPECT_THAT(found.lost, IsEmpty());
}

TEST_F(VerifyTest, ADamagedDatabase) {
  Flip(layout_.database, 64);
  Flip(layout_.database, 4096 + 64);
  const Verified found = Look();
  EXPECT_FALSE(found.would_start());
  EXPECT_EQ(found.database.has_value(), false);
  EXPECT_EQ(found.last_index, kLast);
  EXPECT_THAT(found.lost, ElementsAre(HasSubstr("no older state is kept here")));
}

TEST_F(VerifyTest, ASavedIndexThatCannotBeUsedKeepsNoMemberFromStarting) {
  const std::string index = mvcc::IndexFilePath(layout_.database);
  std::ofstream(OnDisk(index)) << "of another database";
  AdoptIt();
  EXPECT_FALSE(std::filesystem::exists(OnDisk(index)));
  std::ofstream(OnDisk(index)) << "damaged";
  const Verified found = Look();
  EXPECT_TRUE(found.would_start());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("cannot be used")));
}

TEST_F(VerifyTest, ADamagedRecordOfOurs) {
  AdoptIt();
  std::string bytes;
  {
    std::ifstream file(OnDisk(layout_.database), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::size_t at = bytes.rfind("key 3");
  ASSERT_NE(at, std::string::npos);
  Flip(layout_.database, static_cast<std::streamoff>(at));
  const Verified found = Look();
  EXPECT_FALSE(found.would_start());
  EXPECT_THAT(found.lost, ElementsAre(HasSubstr(layout_.KeptOfEtcd().substr(6))));
}

// A byte by which LMDB finds fewer records in a page than there are.
TEST_F(VerifyTest, ADamagedPageOfOursIsNeitherSoundNorReleased) {
  AdoptIt();
  constexpr std::streamoff kPageBytes = 4096;
  constexpr std::streamoff kEndOfOffsets = 12;
  const auto open = [](const std::string& path) {
    return mvcc::OpenLmdbBackend({.path = path,
                                  .map_size_bytes = std::uint64_t{1} << 30,
                                  .check = mvcc::LmdbCheck::kAllPages});
  };
  const auto pages = static_cast<std::streamoff>(
      std::filesystem::file_size(OnDisk(layout_.database)) / kPageBytes);
  int damaged = 0;
  for (std::streamoff page = 2; page < pages; ++page) {
    const std::streamoff at = page * kPageBytes + kEndOfOffsets;
    Flip(layout_.database, at);
    if (!Look().would_start()) {
      ++damaged;
      const auto released = Release(PosixFileSystem(), {.data_dir = dir_, .open = open});
      ASSERT_FALSE(released.has_value());
      EXPECT_EQ(released.error().code, Code::kDataLoss);
      EXPECT_THAT(released.error().message, HasSubstr("page " + std::to_string(page)));
      EXPECT_TRUE(std::filesystem::exists(OnDisk(layout_.format)));
    }
    Flip(layout_.database, at);
  }
  EXPECT_GT(damaged, 0);
  EXPECT_TRUE(Look().would_start());
}

TEST_F(VerifyTest, AFileOfNobodysIsNoMoveThatWasCutOff) {
  for (const std::string& bytes : {std::string(), std::string(20'000, 'x')}) {
    std::ofstream(OnDisk(layout_.database), std::ios::binary | std::ios::trunc) << bytes;
    const Verified found = Look();
    EXPECT_EQ(found.owner, DatabaseOwner::kUnknown);
    EXPECT_THAT(found.problems, testing::Contains(HasSubstr("invalid database")));
    EXPECT_THAT(found.problems, testing::Not(testing::Contains(HasSubstr("again"))));
  }
}

TEST_F(VerifyTest, ADamagedLogEndsBeforeTheDatabase) {
  // The third entry, long before the last seal.
  std::string bytes;
  const std::string segment = layout_.wal + "/0000000000000000-0000000000000000.wal";
  {
    std::ifstream file(OnDisk(segment), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::size_t first = bytes.find("\x0a\x01k");
  ASSERT_NE(first, std::string::npos);
  Flip(segment, static_cast<std::streamoff>(bytes.find("\x0a\x01k", first + 1)));
  const Verified found = Look();
  EXPECT_FALSE(found.would_start());
  EXPECT_EQ(found.last_index, raft::Index{1});
  EXPECT_EQ(found.member, std::nullopt);
  EXPECT_EQ(found.commit, std::nullopt);
  EXPECT_EQ(found.snapshot_index, std::nullopt);
  EXPECT_EQ(found.database->applied, kApplied);
  EXPECT_THAT(found.lost, ElementsAre(HasSubstr("entries after 1")));
}

TEST_F(VerifyTest, ADatabaseOlderThanTheSnapshot) {
  WriteDatabase(EtcdContent(raft::Index{3}));
  Save();
  EXPECT_THAT(Look().problems, ElementsAre(HasSubstr("older than the log's snapshot at 5")));
}

TEST_F(VerifyTest, AReceivedSnapshotBecomesTheDatabaseIfItIsWhole) {
  WriteDatabase(EtcdContent(raft::Index{3}));
  const std::string received = ReceivedSnapshotPath(layout_.snap, kMarked);
  WriteFile(received, bbolt::ImageOf(EtcdContent(kMarked)).value());
  Save();
  EXPECT_THAT(Look().problems, IsEmpty());
  auto content = EtcdContent(kMarked);
  content["members"].begin()->second = "{";
  WriteFile(received, bbolt::ImageOf(content).value());
  Save();
  EXPECT_THAT(Look().problems, ElementsAre(testing::AllOf(HasSubstr(received.substr(6)),
                                                          HasSubstr("bucket members"))));
  WriteFile(received, bbolt::ImageOf(EtcdContent(raft::Index{4})).value());
  Save();
  EXPECT_THAT(Look().problems, ElementsAre(HasSubstr("at entry 4, not at 5")));
}

TEST_F(VerifyTest, ADatabaseNewerThanTheLog) {
  WriteDatabase(EtcdContent(kLast + 3));
  Save();
  const Verified found = Look();
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("but the log ends at 12")));
  EXPECT_THAT(found.lost, ElementsAre(HasSubstr("after 12")));
}

TEST_F(VerifyTest, NoLog) {
  std::filesystem::remove_all(OnDisk(layout_.wal));
  EXPECT_THAT(Look().problems, ElementsAre(HasSubstr("there is no log")));
}

TEST_F(VerifyTest, ADatabaseThatMayNotBeOpenedIsNotCalledLost) {
  AdoptIt();
  TakeRightsAway();
  chmod(OnDisk(layout_.database).c_str(), 0);
  const auto looked = LookAsNobody();
  ASSERT_FALSE(looked.has_value());
  EXPECT_EQ(looked.error().code, Code::kPermissionDenied);
}

TEST_F(VerifyTest, TheRightToWriteIsNotNeeded) {
  for (const DatabaseOwner owner : {DatabaseOwner::kEtcd, DatabaseOwner::kKvorum}) {
    if (owner == DatabaseOwner::kKvorum) AdoptIt();
    std::filesystem::remove(OnDisk(LmdbLockOf(layout_.database)));
    TakeRightsAway();
    const auto before = Files();
    const auto looked = LookAsNobody();
    ASSERT_OK(looked);
    EXPECT_EQ(looked->owner, owner);
    EXPECT_THAT(looked->problems, IsEmpty());
    EXPECT_THAT(looked->notes, IsEmpty());
    EXPECT_EQ(looked->database->records, 3U);
    EXPECT_TRUE(before == Files());
    GiveRightsBack();
  }
}

// Locks need no right to write either.
TEST_F(VerifyTest, WithoutTheRightToWriteLocksAreKeptAllTheSame) {
  AdoptIt();
  TakeRightsAway();
  {
    const auto move = LockMember(PosixFileSystem(), Layout(dir_, ""));
    ASSERT_OK(move);
    EXPECT_EQ(LookAsNobody().error().code, Code::kFailedPrecondition);
  }
  {
    const auto server =
        mvcc::OpenLmdbBackend({.path = OnDisk(layout_.database), .map_size_bytes = 1 << 30});
    ASSERT_OK(server);
    EXPECT_EQ(LookAsNobody().error().code, Code::kFailedPrecondition);
  }
  // One that only root may open.
  chmod(OnDisk(layout_.lock).c_str(), 0);
  const auto looked = LookAsNobody();
  ASSERT_OK(looked);
  EXPECT_THAT(looked->problems, IsEmpty());
  EXPECT_THAT(looked->notes, ElementsAre(HasSubstr("would not be noticed")));
}

TEST_F(VerifyTest, NothingChanges) {
  AdoptIt();
  const auto before = Files();
  Look();
  EXPECT_TRUE(before == Files());
}

}  // namespace
}  // namespace kvorum::datadir
