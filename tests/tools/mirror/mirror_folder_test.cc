// A mirror's folder: what is in it, what is never touched, and what a crash leaves.
#include "tools/mirror/mirror_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/damage.h"

namespace kvorum::ctl {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MirrorFolderTest : public testing::Test {
 protected:
  MirrorFolderTest() : root_(mkdtemp(name_.data())), folder_(root_ / "mirror") {
    fs::create_directory(root_ / "outside");
    Write(root_ / "outside/file", "precious");
    Open();
  }
  ~MirrorFolderTest() override {
    mirror_ = nullptr;
    EXPECT_EQ(Read(root_ / "outside/file"), "precious");
    fs::remove_all(root_);
  }

  void Open() {
    mirror_ = nullptr;
    auto mirror = MirrorFolder::Open(folder_, "/p/");
    ASSERT_TRUE(mirror.has_value()) << mirror.error().message;
    mirror_ = *std::move(mirror);
  }
  MirrorFolder::Outcome Put(const std::string& path, const std::string& content) {
    return mirror_->Apply({{.path = path, .content = content}});
  }
  MirrorFolder::Outcome Remove(const std::string& path) {
    return mirror_->Apply({{.path = path, .content = std::nullopt}});
  }
  static void Write(const fs::path& path, const std::string& content) {
    std::ofstream(path) << content;
  }
  static std::string Read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  // All but the mirror's own folder; a folder ends in a slash.
  std::vector<std::string> Content() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().lexically_relative(folder_).string();
      if (!name.starts_with(".kvorum-mirror"))
        names.push_back(name + (entry.is_directory() && !entry.is_symlink() ? "/" : ""));
    }
    std::ranges::sort(names);
    return names;
  }

  std::string name_ = "/tmp/kvorum-mirror-XXXXXX";
  fs::path root_;
  fs::path folder_;
  std::unique_ptr<MirrorFolder> mirror_;
};

TEST_F(MirrorFolderTest, FilesComeChangeAndGoWithTheirFolders) {
  EXPECT_THAT(Put("a/b/c", "one").written, ElementsAre("a/b/c"));
  EXPECT_THAT(Put("a/d", std::string("\0\xff", 2)).written, ElementsAre("a/d"));
  EXPECT_EQ(Read(folder_ / "a/d"), std::string("\0\xff", 2));
  Put("a/b/c", "two");
  EXPECT_EQ(Read(folder_ / "a/b/c"), "two");
  EXPECT_THAT(Remove("a/b/c").removed, ElementsAre("a/b/c"));
  EXPECT_THAT(Content(), ElementsAre("a/", "a/d"));
  EXPECT_THAT(Remove("a/d").removed, ElementsAre("a/d"));
  EXPECT_THAT(Content(), IsEmpty());
  EXPECT_THAT(mirror_->files(), IsEmpty());
}

TEST_F(MirrorFolderTest, AFileOfEqualContentIsNotTouched) {
  Put("a", "one");
  struct stat before{};
  stat((folder_ / "a").c_str(), &before);
  Open();
  EXPECT_THAT(Put("a", "one").written, IsEmpty());
  struct stat after{};
  stat((folder_ / "a").c_str(), &after);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_THAT(Put("a", "two").written, ElementsAre("a"));
}

TEST_F(MirrorFolderTest, AnothersFileIsReplacedThoughItsContentIsEqual) {
  fs::create_hard_link(root_ / "outside/file", folder_ / "a");
  EXPECT_THAT(Put("a", "precious").written, ElementsAre("a"));
  EXPECT_EQ(fs::hard_link_count(root_ / "outside/file"), 1U);
  EXPECT_EQ(Read(folder_ / "a"), "precious");
}

TEST_F(MirrorFolderTest, AReaderKeepsTheFileItHasOpened) {
  Put("a", "one");
  std::ifstream reader(folder_ / "a");
  Put("a", "twotwo");
  std::string content;
  reader >> content;
  EXPECT_EQ(content, "one");
  EXPECT_EQ(Read(folder_ / "a"), "twotwo");
}

TEST_F(MirrorFolderTest, ManyFilesAreOneBatch) {
  std::vector<FileChange> changes;
  for (int i = 0; i < 100; ++i)
    changes.push_back({.path = "f" + std::to_string(i), .content = std::to_string(i)});
  EXPECT_EQ(mirror_->Apply(changes).written.size(), 100U);
  EXPECT_EQ(Read(folder_ / "f99"), "99");
  // The list and the mark.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / ".kvorum-mirror"), {}), 2);
}

TEST_F(MirrorFolderTest, AfterARestartItKnowsWhatItMade) {
  Put("a/b", "one");
  Put("gone", "one");
  Remove("gone");
  Write(folder_ / "foreign", "mine");
  Open();
  EXPECT_THAT(mirror_->files(), ElementsAre("a/b"));
  Remove("a/b");
  Remove("foreign");
  EXPECT_THAT(Content(), ElementsAre("foreign"));
}

TEST_F(MirrorFolderTest, AFileIsListedBeforeItIsThere) {
  // A crash between the two: the line alone.
  mirror_ = nullptr;
  std::ofstream(folder_ / ".kvorum-mirror/files", std::ios::app) << "+new%0A\n+torn";
  Write(folder_ / ".kvorum-mirror/17", "half of a val");
  Open();
  EXPECT_THAT(mirror_->files(), ElementsAre("new\n"));
  EXPECT_FALSE(fs::exists(folder_ / ".kvorum-mirror/17"));
  EXPECT_THAT(Remove("new\n").removed, IsEmpty());
  EXPECT_THAT(mirror_->files(), IsEmpty());
}

TEST_F(MirrorFolderTest, ADamagedListIsAnError) {
  for (const char* line : {"\n", "x\n", "+%zz\n"}) {
    mirror_ = nullptr;
    const std::string before = Read(folder_ / ".kvorum-mirror/files");
    std::ofstream(folder_ / ".kvorum-mirror/files", std::ios::app) << line;
    EXPECT_THAT(MirrorFolder::Open(folder_, "/p/").error().message, HasSubstr("damaged line"));
    Write(folder_ / ".kvorum-mirror/files", before);
  }
}

// A list that is cut or changed is damaged, or names paths within the folder: the fixture looks at
// the file outside.
TEST_F(MirrorFolderTest, ADamagedListNamesNothingOutside) {
  Put("a/b", "one");
  Put("c", "two");
  Remove("c");
  mirror_ = nullptr;
  const fs::path list = folder_ / ".kvorum-mirror/files";
  const std::string whole = Read(list);
  const auto expect_inside = [&](std::string_view damaged) {
    Write(list, std::string(damaged));
    const auto mirror = MirrorFolder::Open(folder_, "/p/");
    if (!mirror.has_value()) return;
    for (const std::string& path : (*mirror)->files()) {
      EXPECT_FALSE(path.empty() || path.starts_with('/')) << path;
      EXPECT_FALSE(fs::path(path).lexically_normal().string().starts_with("..")) << path;
    }
  };
  ForEachCut(whole, expect_inside);
  ForEachFlip(whole, [&](std::string_view flipped, std::size_t) { expect_inside(flipped); });
}

TEST_F(MirrorFolderTest, AListedPathThatNoKeyHasIsDamage) {
  const std::string before = Read(folder_ / ".kvorum-mirror/files");
  for (const char* path : {"../outside/file", "a/../../outside/file", "/etc/passwd", "a//b", "./a",
                           ".", "", ".kvorum-mirror/files", "%2E%2E/outside/file", "a/", "a%00b"}) {
    for (const char* sign : {"+", "-"}) {
      mirror_ = nullptr;
      Write(folder_ / ".kvorum-mirror/files", before + sign + path + "\n");
      auto mirror = MirrorFolder::Open(folder_, "/p/");
      ASSERT_FALSE(mirror.has_value()) << sign << path;
      EXPECT_THAT(mirror.error().message, HasSubstr("damaged line"));
    }
  }
}

TEST_F(MirrorFolderTest, AFolderOrListThatOthersMayWriteIsRefused) {
  Put("a", "one");
  mirror_ = nullptr;
  const fs::path own = folder_ / ".kvorum-mirror";
  const auto refusal = [&] {
    auto mirror = MirrorFolder::Open(folder_, "/p/");
    return mirror ? std::string() : mirror.error().message;
  };
  for (const auto others : {fs::perms::group_write, fs::perms::others_write, fs::perms::others_exec,
                            fs::perms::group_read}) {
    fs::permissions(own, fs::perms::owner_all | others);
    EXPECT_THAT(refusal(), HasSubstr(".kvorum-mirror: others may enter it"));
  }
  fs::permissions(own, fs::perms::owner_all);
  fs::permissions(own / "files", fs::perms::owner_read | fs::perms::others_write);
  EXPECT_THAT(refusal(), HasSubstr(".kvorum-mirror/files: others may write it"));
  fs::permissions(own / "files", fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(refusal(), "");
}

TEST_F(MirrorFolderTest, AFolderOrListOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  mirror_ = nullptr;
  const fs::path own = folder_ / ".kvorum-mirror";
  for (const fs::path& path : {own, own / "files"}) {
    ASSERT_EQ(chown(path.c_str(), 12345, 0), 0);
    auto mirror = MirrorFolder::Open(folder_, "/p/");
    ASSERT_FALSE(mirror.has_value()) << path;
    EXPECT_THAT(mirror.error().message, HasSubstr("belongs to the user 12345"));
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
}

TEST_F(MirrorFolderTest, ItRemembersThatFilesChangedSinceTheLastSuccess) {
  EXPECT_FALSE(mirror_->mark().is_set());
  Put("a", "one");
  Open();
  EXPECT_TRUE(mirror_->mark().is_set()) << "nothing has succeeded yet";
  const std::uint64_t begun = mirror_->mark().changes();
  Put("a", "two");
  mirror_->mark().Clear(begun);
  Open();
  EXPECT_TRUE(mirror_->mark().is_set()) << "what succeeded had begun before the change";
  mirror_->mark().Clear(mirror_->mark().changes());
  Open();
  EXPECT_FALSE(mirror_->mark().is_set());
  Put("a", "two");
  Open();
  EXPECT_FALSE(mirror_->mark().is_set()) << "equal content is no change";
  Remove("a");
  Open();
  EXPECT_TRUE(mirror_->mark().is_set());
}

TEST_F(MirrorFolderTest, AFolderHasOneMirrorAndOnePrefix) {
  EXPECT_THAT(MirrorFolder::Open(folder_, "/p/").error().message,
              HasSubstr("another mirror has this folder"));
  mirror_ = nullptr;
  EXPECT_THAT(MirrorFolder::Open(folder_, "/q/").error().message,
              HasSubstr("this folder mirrors another prefix"));
}

TEST_F(MirrorFolderTest, NoSymbolicLinkIsFollowed) {
  fs::create_directory_symlink(root_ / "outside", folder_ / "link");
  fs::create_symlink(root_ / "outside/file", folder_ / "linked");
  const auto through = Put("link/file", "bad");
  ASSERT_EQ(through.failed.size(), 1U);
  EXPECT_EQ(through.failed[0].why, "link is in the way");
  EXPECT_THAT(Put("link/new/deep", "bad").failed.size(), 1);
  // A link at a file's own place is replaced, as any other file there.
  EXPECT_THAT(Put("linked", "good").written, ElementsAre("linked"));
  EXPECT_FALSE(fs::is_symlink(folder_ / "linked"));
  EXPECT_THAT(fs::directory_iterator(root_ / "outside")->path().filename(), "file");
}

TEST_F(MirrorFolderTest, ALinkThatReplacedAFileIsNotFollowedEither) {
  Put("a/file", "one");
  fs::remove_all(folder_ / "a");
  fs::create_directory_symlink(root_ / "outside", folder_ / "a");
  EXPECT_THAT(Remove("a/file").removed, IsEmpty());
  Put("b", "one");
  fs::remove(folder_ / "b");
  fs::create_symlink(root_ / "outside/file", folder_ / "b");
  EXPECT_THAT(Remove("b").removed, IsEmpty());
  EXPECT_TRUE(fs::is_symlink(folder_ / "b"));
}

TEST_F(MirrorFolderTest, TheOwnFolderMayNotBeALink) {
  mirror_ = nullptr;
  fs::remove_all(folder_ / ".kvorum-mirror");
  fs::create_directory_symlink(root_ / "outside", folder_ / ".kvorum-mirror");
  EXPECT_FALSE(MirrorFolder::Open(folder_, "/p/").has_value());
}

TEST_F(MirrorFolderTest, AFileGivesWayToAFolderIfItIsTheMirrors) {
  Put("a", "one");
  EXPECT_THAT(Put("a/b", "two").written, ElementsAre("a/b"));
  Write(folder_ / "foreign", "mine");
  EXPECT_EQ(Put("foreign/b", "two").failed.at(0).why, "foreign is in the way");
  EXPECT_EQ(Read(folder_ / "foreign"), "mine");
}

TEST_F(MirrorFolderTest, AFolderGivesWayToAFileIfItIsEmpty) {
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(Put("empty", "one").written, ElementsAre("empty"));
  fs::create_directories(folder_ / "full");
  Write(folder_ / "full/foreign", "mine");
  EXPECT_EQ(Put("full", "one").failed.at(0).why, "there is a folder in its place");
  EXPECT_EQ(Read(folder_ / "full/foreign"), "mine");
}

TEST_F(MirrorFolderTest, RemovalsComeBeforeTheFilesInTheirPlace) {
  Put("a/b", "one");
  const auto outcome =
      mirror_->Apply({{.path = "a", .content = "file"}, {.path = "a/b", .content = std::nullopt}});
  EXPECT_THAT(outcome.failed, IsEmpty());
  EXPECT_EQ(Read(folder_ / "a"), "file");
}

TEST_F(MirrorFolderTest, AFullFileSystemFailsTheFilesAndLeavesTheOld) {
  Put("a", "one");
  fs::remove_all(folder_ / ".kvorum-mirror");  // nothing can be staged any more
  const auto outcome = Put("a", "two");
  ASSERT_EQ(outcome.failed.size(), 1U);
  EXPECT_EQ(outcome.failed[0].change.content, "two");
  EXPECT_EQ(Read(folder_ / "a"), "one");
}

TEST_F(MirrorFolderTest, NothingElseInItsPlaceHoldsItUp) {
  mkfifo((folder_ / "pipe").c_str(), 0600);
  EXPECT_THAT(Put("pipe", "one").written, ElementsAre("pipe"));
  EXPECT_EQ(Read(folder_ / "pipe"), "one");
}

}  // namespace
}  // namespace kvorum::ctl
