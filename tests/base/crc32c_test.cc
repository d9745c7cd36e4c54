#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/rng.h"

namespace kvorum {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32cTest, GivesTheVectorsOfTheRfc) {
  EXPECT_EQ(Crc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(0, std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending += c;
  EXPECT_EQ(Crc32c(0, ascending), 0x46dd794eu);
  std::string descending(ascending);
  std::ranges::reverse(descending);
  EXPECT_EQ(Crc32c(0, descending), 0x113fdb5cu);
  const std::string scsi_read(
      "\x01\xc0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x14\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x14\x00\x00\x00\x18"
      "\x28\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00",
      48);
  EXPECT_EQ(Crc32c(0, scsi_read), 0xd9963a56u);
  EXPECT_EQ(Crc32c(0, "123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(0, ""), 0u);
}

TEST(Crc32cTest, TheTableAndTheInstructionAgreeAtEveryLengthAndAlignment) {
  Rng rng(7);
  std::string bytes(2'000, '\0');  // twice three lanes, and more
  for (char& c : bytes) c = static_cast<char>(rng());
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t size = 0; size + begin <= bytes.size(); ++size) {
      const std::string_view part = std::string_view(bytes).substr(begin, size);
      ASSERT_EQ(Crc32c(0x1234, part), Crc32cPortable(0x1234, part)) << begin << " " << size;
    }
  }
}

TEST(Crc32cTest, GoesOnWhereItStopped) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(Crc32c(0, text.substr(0, cut)), text.substr(cut)), Crc32c(0, text));
  }
}

}  // namespace
}  // namespace kvorum
