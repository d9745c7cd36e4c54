// A log file that is set aside when it is full.
#include "base/log/rotating_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace kvorum {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kMib = std::size_t{1} << 20;

std::string Read(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

class RotatingFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kvorum-rotate-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "server.log";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<LogOutput> Open(const LogRotation& rotation) {
    auto opened = RotatingFile::Open(path_, rotation);
    EXPECT_TRUE(opened.has_value());
    return *std::move(opened);
  }

  // All but the log itself, in order.
  std::vector<std::string> Old() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path() != path_) names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  void Make(const std::string& name, const std::string& content = "x\n") const {
    std::ofstream(folder_ / name) << content;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(RotatingFileTest, AFullFileIsSetAsideUnderTheTime) {
  const std::string line = std::string(kMib / 2, 'a') + "\n";
  {
    const auto log = Open({.max_size_mib = 1});
    log->Write(line);
    EXPECT_THAT(Old(), IsEmpty());
    log->Write(line);
    log->Write("next\n");
  }
  ASSERT_EQ(Old().size(), 1);
  EXPECT_THAT(Old()[0],
              testing::MatchesRegex("server-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}"
                                    "\\.[0-9]{3}\\.log"));
  EXPECT_EQ(Read(folder_ / Old()[0]), line);
  EXPECT_EQ(Read(path_), line + "next\n");
}

TEST_F(RotatingFileTest, OneWriteOfManyLinesFillsManyFilesWithWholeLines) {
  std::string lines;
  for (int i = 0; i < 5; ++i) lines += std::string(700'000, static_cast<char>('a' + i)) + "\n";
  Open({.max_size_mib = 1})->Write(lines);
  ASSERT_EQ(Old().size(), 4);
  std::string all;
  for (const std::string& name : Old()) {
    EXPECT_EQ(Read(folder_ / name).size(), 700'001);
    all += Read(folder_ / name);
  }
  EXPECT_EQ(all + Read(path_), lines);
}

TEST_F(RotatingFileTest, ALineThatIsLargerThanAFileHasOneToItself) {
  const auto log = Open({.max_size_mib = 1});
  log->Write("small\n");
  log->Write(std::string(2 * kMib, 'b') + "\nafter\n");
  EXPECT_EQ(Old().size(), 2);
  EXPECT_EQ(Read(path_), "after\n");
}

TEST_F(RotatingFileTest, TheFileGoesOnAfterAStart) {
  Open({.max_size_mib = 1})->Write("one\n");
  Open({.max_size_mib = 1})->Write("two\n");
  EXPECT_EQ(Read(path_), "one\ntwo\n");
  EXPECT_THAT(Old(), IsEmpty());
}

TEST_F(RotatingFileTest, TheNewFileHasTheModeOfTheOldOne) {
  Make("server.log", std::string(kMib, 'a'));
  ::chmod(path_.c_str(), 0640);
  Open({.max_size_mib = 1})->Write("new\n");
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640);
  EXPECT_EQ(Read(path_), "new\n");
}

TEST_F(RotatingFileTest, AFileThatIsTakenAwayIsNoFault) {
  const auto log = Open({.max_size_mib = 1});
  log->Write(std::string(kMib - 1, 'a') + "\n");
  std::filesystem::remove(path_);
  log->Write("new\n");
  EXPECT_EQ(Read(path_), "new\n");
}

// The name is free for a moment after each rotation; a file that cannot be made there is tried
// again at the next line. The content and mode of what a link leads to stay.
class PlantedFileTest : public RotatingFileTest {
 protected:
  void SetUp() override {
    RotatingFileTest::SetUp();
    outside_ = folder_ / "outside";
    Make("outside", "precious");
    ::chmod(outside_.c_str(), 0600);
    Make("server.log");
    ::chmod(path_.c_str(), 0640);
  }
  // A log that has lost its file, and with it its folder.
  std::unique_ptr<LogOutput> WithoutAFile() {
    const auto elsewhere = folder_.string() + "-elsewhere";
    auto log = Open({.max_size_mib = 1});
    log->Write(std::string(kMib - 3, 'a') + "\n");
    std::filesystem::remove(path_);
    std::filesystem::rename(folder_, elsewhere);
    log->Write("lost\n");
    std::filesystem::rename(elsewhere, folder_);
    EXPECT_FALSE(std::filesystem::exists(path_));
    return log;
  }
  void ExpectUntouched() const {
    EXPECT_EQ(Read(outside_), "precious");
    struct stat status{};
    ASSERT_EQ(::stat(outside_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
  }

  std::filesystem::path outside_;
};

TEST_F(PlantedFileTest, ALinkAtTheNameIsNotWrittenThrough) {
  const auto log = WithoutAFile();
  std::filesystem::create_symlink(outside_, path_);
  log->Write("secret\n");
  ExpectUntouched();
  std::filesystem::remove(path_);
  std::filesystem::create_hard_link(outside_, path_);
  log->Write("secret\n");
  ExpectUntouched();
  std::filesystem::remove(path_);
  log->Write("next\n");
  EXPECT_EQ(Read(path_), "next\n");
}

TEST_F(PlantedFileTest, AFileThatOthersMayWriteIsNotWrittenAndOnesOwnIs) {
  const auto log = WithoutAFile();
  Make("server.log", "theirs\n");
  ::chmod(path_.c_str(), 0666);
  log->Write("secret\n");
  EXPECT_EQ(Read(path_), "theirs\n");
  ::chmod(path_.c_str(), 0600);
  log->Write("next\n");
  EXPECT_EQ(Read(path_), "theirs\nnext\n");
}

TEST_F(PlantedFileTest, ALinkThatIsPlantedDuringARotationIsNotWrittenThrough) {
  const auto log = Open({.max_size_mib = 1});
  std::atomic<bool> plants = false;
  std::atomic<bool> ends = false;
  std::thread planter([&] {
    while (!ends) {
      if (plants) static_cast<void>(!::symlink(outside_.c_str(), path_.c_str()));
    }
  });
  int planted = 0;
  for (int round = 0; round < 3'000 && planted < 10; ++round) {
    log->Write(std::string(kMib - 3, 'a') + "\n");
    plants = true;
    log->Write("aaa\n");
    plants = false;
    if (std::filesystem::is_symlink(path_)) {
      ++planted;
      std::filesystem::remove(path_);
    }
    for (const std::string& name : Old()) {
      if (name != "outside") std::filesystem::remove(folder_ / name);
    }
  }
  ends = true;
  planter.join();
  EXPECT_GT(planted, 0) << "no link came in between";
  ExpectUntouched();
}

// --- old files -----------------------------------------------------------------------------------

constexpr std::int64_t kTenthOfMay2026Ms = 1'778'371'200'000;

TEST_F(RotatingFileTest, TheOldestGoWhenThereAreTooMany) {
  for (const char* day : {"01", "02", "03", "04"})
    Make("server-2026-05-" + std::string(day) + "T00-00-00.000.log");
  Make("server-2026-05-03T00-00-00.000.log.gz");
  Make("server-other.log");
  Make("another-2026-05-01T00-00-00.000.log");
  RotatingFile::TidyUp(path_, {.max_backups = 2}, kTenthOfMay2026Ms);
  EXPECT_THAT(Old(), ElementsAre("another-2026-05-01T00-00-00.000.log",
                                 "server-2026-05-03T00-00-00.000.log",
                                 "server-2026-05-03T00-00-00.000.log.gz",
                                 "server-2026-05-04T00-00-00.000.log", "server-other.log"))
      << "a file and its packed form count once";
}

TEST_F(RotatingFileTest, ThoseThatAreTooOldGo) {
  Make("server-2026-05-06T00-00-00.000.log");
  Make("server-2026-05-08T00-00-00.000.log.gz");
  RotatingFile::TidyUp(path_, {.max_age_days = 3}, kTenthOfMay2026Ms);
  EXPECT_THAT(Old(), ElementsAre("server-2026-05-08T00-00-00.000.log.gz"));
}

TEST_F(RotatingFileTest, OthersArePacked) {
  const std::string content(300'000, 'z');
  Make("server-2026-05-08T00-00-00.000.log", content);
  RotatingFile::TidyUp(path_, {.compress = true}, kTenthOfMay2026Ms);
  ASSERT_THAT(Old(), ElementsAre("server-2026-05-08T00-00-00.000.log.gz"));
  gzFile packed = gzopen((folder_ / Old()[0]).c_str(), "rb");
  std::string read(content.size() + 1, '\0');
  EXPECT_EQ(gzread(packed, read.data(), static_cast<unsigned>(read.size())),
            static_cast<int>(content.size()));
  gzclose(packed);
  read.pop_back();
  EXPECT_EQ(read, content);
}

TEST_F(RotatingFileTest, LinksAreNeitherReadNorWrittenThrough) {
  const auto outside = folder_ / "outside";
  std::filesystem::create_directory(outside);
  std::ofstream(outside / "precious") << "precious";
  std::ofstream(outside / "secret") << "secret";
  // One stands where the packed file is to be, and one in the place of an old file.
  Make("server-2026-05-08T00-00-00.000.log", "old");
  std::filesystem::create_symlink(outside / "precious",
                                  folder_ / "server-2026-05-08T00-00-00.000.log.gz");
  std::filesystem::create_symlink(outside / "secret",
                                  folder_ / "server-2026-05-07T00-00-00.000.log");
  RotatingFile::TidyUp(path_, {.compress = true}, kTenthOfMay2026Ms);
  EXPECT_EQ(Read(outside / "precious"), "precious");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "server-2026-05-07T00-00-00.000.log"));
  const auto packed = folder_ / "server-2026-05-08T00-00-00.000.log.gz";
  EXPECT_FALSE(std::filesystem::is_symlink(packed));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "server-2026-05-07T00-00-00.000.log.gz"));
  gzFile in = gzopen(packed.c_str(), "rb");
  std::string read(4, '\0');
  EXPECT_EQ(gzread(in, read.data(), 4), 3);
  gzclose(in);
  EXPECT_EQ(read.substr(0, 3), "old");
}

TEST_F(RotatingFileTest, APackedFileHasTheModeOfTheOldOneWhateverTheMaskIs) {
  Make("server-2026-05-08T00-00-00.000.log");
  chmod((folder_ / "server-2026-05-08T00-00-00.000.log").c_str(), 0640);
  const mode_t before = umask(0077);
  RotatingFile::TidyUp(path_, {.compress = true}, kTenthOfMay2026Ms);
  umask(before);
  struct stat status{};
  ASSERT_EQ(stat((folder_ / "server-2026-05-08T00-00-00.000.log.gz").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_F(RotatingFileTest, ARotationTidiesUp) {
  Make("server-2026-05-01T00-00-00.000.log");
  {
    const auto log = Open({.max_size_mib = 1, .max_backups = 1});
    log->Write(std::string(kMib - 1, 'a') + "\n");
    log->Write("next\n");
  }
  ASSERT_EQ(Old().size(), 1);
  EXPECT_NE(Old()[0], "server-2026-05-01T00-00-00.000.log");
}

}  // namespace
}  // namespace kvorum
