// Files that a program may believe: its own, which no other user can have written.
#include "base/own_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kvorum {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OwnFileTest : public testing::Test {
 protected:
  OwnFileTest() : folder_(mkdtemp(name_.data())), path_(folder_ / "file") {
    std::ofstream(path_) << "content";
    chmod(path_.c_str(), 0644);
  }
  ~OwnFileTest() override { fs::remove_all(folder_); }
  // Both ways of asking say the same, but for links.
  std::string Why() const {
    const auto by_path = CheckOwnFileAt(path_);
    const int fd = open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
      EXPECT_EQ(CheckOwnFile(fd, path_), by_path);
      close(fd);
    }
    return by_path ? "" : by_path.error().message;
  }

  // All that opens it: the words of the refusal, which are the same.
  std::string WhyNotOpened() const {
    FileSystem& own = OwnFileSystem();
    const auto read = own.Open(path_, FileSystem::OpenMode::kRead);
    const auto written = own.Open(path_, FileSystem::OpenMode::kReadWrite);
    const auto locked = own.Lock(path_);
    EXPECT_EQ(read.has_value(), written.has_value());
    EXPECT_EQ(read.has_value(), locked.has_value());
    if (read) return "";
    EXPECT_EQ(written.error(), read.error());
    EXPECT_EQ(locked.error(), read.error());
    return read.error().message;
  }

  std::string name_ = testing::TempDir() + "kvorum-own-XXXXXX";
  fs::path folder_;
  fs::path path_;
};

TEST_F(OwnFileTest, OnesOwnFileIsFineAndSoIsNone) {
  EXPECT_EQ(Why(), "");
  fs::remove(path_);
  EXPECT_EQ(Why(), "");
}

TEST_F(OwnFileTest, WhatOthersMayWriteIsRefused) {
  chmod(path_.c_str(), 0620);
  EXPECT_THAT(Why(), HasSubstr("others may write it"));
  chmod(path_.c_str(), 0602);
  EXPECT_THAT(Why(), HasSubstr("others may write it"));
}

TEST_F(OwnFileTest, LinksAndOtherKindsAreRefused) {
  fs::rename(path_, folder_ / "else");
  fs::create_symlink("else", path_);
  EXPECT_THAT(Why(), HasSubstr("it is a symbolic link"));
  fs::remove(path_);
  fs::create_hard_link(folder_ / "else", path_);
  EXPECT_THAT(Why(), HasSubstr("it has another name as well"));
  fs::remove(path_);
  mkfifo(path_.c_str(), 0600);
  EXPECT_THAT(Why(), HasSubstr("it is not a regular file"));
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_THAT(Why(), HasSubstr("it is not a regular file"));
}

TEST_F(OwnFileTest, WhatIsOpenedIsChecked) {
  EXPECT_EQ(WhyNotOpened(), "");
  chmod(path_.c_str(), 0602);
  EXPECT_THAT(WhyNotOpened(), HasSubstr("others may write it"));
  chmod(path_.c_str(), 0600);
  fs::create_hard_link(path_, folder_ / "else");
  EXPECT_THAT(WhyNotOpened(), HasSubstr("it has another name as well"));
  fs::remove(path_);
  fs::create_symlink("else", path_);
  EXPECT_THAT(WhyNotOpened(), HasSubstr("it is a symbolic link"));
  fs::remove(folder_ / "else");
  EXPECT_THAT(WhyNotOpened(), HasSubstr("it is a symbolic link"));
  EXPECT_FALSE(fs::exists(folder_ / "else")) << "made by a lock";
}

TEST_F(OwnFileTest, AnothersFileIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(path_.c_str(), 12345, 0), 0);
  EXPECT_THAT(Why(), HasSubstr("it belongs to the user 12345 and not to 0"));
  EXPECT_THAT(WhyNotOpened(), HasSubstr("it belongs to the user 12345 and not to 0"));
}

TEST_F(OwnFileTest, WhatIsTrustedIsRootsOrOnesOwnAndWrittenByNobodyElse) {
  FileSystem& trusted = TrustedFileSystem();
  const auto why = [](const auto& result) { return result ? "" : result.error().message; };
  const auto open = [&] { return why(trusted.Open(path_, FileSystem::OpenMode::kRead)); };
  const auto list = [&] { return why(trusted.List(folder_)); };
  EXPECT_EQ(open(), "");
  EXPECT_EQ(list(), "");
  chmod(path_.c_str(), 0602);
  EXPECT_THAT(open(), HasSubstr("others may write it"));
  fs::create_symlink("file", folder_ / "link");
  EXPECT_THAT(why(trusted.Open(folder_ / "link", FileSystem::OpenMode::kRead)),
              HasSubstr("others may write it"))
      << "the file behind the link counts";
  chmod(path_.c_str(), 0600);
  EXPECT_EQ(why(trusted.Open(folder_ / "link", FileSystem::OpenMode::kRead)), "");
  chmod(folder_.c_str(), 0720);
  EXPECT_THAT(list(), HasSubstr("others may write it"));
  EXPECT_EQ(why(trusted.Open("/etc/passwd", FileSystem::OpenMode::kRead)), "") << "it is root's";
  fs::remove(path_);
  mkfifo(path_.c_str(), 0600);
  EXPECT_THAT(open(), HasSubstr("it is neither a regular file nor a folder"));
}

TEST_F(OwnFileTest, WhatIsAnothersIsNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(path_.c_str(), 12345, 0), 0);
  ASSERT_EQ(chown(folder_.c_str(), 12345, 0), 0);
  const char* const text = "it belongs to the user 12345 and neither to root nor to 0";
  EXPECT_THAT(TrustedFileSystem().Open(path_, FileSystem::OpenMode::kRead).error().message,
              HasSubstr(text));
  EXPECT_THAT(TrustedFileSystem().List(folder_).error().message, HasSubstr(text));
}

}  // namespace
}  // namespace kvorum
