// The fault model of the simulated disk, one sentence a test.
#include "tests/disk/sim_file_system.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace kvorum {
namespace {

using Keep = SimFileSystem::Keep;
using Fault = SimFileSystem::Fault;
using Operation = SimFileSystem::Operation;
using OpenMode = FileSystem::OpenMode;

class SimFileSystemTest : public testing::Test {
 protected:
  std::unique_ptr<File> Open(const std::string& path, OpenMode mode) {
    auto file = fs_.Open(path, mode);
    EXPECT_TRUE(file.has_value()) << file.error().message;
    return file.has_value() ? std::move(*file) : nullptr;
  }
  static Result<void> Write(File& file, std::uint64_t offset, std::string_view bytes) {
    const std::string_view parts[] = {bytes};
    return file.WriteAt(offset, parts);
  }
  // A file whose name and content are durable.
  std::unique_ptr<File> MakeDurable(const std::string& path, std::string_view bytes) {
    auto file = Open(path, OpenMode::kCreate);
    EXPECT_TRUE(Write(*file, 0, bytes).has_value());
    EXPECT_TRUE(file->Sync().has_value());
    EXPECT_TRUE(fs_.SyncDirectory(ParentDirectory(path)).has_value());
    return file;
  }
  static std::string Content(FileSystem& fs, const std::string& path) {
    const auto content = ReadWholeFile(fs, path, 1 << 24);
    return content.has_value() ? *content : "(" + content.error().message + ")";
  }
  std::string Content(const std::string& path) { return Content(fs_, path); }

  SimFileSystem fs_;
  Rng rng_{1};
};

TEST_F(SimFileSystemTest, BytesThatWereNotSyncedMayGo) {
  const auto file = MakeDurable("/f", "old");
  ASSERT_TRUE(Write(*file, 0, "new and longer").has_value());
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kAll, rng_), "/f"), "new and longer");
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "old");
  ASSERT_TRUE(file->Sync().has_value());
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "new and longer");
}

TEST_F(SimFileSystemTest, ANameThatWasNotSyncedMayGoWithItsSyncedBytes) {
  const auto file = Open("/f", OpenMode::kCreate);
  ASSERT_TRUE(Write(*file, 0, "bytes").has_value());
  ASSERT_TRUE(file->Sync().has_value());
  EXPECT_FALSE(fs_.CrashImage(Keep::kNothing, rng_)->Exists("/f").value());
  ASSERT_TRUE(fs_.SyncDirectory("/").has_value());
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "bytes");
}

TEST_F(SimFileSystemTest, ARenameIsWholeOrNotAtAll) {
  MakeDurable("/a", "A");
  MakeDurable("/b", "B");
  ASSERT_TRUE(fs_.Rename("/a", "/b").has_value());
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    const auto image = fs_.CrashImage(Keep::kRandom, rng_);
    const bool a = image->Exists("/a").value();
    EXPECT_EQ(Content(*image, "/b"), a ? "B" : "A");
    seen.insert(Content(*image, "/b"));
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(SimFileSystemTest, ARemovedNameMayComeBack) {
  MakeDurable("/f", "bytes");
  ASSERT_TRUE(fs_.Remove("/f").has_value());
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "bytes");
  EXPECT_FALSE(fs_.CrashImage(Keep::kAll, rng_)->Exists("/f").value());
}

TEST_F(SimFileSystemTest, ALostFolderTakesItsFilesAlong) {
  ASSERT_TRUE(fs_.MakeDirectories("/d").has_value());
  MakeDurable("/d/f", "bytes");
  EXPECT_FALSE(fs_.CrashImage(Keep::kNothing, rng_)->Exists("/d/f").value());
  ASSERT_TRUE(fs_.SyncDirectory("/").has_value());
  EXPECT_TRUE(fs_.CrashImage(Keep::kNothing, rng_)->Exists("/d/f").value());
}

TEST_F(SimFileSystemTest, WritesAreTornAtSectorsAndReordered) {
  const auto file = MakeDurable("/f", std::string(2048, 'o'));
  ASSERT_TRUE(Write(*file, 0, std::string(2048, 'n')).has_value());
  std::set<std::string> seen;
  for (int i = 0; i < 400; ++i) {
    const std::string content = Content(*fs_.CrashImage(Keep::kRandom, rng_), "/f");
    ASSERT_EQ(content.size(), 2048u);
    std::string sectors;
    for (std::size_t at = 0; at < 2048; at += 512) {
      ASSERT_EQ(content.find_first_not_of(content[at], at), [&] {
        std::size_t end = at;
        while (end < 2048 && content[end] == content[at]) end += 512;
        return end == 2048 ? std::string::npos : end;
      }());
      sectors += content[at];
    }
    seen.insert(sectors);
  }
  EXPECT_EQ(seen.size(), 16u);  // each sector for itself
}

TEST_F(SimFileSystemTest, ASyncOfARangeMakesNothingElseDurable) {
  const auto file = MakeDurable("/f", std::string(1024, '0'));
  ASSERT_TRUE(Write(*file, 0, std::string(1024, '1')).has_value());
  ASSERT_TRUE(Write(*file, 600, "2").has_value());
  ASSERT_TRUE(fs_.SyncRange(*file, 600, 1).has_value());
  const std::string content = Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f");
  EXPECT_EQ(content.substr(0, 512), std::string(512, '0'));
  EXPECT_EQ(content.substr(512, 89), std::string(88, '1') + "2");
}

TEST_F(SimFileSystemTest, ASectorMayComeBackInAnyVersionSinceItsSync) {
  const auto file = MakeDurable("/f", "0");
  for (const char* version : {"1", "2", "3"}) {
    ASSERT_TRUE(Write(*file, 0, version).has_value());
  }
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) seen.insert(Content(*fs_.CrashImage(Keep::kRandom, rng_), "/f"));
  EXPECT_EQ(seen, (std::set<std::string>{"0", "1", "2", "3"}));
}

TEST_F(SimFileSystemTest, GarbageComesOnlyWhereNothingWasDurable) {
  const auto file = MakeDurable("/f", std::string(512, 'd') + std::string(512, '\0'));
  ASSERT_TRUE(Write(*file, 0, std::string(1024, 'n')).has_value());
  bool garbage = false;
  for (int i = 0; i < 200; ++i) {
    const std::string content = Content(*fs_.CrashImage(Keep::kGarbage, rng_), "/f");
    EXPECT_TRUE(content[100] == 'd' || content[100] == 'n');
    garbage |= content[600] != '\0' && content[600] != 'n';
  }
  EXPECT_TRUE(garbage);
}

TEST_F(SimFileSystemTest, ATruncatedFileMayComeBackLonger) {
  const auto file = MakeDurable("/f", "hello world");
  ASSERT_TRUE(file->Truncate(5).has_value());
  EXPECT_EQ(Content("/f"), "hello");
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "hello world");
  ASSERT_TRUE(file->Sync().has_value());
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "hello");
  ASSERT_TRUE(file->Truncate(11).has_value());
  EXPECT_EQ(Content("/f"), std::string("hello\0\0\0\0\0\0", 11));
}

TEST_F(SimFileSystemTest, ACrashEndsOpenFilesAndLocks) {
  const auto file = MakeDurable("/f", "bytes");
  const auto lock = fs_.Lock("/lock");
  ASSERT_TRUE(lock.has_value());
  fs_.Crash(Keep::kAll, rng_);
  EXPECT_EQ(Write(*file, 0, "x").error().code, Code::kUnavailable);
  EXPECT_EQ(file->Sync().error().code, Code::kUnavailable);
  EXPECT_TRUE(fs_.Lock("/lock").has_value());
}

TEST_F(SimFileSystemTest, AKillEndsThemTooAndLosesNoBytes) {
  const auto file = MakeDurable("/f", "bytes");
  ASSERT_TRUE(Write(*file, 0, "BYTES").has_value());
  fs_.Kill();
  EXPECT_EQ(Write(*file, 0, "x").error().code, Code::kUnavailable);
  EXPECT_EQ(Content("/f"), "BYTES");
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "bytes");
}

TEST_F(SimFileSystemTest, ThePowerGoesAtTheNthOperation) {
  const auto file = MakeDurable("/f", "0");
  fs_.PowerOffAt(3);
  EXPECT_TRUE(Write(*file, 0, "1").has_value());
  EXPECT_TRUE(file->Sync().has_value());
  EXPECT_EQ(Write(*file, 0, "2").error().code, Code::kUnavailable);
  EXPECT_EQ(file->Sync().error().code, Code::kUnavailable);
  EXPECT_EQ(fs_.Exists("/f").error().code, Code::kUnavailable);
  EXPECT_EQ(fs_.counters().power_cuts, 1u);
  const auto image = fs_.CrashImage(Keep::kAll, rng_);
  EXPECT_EQ(Content(*image, "/f"), "2");  // done, though it was answered by an error
  fs_.Crash(Keep::kNothing, rng_);
  EXPECT_EQ(Content("/f"), "1");
}

TEST_F(SimFileSystemTest, ASyncThatIsLeftOutMakesNothingDurable) {
  fs_.LeaveOutSyncs([](const std::string& path) { return path == "/f" || path == "/dir"; });
  const auto file = MakeDurable("/f", "bytes");
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "");
  ASSERT_TRUE(fs_.SyncRange(*file, 0, 5).has_value());
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "");
  ASSERT_TRUE(fs_.MakeDirectories("/dir").has_value());
  ASSERT_TRUE(fs_.SyncDirectory("/").has_value());
  const auto named = MakeDurable("/dir/g", "bytes");
  EXPECT_FALSE(fs_.CrashImage(Keep::kNothing, rng_)->Exists("/dir/g").value());
  fs_.LeaveOutSyncs({});
  ASSERT_TRUE(file->Sync().has_value());
  ASSERT_TRUE(fs_.SyncDirectory("/dir").has_value());
  const auto image = fs_.CrashImage(Keep::kNothing, rng_);
  EXPECT_EQ(Content(*image, "/f"), "bytes");
  EXPECT_EQ(Content(*image, "/dir/g"), "bytes");
}

TEST_F(SimFileSystemTest, AFailedSyncGivesItsBytesUpForEver) {
  const auto file = MakeDurable("/f", "old");
  ASSERT_TRUE(Write(*file, 0, "new").has_value());
  fs_.FailAt(1, Fault::kIoError);
  EXPECT_EQ(file->Sync().error().code, Code::kDataLoss);
  EXPECT_TRUE(file->Sync().has_value());  // the lie
  EXPECT_EQ(Content("/f"), "new");
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "old");
  ASSERT_TRUE(Write(*file, 0, "New").has_value());  // written again, it is pending again
  ASSERT_TRUE(file->Sync().has_value());
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "New");
}

TEST_F(SimFileSystemTest, FailsWhatItIsToldByPath) {
  const auto file = MakeDurable("/some.wal", "");
  fs_.FailPath(Operation::kWrite, ".wal", Fault::kIoError);
  EXPECT_EQ(Write(*file, 0, "x").error().code, Code::kDataLoss);
  EXPECT_EQ(Write(*file, 0, "x").error().code, Code::kDataLoss);
  EXPECT_TRUE(file->Sync().has_value());
  const auto other = MakeDurable("/other", "fine");
  fs_.FailPath(Operation::kRead, "other", Fault::kIoError);
  char c = 0;
  EXPECT_EQ(other->ReadAt(0, &c, 1).error().code, Code::kDataLoss);
  fs_.ClearFaults();
  EXPECT_TRUE(Write(*file, 0, "x").has_value());
  EXPECT_TRUE(other->ReadAt(0, &c, 1).has_value());
  EXPECT_EQ(fs_.counters().io_errors, 3u);
}

TEST_F(SimFileSystemTest, AFullDiskTakesThePartThatFits) {
  fs_.SetCapacity(10);
  const auto file = MakeDurable("/f", "12345");
  EXPECT_EQ(fs_.FreeSpace("/").value(), 5u);
  EXPECT_EQ(Write(*file, 5, "67890abc").error().code, Code::kResourceExhausted);
  EXPECT_EQ(Content("/f"), "1234567890");
  EXPECT_TRUE(Write(*file, 0, "x").has_value());
  EXPECT_EQ(file->Allocate(11).error().code, Code::kResourceExhausted);
  ASSERT_TRUE(file->Truncate(0).has_value());
  EXPECT_TRUE(file->Allocate(10).has_value());
  EXPECT_TRUE(Write(*file, 0, "1234567890").has_value());
  EXPECT_EQ(fs_.counters().no_space_errors, 2u);
}

TEST_F(SimFileSystemTest, BitsRotOnTheDurableCopyToo) {
  MakeDurable("/f", "abc");
  EXPECT_TRUE(fs_.Corrupt("/f", 1, 0x20));
  EXPECT_EQ(Content("/f"), "aBc");
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), "aBc");
  EXPECT_FALSE(fs_.Corrupt("/f", 3, 1));
  EXPECT_FALSE(fs_.Corrupt("/missing", 0, 1));
}

TEST_F(SimFileSystemTest, TheObserverSeesEachOperationBeforeItIsDone) {
  const auto file = MakeDurable("/f", "0");
  std::vector<std::string> seen;
  fs_.SetObserver([&] { seen.push_back(Content("/f")); });
  ASSERT_TRUE(Write(*file, 0, "1").has_value());
  ASSERT_TRUE(file->Sync().has_value());
  ASSERT_TRUE(fs_.Rename("/f", "/g").has_value());
  EXPECT_EQ(seen, (std::vector<std::string>{"0", "1", "1"}));
}

TEST_F(SimFileSystemTest, WriteFileAtomicallyLeavesTheOldOrTheNewContent) {
  ASSERT_TRUE(WriteFileAtomically(fs_, "/f", std::string(3000, 'o')).has_value());
  std::set<char> seen;
  fs_.SetObserver([&] {
    for (int i = 0; i < 20; ++i) {
      const std::string content = Content(*fs_.CrashImage(Keep::kRandom, rng_), "/f");
      EXPECT_TRUE(content == std::string(3000, 'o') || content == std::string(4000, 'n'));
      seen.insert(content[0]);
    }
  });
  ASSERT_TRUE(WriteFileAtomically(fs_, "/f", std::string(4000, 'n')).has_value());
  EXPECT_EQ(seen.size(), 2u);
  fs_.SetObserver(nullptr);
  EXPECT_EQ(Content(*fs_.CrashImage(Keep::kNothing, rng_), "/f"), std::string(4000, 'n'));
}

TEST_F(SimFileSystemTest, EqualSeedsLeaveEqualDisks) {
  const auto file = MakeDurable("/f", std::string(8192, 'o'));
  ASSERT_TRUE(Write(*file, 0, std::string(8192, 'n')).has_value());
  for (const Keep keep : SimFileSystem::kAllKeeps) {
    Rng a(99);
    Rng b(99);
    EXPECT_EQ(Content(*fs_.CrashImage(keep, a), "/f"), Content(*fs_.CrashImage(keep, b), "/f"));
  }
}

}  // namespace
}  // namespace kvorum
