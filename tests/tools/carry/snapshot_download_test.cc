// The names of a series of snapshots, and compression.
#include "tools/carry/snapshot_download.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text/gzip.h"
#include "tools/text/gzip_file.h"

namespace kvorum::ctl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SeriesTest, NamesAreTimesAndSortByThem) {
  EXPECT_EQ(SeriesName(0, false), "snapshot-19700101T000000Z.db");
  EXPECT_EQ(SeriesName(1'795'512'600, true), "snapshot-20261124T093000Z.db.gz");
  EXPECT_LT(SeriesName(1'795'512'600, true), SeriesName(1'795'512'601, false));
}

TEST(SeriesTest, TheOldestGoAndNoOtherFile) {
  const std::vector<std::string> names = {"snapshot-20261124T093000Z.db.gz",
                                          "snapshot-20261124T083000Z.db",
                                          "snapshot-20261124T103000Z.db",
                                          "snapshot-20261124T073000Z.db.part",
                                          "snapshot-old.db",
                                          "snapshot-20261124T073000Z.db~",
                                          "a.db",
                                          "snapshot.part"};
  const std::string newest = "snapshot-20261124T103000Z.db";
  EXPECT_THAT(OutdatedNames(names, 2, newest), ElementsAre("snapshot-20261124T083000Z.db"));
  EXPECT_THAT(OutdatedNames(names, 1, newest),
              ElementsAre("snapshot-20261124T083000Z.db", "snapshot-20261124T093000Z.db.gz"));
  EXPECT_THAT(OutdatedNames(names, 3, newest), IsEmpty());
  EXPECT_THAT(OutdatedNames(names, 300, newest), IsEmpty());
}

TEST(SeriesTest, TheOneJustSavedStaysThoughOthersAreOfTheFuture) {
  const std::vector<std::string> names = {"snapshot-20261124T093000Z.db",
                                          "snapshot-20371124T093000Z.db",
                                          "snapshot-20381124T093000Z.db"};
  EXPECT_THAT(OutdatedNames(names, 2, names[0]), ElementsAre("snapshot-20371124T093000Z.db"));
  EXPECT_THAT(OutdatedNames(names, 1, names[0]),
              ElementsAre("snapshot-20371124T093000Z.db", "snapshot-20381124T093000Z.db"));
}

class GzipTest : public testing::Test {
 protected:
  GzipTest() { dir_ = mkdtemp(name_.data()); }
  ~GzipTest() override {
    unlink((dir_ + "/packed").c_str());
    unlink((dir_ + "/plain").c_str());
    rmdir(dir_.c_str());
  }
  std::string Pack(std::string_view content) {
    GzipWriter gzip;
    std::string packed;
    for (std::size_t at = 0; at < content.size(); at += 70'000)
      packed += gzip.Add(content.substr(at, 70'000));
    return packed + gzip.Finish();
  }
  Outcome<std::string> Unpack(const std::string& packed) {
    std::ofstream(dir_ + "/packed", std::ios::binary) << packed;
    const int fd = open((dir_ + "/plain").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const auto done = Gunzip(dir_ + "/packed", fd);
    close(fd);
    if (!done) return std::unexpected(done.error());
    std::ostringstream plain;
    plain << std::ifstream(dir_ + "/plain", std::ios::binary).rdbuf();
    return plain.str();
  }

  std::string name_ = testing::TempDir() + "kvorum-gzip-XXXXXX";
  std::string dir_;
};

TEST_F(GzipTest, WhatIsPackedComesBack) {
  std::string content;
  for (int i = 0; i < 200'000; ++i) content += std::to_string(i * 7919);
  const std::string packed = Pack(content);
  EXPECT_LT(packed.size(), content.size());
  EXPECT_EQ(Unpack(packed).value(), content);
  EXPECT_TRUE(IsGzipFile(dir_ + "/packed"));
  EXPECT_FALSE(IsGzipFile(dir_ + "/plain"));
  EXPECT_FALSE(IsGzipFile(dir_ + "/none"));
}

TEST_F(GzipTest, ACutOrSpoiledFileIsRefused) {
  const std::string packed = Pack(std::string(100'000, 'x') + "end");
  for (std::size_t length = 0; length < packed.size(); length += 7)
    EXPECT_FALSE(Unpack(packed.substr(0, length)).has_value()) << length;
  std::string spoiled = packed;
  spoiled[spoiled.size() - 6] = static_cast<char>(~spoiled[spoiled.size() - 6]);  // of its CRC
  EXPECT_FALSE(Unpack(spoiled).has_value());
}

}  // namespace
}  // namespace kvorum::ctl
