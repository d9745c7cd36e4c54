// The place where a member's data left an archive, noted beside it.
#include "datadir/archive_origin.h"

#include <gtest/gtest.h>

#include <string>

#include "datadir/foreign_files.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::datadir {
namespace {

class ArchiveOriginTest : public testing::Test {
 protected:
  ArchiveOriginTest() { EXPECT_TRUE(fs_.MakeDirectories("/data/member").has_value()); }
  void Write(const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(fs_, ArchiveOriginPath("/data"), text).has_value());
  }

  SimFileSystem fs_;
};

TEST_F(ArchiveOriginTest, ItIsReadAsItWasWritten) {
  const auto none = ReadArchiveOrigin(fs_, "/data");
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->has_value());
  const ArchiveOrigin origin = {
      .reason = std::string(kRestored), .history = 0xab, .index = 1200, .revision = 900};
  ASSERT_TRUE(WriteArchiveOrigin(fs_, "/data", origin).has_value());
  EXPECT_EQ(ReadWholeFile(fs_, "/data/member/archive-origin.json", 1000).value(),
            "{\"reason\":\"restore\",\"history\":\"00000000000000ab\",\"index\":1200,"
            "\"revision\":900}\n");
  EXPECT_EQ(ReadArchiveOrigin(fs_, "/data").value(), origin);
  EXPECT_TRUE(FindForeignFiles(fs_, Layout("/data", "")).empty());
}

TEST_F(ArchiveOriginTest, TheNextDepartureReplacesIt) {
  ASSERT_TRUE(WriteArchiveOrigin(fs_, "/data", {.reason = "restore", .history = 1}).has_value());
  const ArchiveOrigin forced = {
      .reason = std::string(kForcedNewCluster), .history = 0, .index = 7, .revision = 5};
  ASSERT_TRUE(WriteArchiveOrigin(fs_, "/data", forced).has_value());
  EXPECT_EQ(ReadArchiveOrigin(fs_, "/data").value(), forced);
}

TEST_F(ArchiveOriginTest, AnotherContentIsDamage) {
  for (const char* text :
       {"", "[]", "{}", R"({"reason":"restore","history":"ab","index":1,"revision":1})",
        R"({"reason":"restore","history":"00000000000000xy","index":1,"revision":1})",
        R"({"reason":"restore","history":"00000000000000ab","index":-1,"revision":1})",
        R"({"reason":"restore","history":"00000000000000ab","index":1,"revision":"1"})",
        R"({"reason":7,"history":"00000000000000ab","index":1,"revision":1})",
        R"({"reason":"restore","history":7,"index":1,"revision":1})",
        R"({"reason":"restore","history":"00000000000000ab","index":1,)"
        R"("revision":18446744073709551615})"}) {
    Write(text);
    const auto read = ReadArchiveOrigin(fs_, "/data");
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code, Code::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace kvorum::datadir
