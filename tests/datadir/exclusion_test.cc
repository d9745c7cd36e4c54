// Programs that use one directory at the same time: a look or a rewrite amid a move finds the
// database of before or the one of afterwards, and makes no new one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <utility>

#include "datadir/database_file.h"
#include "datadir/release.h"
#include "datadir/verify.h"
#include "tests/datadir/etcd_directory_on_disk.h"

namespace {
// Each runs once: between the opening of a file and its lock, and before a file gets another name.
std::function<void()> before_lock;
std::function<void(const std::string& from)> before_rename;
}  // namespace

extern "C" int flock(int fd, int operation) {
  if (const auto run = std::exchange(before_lock, nullptr)) run();
  return static_cast<int>(::syscall(SYS_flock, fd, operation));
}

extern "C" int rename(const char* from, const char* to) {
  if (before_rename) before_rename(from);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace kvorum::datadir {
namespace {

using namespace std::chrono_literals;

class ExclusionTest : public EtcdDirectoryOnDisk {
 protected:
  void TearDown() override {
    before_rename = nullptr;
    before_lock = nullptr;
    EtcdDirectoryOnDisk::TearDown();
  }
  Result<Released> ReleaseIt() {
    return Release(PosixFileSystem(),
                   {.data_dir = dir_,
                    .open =
                        [](const std::string& path) {
                          return mvcc::OpenLmdbBackend(
                              {.path = path, .map_size_bytes = std::uint64_t{1} << 30});
                        },
                    .drop_old = true});
  }
  Result<DatabaseKind> OpenedKind() {
    KV_TRY(const auto file, OpenDatabaseFile(OnDisk(layout_.database), 5s));
    return file->kind();
  }
};

TEST_F(ExclusionTest, WhoOpensADatabaseThatIsReleasedMeanwhileFindsEtcds) {
  AdoptIt();
  before_lock = [&] { ASSERT_OK(ReleaseIt()); };
  const auto kind = OpenedKind();
  ASSERT_OK(kind);
  EXPECT_EQ(*kind, DatabaseKind::kEtcd);
}

TEST_F(ExclusionTest, WhoOpensADatabaseThatIsAdoptedMeanwhileFindsOurs) {
  before_lock = [&] { AdoptIt(); };
  const auto kind = OpenedKind();
  ASSERT_OK(kind);
  EXPECT_EQ(*kind, DatabaseKind::kKvorum);
}

TEST_F(ExclusionTest, NobodyOpensTheDatabaseWhileAMoveGivesItAnotherName) {
  AdoptIt();
  int tried = 0;
  before_rename = [&](const std::string& from) {
    if (from != OnDisk(layout_.database)) return;
    ++tried;
    const auto opened = OpenDatabaseFile(from, 1ms);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Code::kFailedPrecondition);
  };
  ASSERT_OK(ReleaseIt());
  EXPECT_EQ(tried, 1);
  AdoptIt();
  EXPECT_EQ(tried, 2);
}

TEST_F(ExclusionTest, BetweenTheTwoNamesThereIsNoDatabaseAndNoneIsMade) {
  AdoptIt();
  int tried = 0;
  before_rename = [&](const std::string& from) {
    if (std::filesystem::exists(OnDisk(layout_.database)) || !from.ends_with(".release")) return;
    ++tried;
    const auto opened = OpenDatabaseFile(OnDisk(layout_.database), 1ms);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Code::kNotFound);
    EXPECT_FALSE(std::filesystem::exists(OnDisk(layout_.database)));
  };
  ASSERT_OK(ReleaseIt());
  EXPECT_EQ(tried, 1);
}

TEST_F(ExclusionTest, AMoveIsNotVerifiedHalfway) {
  AdoptIt();
  const auto lock = LockMember(PosixFileSystem(), Layout(dir_, ""));
  ASSERT_OK(lock);
  const auto looked = Verify(PosixFileSystem(), dir_, "", 1ms);
  ASSERT_FALSE(looked.has_value());
  EXPECT_EQ(looked.error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace kvorum::datadir
