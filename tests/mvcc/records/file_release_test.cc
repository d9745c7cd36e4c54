// Files that are freed piece by piece, and those that somebody may still want.
#include "mvcc/records/file_release.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/eventually.h"

namespace kvorum::mvcc {
namespace {

constexpr std::int64_t kSizeBytes = 4 * FileRelease::kPieceBytes + 1;

class FileReleaseTest : public ::testing::Test {
 protected:
  FileReleaseTest() {
    std::string name = testing::TempDir() + "kvorum-file-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "file";
  }
  ~FileReleaseTest() override {
    ::close(witness_);
    std::filesystem::remove_all(folder_);
  }

  // A file without blocks, of that size.
  int Make(std::int64_t size_bytes = kSizeBytes) {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(::ftruncate(fd, size_bytes), 0);
    return fd;
  }
  // The same opening of the file, so that this is not another user of it.
  int Witness(int fd) { return witness_ = ::dup(fd); }
  std::int64_t WitnessedBytes() const {
    struct stat file{};
    EXPECT_EQ(::fstat(witness_, &file), 0);
    return file.st_size;
  }

  std::filesystem::path folder_;
  std::string path_;
  int witness_ = -1;
};

TEST_F(FileReleaseTest, AFileWithoutANameIsCutOffPieceByPiece) {
  FileRelease release;
  for (int i = 0; i < 2; ++i) {  // also once the first thread has ended
    const int fd = Make();
    ::unlink(path_.c_str());
    Witness(fd);
    release.Add(fd);
    EXPECT_TRUE(Eventually([&] { return WitnessedBytes() == 0; }));
    EXPECT_TRUE(Eventually([&] { return ::fcntl(fd, F_GETFD) == -1; })) << "it is closed";
    ::close(witness_);
  }
  witness_ = -1;
}

TEST_F(FileReleaseTest, AFileThatHasANameStaysWhole) {
  const int fd = Make();
  ASSERT_EQ(::link(path_.c_str(), (path_ + ".kept").c_str()), 0);
  ::unlink(path_.c_str());
  Witness(fd);
  {
    FileRelease release;
    release.Add(fd);
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << "it is closed at once";
  }
  EXPECT_EQ(WitnessedBytes(), kSizeBytes);
}

TEST_F(FileReleaseTest, AFileThatSomebodyReadsStaysWhole) {
  const int fd = Make();
  const int reader = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ::unlink(path_.c_str());
  Witness(fd);
  {
    FileRelease release;
    release.Add(fd);
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  }
  EXPECT_EQ(WitnessedBytes(), kSizeBytes);
  ::close(reader);
}

TEST_F(FileReleaseTest, ASmallFileIsClosedAtOnce) {
  const int fd = Make(FileRelease::kPieceBytes);
  ::unlink(path_.c_str());
  FileRelease release;
  release.Add(fd);
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST_F(FileReleaseTest, AnEndLeavesTheRestToTheKernel) {
  const int fd = Make(1'000 * FileRelease::kPieceBytes);  // 20 s
  ::unlink(path_.c_str());
  Witness(fd);
  {
    FileRelease release;
    release.Add(fd);
    EXPECT_TRUE(Eventually([&] { return WitnessedBytes() < 1'000 * FileRelease::kPieceBytes; }));
  }
  EXPECT_GT(WitnessedBytes(), 0);
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

}  // namespace
}  // namespace kvorum::mvcc
