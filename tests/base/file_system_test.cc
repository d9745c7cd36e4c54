// The contract of every FileSystem, for the machine's and the simulated one.
#include "base/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "tests/disk/sim_file_system.h"

namespace {
// Runs between the opening of a file and its lock, once.
std::function<void()> before_lock;
// The file system cannot rename to a free name alone, as NFS.
bool without_renameat2 = false;
}  // namespace

extern "C" int flock(int fd, int operation) {
  if (const auto run = std::exchange(before_lock, nullptr)) run();
  return static_cast<int>(::syscall(SYS_flock, fd, operation));
}

extern "C" int renameat2(int old_folder, const char* old_path, int new_folder, const char* new_path,
                         unsigned flags) noexcept {
  if (without_renameat2) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(
      ::syscall(SYS_renameat2, old_folder, old_path, new_folder, new_path, flags));
}

namespace kvorum {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using OpenMode = FileSystem::OpenMode;

enum class Kind : std::uint8_t { kPosix, kSim };

class FileSystemTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kPosix) {
      std::string pattern = testing::TempDir() + "/file_system_test.XXXXXX";
      ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
      dir_ = pattern;
      fs_ = &PosixFileSystem();
    } else {
      dir_ = "/data";
      fs_ = &sim_;
      ASSERT_TRUE(sim_.MakeDirectories(dir_).has_value());
    }
  }
  void TearDown() override {
    if (GetParam() == Kind::kPosix) std::filesystem::remove_all(dir_);
  }

  std::string Path(const std::string& name) { return dir_ + "/" + name; }
  std::unique_ptr<File> Make(const std::string& name, std::string_view content = "") {
    auto file = fs_->Open(Path(name), OpenMode::kCreate);
    EXPECT_TRUE(file.has_value()) << file.error().message;
    const std::string_view parts[] = {content};
    EXPECT_TRUE((*file)->WriteAt(0, parts).has_value());
    return std::move(*file);
  }
  std::string Content(const std::string& name) {
    return ReadWholeFile(*fs_, Path(name), 1 << 24).value();
  }

  SimFileSystem sim_;
  std::string dir_;
  FileSystem* fs_ = nullptr;
};

TEST_P(FileSystemTest, ARenameIfAbsentLeavesTheFileThatHasTheName) {
  for (const bool by_link : {false, true}) {
    without_renameat2 = by_link;
    const std::string to = by_link ? "free2" : "free";
    Make("new", "new");
    if (!by_link) Make("old", "old");
    const auto refused = fs_->RenameIfAbsent(Path("new"), Path("old"));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
    EXPECT_EQ(Content("old"), "old");
    EXPECT_EQ(Content("new"), "new");
    ASSERT_TRUE(fs_->RenameIfAbsent(Path("new"), Path(to)).has_value());
    EXPECT_EQ(Content(to), "new");
    EXPECT_FALSE(fs_->Exists(Path("new")).value());
  }
  without_renameat2 = false;
}

TEST_P(FileSystemTest, ALinkWhoseAnswerWasLostIsARename) {
  if (GetParam() == Kind::kSim) return;
  without_renameat2 = true;
  Make("new", "new");
  std::filesystem::create_hard_link(Path("new"), Path("free"));
  EXPECT_TRUE(fs_->RenameIfAbsent(Path("new"), Path("free")).has_value());
  without_renameat2 = false;
  EXPECT_EQ(Content("free"), "new");
  EXPECT_FALSE(fs_->Exists(Path("new")).value());
}

TEST_P(FileSystemTest, ALookTellsFilesFromFolders) {
  using Found = FileSystem::Status::Kind;
  Make("f", "four");
  ASSERT_TRUE(fs_->MakeDirectories(Path("d")).has_value());
  EXPECT_EQ(fs_->Look(Path("f")).value().kind, Found::kFile);
  EXPECT_EQ(fs_->Look(Path("f")).value().size_bytes, 4u);
  EXPECT_EQ(fs_->Look(Path("d")).value().kind, Found::kFolder);
  EXPECT_EQ(fs_->Look(Path("absent")).error().code, Code::kNotFound);
  if (GetParam() == Kind::kSim) return;
  std::filesystem::create_symlink("f", Path("link"));
  EXPECT_EQ(fs_->Look(Path("link")).value().kind, Found::kOther);
}

TEST_P(FileSystemTest, ReadsWhatWasWritten) {
  const auto file = Make("f");
  const std::string_view parts[] = {"hello", "", " ", "world"};
  ASSERT_TRUE(file->WriteAt(3, parts).has_value());
  EXPECT_EQ(file->Size().value(), 14u);
  EXPECT_EQ(Content("f"), std::string("\0\0\0hello world", 14));
  char buffer[32];
  EXPECT_EQ(file->ReadAt(8, buffer, 32).value(), 6u);
  EXPECT_EQ(std::string(buffer, 6), " world");
  EXPECT_EQ(file->ReadAt(14, buffer, 32).value(), 0u);
  EXPECT_EQ(file->ReadAt(1000, buffer, 32).value(), 0u);
  EXPECT_TRUE(file->Sync().has_value());
}

TEST_P(FileSystemTest, WritesThousandsOfPartsInOrder) {
  const auto file = Make("f");
  std::vector<std::string> texts;
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    texts.push_back(std::string(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26)));
    expected += texts.back();
  }
  const std::vector<std::string_view> parts(texts.begin(), texts.end());
  ASSERT_TRUE(file->WriteAt(0, parts).has_value());
  EXPECT_EQ(Content("f"), expected);
  EXPECT_TRUE(file->WriteAt(0, {}).has_value());
}

TEST_P(FileSystemTest, TruncatesAndGrowsWithZeros) {
  const auto file = Make("f", "hello world");
  ASSERT_TRUE(file->Truncate(5).has_value());
  ASSERT_TRUE(file->Truncate(8).has_value());
  EXPECT_EQ(Content("f"), std::string("hello\0\0\0", 8));
}

TEST_P(FileSystemTest, AllocateGrowsWithZerosAndNeverShrinks) {
  const auto file = Make("f", "hello");
  ASSERT_TRUE(file->Allocate(100'000).has_value());
  EXPECT_EQ(file->Size().value(), 100'000u);
  EXPECT_EQ(Content("f"), "hello" + std::string(99'995, '\0'));
  ASSERT_TRUE(file->Allocate(10).has_value());
  EXPECT_EQ(file->Size().value(), 100'000u);
  EXPECT_TRUE(file->Allocate(0).has_value());
}

TEST_P(FileSystemTest, OpenTellsWhatIsWrong) {
  Make("f");
  const auto twice = fs_->Open(Path("f"), OpenMode::kCreate);
  EXPECT_EQ(twice.error().code, Code::kAlreadyExists);
  EXPECT_THAT(twice.error().message, HasSubstr(Path("f")));
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kReadWrite}) {
    const auto missing = fs_->Open(Path("missing"), mode);
    EXPECT_EQ(missing.error().code, Code::kNotFound);
    EXPECT_THAT(missing.error().message, HasSubstr("No such file or directory"));
    EXPECT_FALSE(fs_->Open(dir_, mode).has_value());
  }
  EXPECT_EQ(fs_->Open(Path("no/folder"), OpenMode::kCreate).error().code, Code::kNotFound);
}

// The pipe has no writer: an open that waits would never end.
TEST(PosixFileSystemTest, OpenRefusesPipesAndDevices) {
  const std::string pipe = testing::TempDir() + "kvorum-pipe-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kReadWrite}) {
    const auto opened = PosixFileSystem().Open(pipe, mode);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Code::kInvalidArgument);
    EXPECT_EQ(opened.error().message, "open " + pipe + ": it is a named pipe, not a file");
  }
  ::unlink(pipe.c_str());
  EXPECT_EQ(PosixFileSystem().Open("/dev/zero", OpenMode::kRead).error().message,
            "open /dev/zero: it is a device, not a file");
}

TEST_P(FileSystemTest, AFileOpenedForReadingIsNotWritten) {
  Make("f", "hello");
  const auto file = fs_->Open(Path("f"), OpenMode::kRead);
  ASSERT_TRUE(file.has_value());
  const std::string_view parts[] = {"x"};
  EXPECT_FALSE((*file)->WriteAt(0, parts).has_value());
  EXPECT_EQ(Content("f"), "hello");
}

TEST_P(FileSystemTest, ListsNamesInOrder) {
  Make("b");
  Make("a");
  ASSERT_TRUE(fs_->MakeDirectories(Path("c/d")).has_value());
  EXPECT_THAT(fs_->List(dir_).value(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(fs_->List(Path("c")).value(), ElementsAre("d"));
  EXPECT_EQ(fs_->List(Path("missing")).error().code, Code::kNotFound);
}

TEST_P(FileSystemTest, MakesFoldersWithTheirParents) {
  ASSERT_TRUE(fs_->MakeDirectories(Path("x/y/z")).has_value());
  EXPECT_TRUE(fs_->Exists(Path("x/y/z")).value());
  EXPECT_TRUE(fs_->MakeDirectories(Path("x/y/z")).has_value());
  Make("f");
  EXPECT_FALSE(fs_->MakeDirectories(Path("f")).has_value());
  EXPECT_FALSE(fs_->MakeDirectories(Path("f/g")).has_value());
  EXPECT_FALSE(fs_->Exists(Path("f/g")).value());
  EXPECT_TRUE(fs_->SyncDirectory(Path("x")).has_value());
  EXPECT_FALSE(fs_->SyncDirectory(Path("missing")).has_value());
}

TEST_P(FileSystemTest, RenamesOverAFile) {
  const auto file = Make("old", "content");
  Make("new", "other");
  ASSERT_TRUE(fs_->Rename(Path("old"), Path("new")).has_value());
  EXPECT_FALSE(fs_->Exists(Path("old")).value());
  EXPECT_EQ(Content("new"), "content");
  // The open file goes on.
  const std::string_view parts[] = {"C"};
  ASSERT_TRUE(file->WriteAt(0, parts).has_value());
  EXPECT_EQ(Content("new"), "Content");
  EXPECT_EQ(fs_->Rename(Path("old"), Path("new")).error().code, Code::kNotFound);
}

TEST_P(FileSystemTest, RenamesAFolderWithWhatIsInIt) {
  ASSERT_TRUE(fs_->MakeDirectories(Path("a/b")).has_value());
  Make("a/b/f", "content");
  ASSERT_TRUE(fs_->Rename(Path("a"), Path("z")).has_value());
  EXPECT_EQ(Content("z/b/f"), "content");
  EXPECT_FALSE(fs_->Exists(Path("a")).value());
}

TEST_P(FileSystemTest, RemovesFilesAndEmptyFolders) {
  const auto file = Make("d", "content");
  ASSERT_TRUE(fs_->Remove(Path("d")).has_value());
  EXPECT_FALSE(fs_->Exists(Path("d")).value());
  char c = 0;
  EXPECT_EQ(file->ReadAt(0, &c, 1).value(), 1u);  // the open one lives on
  EXPECT_EQ(c, 'c');
  EXPECT_EQ(fs_->Remove(Path("d")).error().code, Code::kNotFound);
  ASSERT_TRUE(fs_->MakeDirectories(Path("x/y")).has_value());
  EXPECT_EQ(fs_->Remove(Path("x")).error().code, Code::kAlreadyExists);
  EXPECT_TRUE(fs_->Remove(Path("x/y")).has_value());
  EXPECT_TRUE(fs_->Remove(Path("x")).has_value());
}

TEST_P(FileSystemTest, ALockHasOneHolder) {
  auto lock = fs_->Lock(Path("lock"));
  ASSERT_TRUE(lock.has_value()) << lock.error().message;
  const auto second = fs_->Lock(Path("lock"));
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(second.error().message, "lock " + Path("lock") + ": held by another process");
  lock->reset();
  EXPECT_TRUE(fs_->Lock(Path("lock")).has_value());
}

TEST(PosixLockTest, IsOfTheFileThatHasTheName) {
  std::string dir = testing::TempDir() + "/file_system_test.XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  const std::string path = dir + "/lock";
  before_lock = [&] { std::filesystem::remove(path); };
  const auto lock = PosixFileSystem().Lock(path);
  ASSERT_TRUE(lock.has_value()) << lock.error().message;
  EXPECT_FALSE(PosixFileSystem().Lock(path).has_value());
  std::filesystem::remove_all(dir);
}

TEST_P(FileSystemTest, TellsTheFreeSpace) { EXPECT_GT(fs_->FreeSpace(dir_).value(), 0u); }

TEST_P(FileSystemTest, ReadWholeFileRefusesWhatIsTooLarge) {
  Make("f", "hello");
  EXPECT_EQ(ReadWholeFile(*fs_, Path("f"), 5).value(), "hello");
  EXPECT_EQ(ReadWholeFile(*fs_, Path("f"), 4).error().code, Code::kOutOfRange);
  EXPECT_EQ(ReadWholeFile(*fs_, Path("missing"), 4).error().code, Code::kNotFound);
}

TEST_P(FileSystemTest, WriteFileAtomicallyReplaces) {
  ASSERT_TRUE(WriteFileAtomically(*fs_, Path("f"), "one").has_value());
  ASSERT_TRUE(WriteFileAtomically(*fs_, Path("f"), "two").has_value());
  EXPECT_EQ(Content("f"), "two");
  Make("g.tmp", "left over by a crash");
  ASSERT_TRUE(WriteFileAtomically(*fs_, Path("g"), "three").has_value());
  EXPECT_EQ(Content("g"), "three");
  EXPECT_THAT(fs_->List(dir_).value(), ElementsAre("f", "g"));
}

INSTANTIATE_TEST_SUITE_P(All, FileSystemTest, testing::Values(Kind::kPosix, Kind::kSim),
                         [](const auto& info) {
                           return info.param == Kind::kPosix ? "Posix" : "Sim";
                         });

TEST(ParentDirectoryTest, IsThePathWithoutItsLastName) {
  EXPECT_EQ(ParentDirectory("/a/b/c"), "/a/b");
  EXPECT_EQ(ParentDirectory("/a/b/"), "/a");
  EXPECT_EQ(ParentDirectory("/a//b"), "/a");
  EXPECT_EQ(ParentDirectory("a/b"), "a");
  EXPECT_EQ(ParentDirectory("/a"), "/");
  EXPECT_EQ(ParentDirectory("a"), ".");
  EXPECT_EQ(ParentDirectory("/"), "/");
  EXPECT_EQ(ParentDirectory(""), ".");
}

TEST(PosixFileSystemTest, MakesThingsForTheOwnerOnly) {
  std::string dir = testing::TempDir() + "/file_system_test.XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  FileSystem& fs = PosixFileSystem();
  ASSERT_TRUE(fs.MakeDirectories(dir + "/x").has_value());
  ASSERT_TRUE(fs.Open(dir + "/f", OpenMode::kCreate).has_value());
  struct stat status = {};
  ASSERT_EQ(::stat((dir + "/x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat((dir + "/f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  std::filesystem::remove_all(dir);
}

// A write that the kernel cuts short must go on, and tell where it failed.
TEST(PosixFileSystemTest, AWriteOverTheLimitNamesPathOffsetAndReason) {
  std::string dir = testing::TempDir() + "/file_system_test.XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  const auto file = PosixFileSystem().Open(dir + "/f", OpenMode::kCreate);
  ASSERT_TRUE(file.has_value());
  rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = old;
  limit.rlim_cur = 10'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string block(6000, 'x');
  const std::string_view parts[] = {block, block};
  const auto written = (*file)->WriteAt(0, parts);
  const auto allocated = (*file)->Allocate(20'000);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  EXPECT_EQ(written.error().message, "write " + dir + "/f at offset 10000: File too large");
  EXPECT_FALSE(allocated.has_value());
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace kvorum
