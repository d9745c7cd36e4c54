#include "datadir/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/log/logging.h"
#include "bbolt/format.h"
#include "datadir/foreign_files.h"
#include "datadir/layout.h"
#include "mvcc/lmdb/backend.h"
#include "tests/disk/sim_file_system.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::datadir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string ErrorOf(FileSystem& fs, const std::string& wal_dir = "") {
  const auto opened = OpenDataDirectory(fs, "/data", wal_dir);
  if (opened.has_value()) return "opened";
  EXPECT_EQ(opened.error().code, Code::kFailedPrecondition);
  return opened.error().message;
}

void WriteFile(FileSystem& fs, const std::string& path, std::string_view content) {
  ASSERT_TRUE(fs.MakeDirectories(ParentDirectory(path)).has_value());
  ASSERT_TRUE(WriteFileAtomically(fs, path, content).has_value());
}

TEST(DataDirectoryTest, AFreshOneIsMadeAndMarked) {
  SimFileSystem fs;
  const auto opened = OpenDataDirectory(fs, "/a/data", "");
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  EXPECT_EQ(opened->root, "/a/data");
  EXPECT_EQ(opened->wal, "/a/data/member/wal");
  EXPECT_EQ(opened->snap, "/a/data/member/snap");
  EXPECT_EQ(opened->database, "/a/data/member/snap/db");
  EXPECT_THAT(*fs.List("/a/data/member"), ElementsAre("format", "lock", "snap", "wal"));
  EXPECT_EQ(ReadWholeFile(fs, "/a/data/member/format", 100), "kvorum data 1\n");
}

TEST(DataDirectoryTest, TheLogMayLiveElsewhere) {
  SimFileSystem fs;
  const auto opened = OpenDataDirectory(fs, "/data", "/fast/wal");
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->wal, "/fast/wal");
  EXPECT_THAT(*fs.List("/data/member"), ElementsAre("format", "lock", "snap"));
}

// Only the first page of a large value has a header: in the others the value's own bytes lie where
// a page of another kind would have its mark.
TEST(DataDirectoryTest, AValueThatLooksLikeAPageOfEtcdsDoesNotMakeTheDatabaseEtcds) {
  const mvcc::TestFolder folder;
  const std::string path = folder / "db";
  const auto backend = mvcc::OpenLmdbBackend({.path = path}).value();
  std::string pages;
  while (pages.size() < 300'000) {
    const std::uint32_t magic = bbolt::kMagic;
    pages.append(reinterpret_cast<const char*>(&magic), sizeof(magic));
  }
  for (std::int64_t phase = 0; phase < 4; ++phase) {
    mvcc::OwnedBatch batch;
    batch.Append({.main = phase + 2, .sub = 0}, pages.substr(static_cast<std::size_t>(phase)));
    Commit(*backend, batch);
    EXPECT_EQ(OwnerOfDatabase(PosixFileSystem(), path), DatabaseOwner::kKvorum);
  }
}

TEST(DataDirectoryTest, OneProcessHoldsItAtATime) {
  SimFileSystem fs;
  {
    const auto first = OpenDataDirectory(fs, "/data", "");
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(ErrorOf(fs), "data directory /data is in use by another process");
  }
  EXPECT_EQ(ErrorOf(fs), "opened");
}

TEST(DataDirectoryTest, AnotherVersionsLayoutIsRefused) {
  SimFileSystem fs;
  WriteFile(fs, "/data/member/format", "kvorum data 2\nmore\n");
  EXPECT_EQ(ErrorOf(fs),
            "data directory /data has a layout that this version does not know "
            "(/data/member/format says \"kvorum data 2\"); use the version that wrote it");
  WriteFile(fs, "/data/member/format", "");
  EXPECT_NE(ErrorOf(fs), "opened");
  WriteFile(fs, "/data/member/format", "kvorum data 1");
  EXPECT_NE(ErrorOf(fs), "opened");
}

TEST(DataDirectoryTest, AnotherProgramsDataIsRefusedAndLeftAlone) {
  const std::string text =
      "data directory /data was written by another program (it has data but no "
      "/data/member/format); if that was etcd, start with --adopt-etcd-data, or run kvorumutl "
      "adopt "
      "--data-dir /data";
  {
    SimFileSystem fs;
    WriteFile(fs, "/data/member/snap/db", "bbolt");
    EXPECT_EQ(ErrorOf(fs), text);
    EXPECT_EQ(fs.Exists("/data/member/format"), false);
  }
  {
    SimFileSystem fs;
    WriteFile(fs, "/data/member/wal/0000000000000000-0000000000000000.wal", "");
    EXPECT_EQ(ErrorOf(fs), text);
  }
  {
    SimFileSystem fs;
    WriteFile(fs, "/log/0000000000000000-0000000000000000.wal", "");
    EXPECT_EQ(ErrorOf(fs, "/log"), text);
  }
}

TEST(DataDirectoryTest, OtherFilesInItAreNoMatter) {
  SimFileSystem fs;
  WriteFile(fs, "/data/lost+found", "");
  WriteFile(fs, "/data/member/wal/0.tmp", "left by a crash");
  EXPECT_EQ(ErrorOf(fs), "opened");
}

TEST(DataDirectoryTest, ForeignFilesAreFoundInEachFolder) {
  SimFileSystem fs;
  const Layout layout("/data", "");
  ASSERT_EQ(ErrorOf(fs), "opened");
  for (const char* ours :
       {"fixtures/peer/cert.pem", "member/quarantined", "member/wal/reserve", "member/wal/0.tmp",
        "member/wal/0000000000000000-0000000000000000.wal", "member/wal/x.wal.broken",
        "member/snap/db", "member/snap/db-lock", "member/snap/db.index",
        "member/snap/db.index.next", "member/snap/db.index.tmp", "member/snap/db.etcd",
        "member/snap/0000000000000001-0000000000000001.snap",
        "member/snap/0000000000000001.snap.db.part"}) {
    WriteFile(fs, std::string("/data/") + ours, "");
  }
  EXPECT_THAT(FindForeignFiles(fs, layout), IsEmpty());
  for (const char* foreign : {"member/wal/lost+found", "member/snap/lost+found", "member/old",
                              "lost+found", ".snapshot", ".nfs0001"})
    WriteFile(fs, std::string("/data/") + foreign, "");
  std::vector<std::string> lines;
  for (const ForeignFile& file : FindForeignFiles(fs, layout))
    lines.push_back(std::string(file.message) + ": " + file.path);
  EXPECT_THAT(lines, ElementsAre("found invalid file under data directory: /data/.nfs0001",
                                 "found invalid file under data directory: /data/.snapshot",
                                 "found invalid file under data directory: /data/lost+found",
                                 "found invalid file under data directory: /data/member/old",
                                 "ignored file in WAL directory: /data/member/wal/lost+found",
                                 "found unexpected non-snap file; skipping: "
                                 "/data/member/snap/lost+found"));
}

TEST(DataDirectoryTest, ALogBesideTheMemberIsNotForeign) {
  SimFileSystem fs;
  ASSERT_EQ(ErrorOf(fs, "/data/fast/wal"), "opened");
  EXPECT_THAT(FindForeignFiles(fs, Layout("/data", "/data/fast/wal")), IsEmpty());
  WriteFile(fs, "/data/fas", "");
  EXPECT_EQ(FindForeignFiles(fs, Layout("/data", "/data/fast/wal")).size(), 1U);
}

// Fault model: tests/disk/sim_file_system.h. After a power cut at any step of its creation the next
// start must take it as fresh or as complete.
TEST(DataDirectoryTest, APowerCutWhileItIsMadeDoesNotSpoilIt) {
  SimFileSystem fs;
  Rng rng(1);
  int images = 0;
  fs.SetObserver([&] {
    for (const auto keep : SimFileSystem::kAllKeeps) {
      const auto image = fs.CrashImage(keep, rng);
      EXPECT_EQ(ErrorOf(*image), "opened") << "before write operation " << fs.operations();
      ++images;
    }
  });
  const auto opened = OpenDataDirectory(fs, "/data", "");
  fs.SetObserver(nullptr);
  ASSERT_TRUE(opened.has_value());
  EXPECT_GT(images, 20);
  const auto image = fs.CrashImage(SimFileSystem::Keep::kNothing, rng);
  EXPECT_EQ(image->Exists("/data/member/wal"), true) << "durable when it returned";
  EXPECT_EQ(image->Exists("/data/member/format"), true);
}

TEST(DataDirectoryTest, AnErrorOfTheDiskIsToldAsItIs) {
  SimFileSystem fs;
  fs.FailPath(SimFileSystem::Operation::kSync, "format", SimFileSystem::Fault::kIoError);
  const auto opened = OpenDataDirectory(fs, "/data", "");
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::kDataLoss);
}

// --- real directories --------------------------------------------------------------------------

class EnforcePrivateTest : public testing::Test {
 protected:
  EnforcePrivateTest() {
    SetLogLevel(LogLevel::kError);
    std::string name = (std::filesystem::temp_directory_path() / "kvorum-dir-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    dir_ = name;
  }
  ~EnforcePrivateTest() override { std::filesystem::remove_all(dir_); }
  unsigned Mode() const {
    struct stat info{};
    EXPECT_EQ(stat(dir_.c_str(), &info), 0);
    return info.st_mode & 0777;
  }
  std::string dir_;
};

// CVE-2020-15113: directories that others may enter are taken as they are.
TEST_F(EnforcePrivateTest, OthersAccessIsTakenAway) {
  ASSERT_EQ(chmod(dir_.c_str(), 0755), 0);
  EXPECT_TRUE(EnforcePrivate(dir_).has_value());
  EXPECT_EQ(Mode(), 0700);
  ASSERT_EQ(chmod(dir_.c_str(), 0500), 0);
  EXPECT_TRUE(EnforcePrivate(dir_).has_value());
  EXPECT_EQ(Mode(), 0500) << "what is private already is left as it is";
}

TEST_F(EnforcePrivateTest, AMissingOneIsFineAndAFileIsNot) {
  EXPECT_TRUE(EnforcePrivate(dir_ + "/missing").has_value());
  std::ofstream(dir_ + "/file") << "x";
  EXPECT_EQ(EnforcePrivate(dir_ + "/file").error(),
            (Error{Code::kFailedPrecondition, dir_ + "/file is not a directory"}));
}

TEST_F(EnforcePrivateTest, WhatIsMadeOnARealDiskIsPrivate) {
  const auto opened = OpenDataDirectory(PosixFileSystem(), dir_ + "/data", "");
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  for (const char* part : {"/data", "/data/member", "/data/member/wal", "/data/member/snap"}) {
    struct stat info{};
    ASSERT_EQ(stat((dir_ + part).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700) << part;
  }
}

}  // namespace
}  // namespace kvorum::datadir
