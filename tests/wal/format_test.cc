// The log's bytes, pinned: those that etcd writes too, and our seals.
#include "wal/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "base/crc32c.h"
#include "tests/damage.h"
#include "tests/hex.h"
#include "tests/wal/log_fixture.h"
#include "wal/batch.h"

namespace kvorum::wal {
namespace {

class FormatTest : public LogFixture {};

TEST(FrameSizeTest, PadsToEightBytesAndTellsSoInTheTopByte) {
  EXPECT_EQ(EncodeLength(FrameSizeOf(8)), 8u);
  EXPECT_EQ(EncodeLength(FrameSizeOf(9)), 0x8700000000000009u);
  EXPECT_EQ(EncodeLength(FrameSizeOf(15)), 0x810000000000000fu);
  for (std::uint64_t size = 1; size < 100; ++size) {
    const std::optional<FrameSize> decoded = DecodeLength(EncodeLength(FrameSizeOf(size)));
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(decoded->record_bytes, size);
    EXPECT_EQ(decoded->body_bytes() % 8, 0u);
  }
}

TEST(FrameSizeTest, RefusesLengthsThatNoWriterMakes) {
  EXPECT_FALSE(DecodeLength(0).has_value());
  EXPECT_FALSE(DecodeLength(9).has_value());                    // padding not stated
  EXPECT_FALSE(DecodeLength(0x8600000000000009u).has_value());  // wrong padding
  EXPECT_FALSE(DecodeLength(0x8000000000000008u).has_value());  // flag without padding
  EXPECT_FALSE(DecodeLength(0x0700000000000009u).has_value());  // padding without flag
}

TEST(RecordTest, IsReadOnlyInTheOneSpelling) {
  char buffer[64];
  const std::string data = "some data";
  const char* end = WriteRecordPrefix(buffer, RecordType::kEntry, 0xdeadbeef, data.size());
  const std::string bytes = std::string(static_cast<const char*>(buffer), end) + data;
  EXPECT_EQ(Hex(bytes), "080210effdb6f50d1a09736f6d652064617461");
  EXPECT_EQ(bytes.size(), RecordPrefixSize(0xdeadbeef, data.size()) + data.size());
  const std::optional<Record> record = DecodeRecord(bytes);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->type, RecordType::kEntry);
  EXPECT_EQ(record->crc, 0xdeadbeefu);
  EXPECT_EQ(record->data, data);

  EXPECT_FALSE(DecodeRecord(bytes + std::string("\x20\x01", 2)).has_value());  // one more field
  EXPECT_FALSE(DecodeRecord(bytes.substr(0, bytes.size() - 1)).has_value());
  EXPECT_FALSE(DecodeRecord(bytes.substr(2)).has_value());                         // no type
  EXPECT_FALSE(DecodeRecord(std::string("\x08\x06\x10\x00", 4)).has_value());      // no such type
  EXPECT_FALSE(DecodeRecord(std::string("\x08\x04\x10\x80\x00", 5)).has_value());  // long zero
}

TEST(SealTest, IsRecognisedAtItsOwnPlaceOnly) {
  Batch batch;
  batch.Begin({.rolling = 0x12345678, .frames = 0x9abcdef0}, 4096);
  batch.AddRecord(RecordType::kState, "state");
  const std::size_t at = batch.size_bytes();
  batch.AddSeal({.sequence = 7, .offset = 1024, .synced_offset = 512, .file_size_bytes = 4096});
  std::string bytes;
  for (const std::string_view part : batch.Parts()) bytes += part;
  EXPECT_LE(bytes.size() - at, kMaxSealFrameBytes);

  const std::string_view seal = std::string_view(bytes).substr(at);
  const std::optional<Seal> found = FindSealAt(seal, 1024 + at, 7);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->offset, 1024 + at);
  EXPECT_EQ(found->synced_offset, 512u);
  EXPECT_EQ(found->file_size_bytes, 4096u);
  EXPECT_FALSE(FindSealAt(seal, 1024 + at + 8, 7).has_value());
  EXPECT_FALSE(FindSealAt(seal, 1024 + at, 8).has_value());
  EXPECT_FALSE(FindSealAt(bytes, 1024, 7).has_value());
  const auto is_refused = [&](std::string_view changed, std::size_t place) {
    // Zero padding is not part of a seal.
    if (place + 7 < seal.size()) {
      EXPECT_FALSE(FindSealAt(changed, 1024 + at, 7).has_value());
    }
  };
  ForEachFlip(seal, is_refused);
}

TEST_F(FormatTest, AFirstSegmentBeginsByteForByteAsEtcdMakesIt) {
  Create();
  const std::string bytes = Bytes("0000000000000000-0000000000000000.wal");
  EXPECT_EQ(bytes.size(), 4096u);
  const std::string metadata = std::string("\x08") + "\xcd\xd2\x91\x8b\xd2\xb8\x81\xcf\x8e\x01" +
                               "\x10" + "\xb2\x98\xea\xf1\x94\x83\x86\xfc\xcd\x01";
  const std::uint32_t crc1 = Crc32c(0, metadata);
  const std::string marker("\x08\x00\x10\x00", 4);
  const std::uint32_t crc2 = Crc32c(crc1, marker);
  const auto varint = [](std::uint32_t v) {
    std::string out;
    for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
    out += static_cast<char>(v);
    return out;
  };
  const auto frame = [](std::string record) {
    const std::size_t pad = (8 - record.size() % 8) % 8;
    std::string length(8, '\0');
    length[0] = static_cast<char>(record.size());
    if (pad != 0) length[7] = static_cast<char>(0x80 | pad);
    return length + record + std::string(pad, '\0');
  };
  const std::string head = frame(std::string("\x08\x04\x10\x00", 4)) +
                           frame("\x08\x01\x10" + varint(crc1) + "\x1a" +
                                 static_cast<char>(metadata.size()) + metadata) +
                           frame("\x08\x05\x10" + varint(crc2) + "\x1a\x04" + marker);
  EXPECT_EQ(Hex(bytes.substr(0, head.size())), Hex(head));
  const std::optional<Seal> seal =
      FindSealAt(std::string_view(bytes).substr(head.size()), head.size(), 0);
  ASSERT_TRUE(seal.has_value());
  EXPECT_EQ(seal->file_size_bytes, bytes.size());
  EXPECT_EQ(bytes.find_first_not_of('\0', head.size() + kMaxSealFrameBytes), std::string::npos);
  // The first frame, digit by digit.
  EXPECT_EQ(Hex(bytes.substr(0, 16)), "04000000000000840804100000000000");
}

// Made once, by this code, when an unmodified etcd-dump-logs had read such a log. A change here
// means that old logs cannot be read.
TEST_F(FormatTest, ABatchAndItsSealAreTheseBytes) {
  Create();
  AppendAndSync({MakeEntry(1, 1, "hello"), MakeEntry(2, 1, "")},
                {.term = 1, .vote = 0x10, .commit = 2});
  const std::string bytes = Bytes("0000000000000000-0000000000000000.wal");
  const std::size_t begin = bytes.find("hello") - 26;
  const std::size_t end = bytes.find_last_not_of('\0') + 1;
  EXPECT_EQ(Hex(bytes.substr(begin, end - begin)),
            "1700000000000081080210aed79da9031a0d080010011801220568656c6c6f001000000000000000"
            "080210cfa7c5ec061a06080010011802100000000000000008031090aff293091a06080110101802"
            "2e0000000000008208041090aff293091a246b767331f44ceab1d800000000000000880000000000"
            "00000010000000000000c9733ddf");
}

// The bytes that a line of the header's example begins with: pairs of digits, up to three spaces.
std::string ExampleInTheHeader() {
  std::ifstream header(KVORUM_SOURCE_DIR "/wal/format.h");
  std::string hex, line;
  while (std::getline(header, line) && !line.starts_with("// EXAMPLE")) continue;
  while (std::getline(header, line) && !line.starts_with("// CRASHES")) {
    if (!line.starts_with("//   ")) continue;
    const std::string bytes = line.substr(5, line.find("   ", 5) - 5);
    std::ranges::copy_if(bytes, std::back_inserter(hex), [](char c) { return c != ' '; });
  }
  return hex;
}

TEST_F(FormatTest, TheExampleInTheHeaderIsWhatTheWriterWrites) {
  Create();
  AppendAndSync({MakeEntry(1, 1, "hello"), MakeEntry(2, 1, "")},
                {.term = 1, .vote = 0x10, .commit = 2});
  const std::string bytes = Bytes("0000000000000000-0000000000000000.wal");
  EXPECT_EQ(ExampleInTheHeader(), Hex(bytes.substr(136, 136)));
  EXPECT_EQ(bytes.find_first_not_of('\0', 136 + 136), std::string::npos) << "all of the batch";
}

TEST(SegmentNameTest, ReadsWhatItWrites) {
  const SegmentName name = {.sequence = 0x12ab, .first_index = raft::Index{UINT64_MAX}};
  EXPECT_EQ(name.FileName(), "00000000000012ab-ffffffffffffffff.wal");
  EXPECT_EQ(SegmentName::Parse(name.FileName()), name);
}

TEST(SegmentNameTest, RefusesOtherNames) {
  for (const char* other :
       {"", "lock", "reserve", "0000000000000000-0000000000000000.wal.broken",
        "0000000000000000-0000000000000000.tmp", "0000000000000000_0000000000000000.wal",
        "00000000000000AB-0000000000000000.wal", "0x00000000000000-0000000000000000.wal",
        "-000000000000001-0000000000000000.wal", "000000000000000-00000000000000000.wal"}) {
    EXPECT_FALSE(SegmentName::Parse(other).has_value()) << other;
  }
}

TEST(MarkerTest, ReadsWhatItWrites) {
  const SnapshotMarker marker = MakeMarker(1'000'000, 17);
  const auto decoded = DecodeSnapshotMarker(Encode(marker));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, marker);
  EXPECT_EQ(Hex(Encode(SnapshotMarker{})), "08001000");
  EXPECT_EQ(Hex(Encode(Metadata{})), "08001000");
  EXPECT_EQ(DecodeMetadata(Encode(kMetadata)).value(), kMetadata);
  EXPECT_FALSE(DecodeMetadata("\x08").has_value());
  EXPECT_FALSE(DecodeSnapshotMarker("\x1a\x05").has_value());
}

}  // namespace
}  // namespace kvorum::wal
