// A log that etcd wrote, which has no seals: damage is distinguished from a torn write by etcd's
// own rule.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "tests/wal/log_fixture.h"
#include "wal/format.h"

namespace kvorum::wal {
namespace {

using testing::HasSubstr;

// The log is what etcd would have written: the same frames without seals.
class EtcdLogTest : public LogFixture {
 protected:
  static constexpr std::size_t kSectorBytes = 512;

  void SetUp() override {
    LogFixture::SetUp();
    Create(SmallOptions(16384));
    AppendAndSync(MakeEntries(1, 2, 1, 700), {.term = 1, .vote = 1, .commit = 1});
    AppendAndSync(MakeEntries(3, 1, 1, 2000), {.term = 1, .vote = 1, .commit = 2});
    writer_.reset();
    file_ = SegmentFiles().at(0);
    RemoveSeals();
    const auto whole = Open(log_);
    ASSERT_OK(whole);
    whole_ = whole->contents;
    ASSERT_EQ(whole_.entries.size(), 3u);
    ASSERT_FALSE(whole->torn.has_value());
  }
  void RemoveSeals() {
    const std::string bytes = Bytes(file_);
    for (std::size_t at = 0; at + kFrameHeaderBytes <= bytes.size();) {
      std::uint64_t length = 0;
      std::memcpy(&length, bytes.data() + at, sizeof(length));
      if (length == 0) break;
      const FrameSize size = DecodeLength(length).value();
      const std::string_view frame =
          std::string_view(bytes).substr(at, kFrameHeaderBytes + size.body_bytes());
      const Record record =
          DecodeRecord(frame.substr(kFrameHeaderBytes, size.record_bytes)).value();
      if (record.type != RecordType::kCrc || record.data.empty()) {
        frames_.push_back(log_.size());
        log_ += frame;
      }
      at += frame.size();
    }
    end_ = log_.size();
    log_.resize(bytes.size(), '\0');
  }
  // Opens a log of these bytes.
  Result<Opened> Open(const std::string& bytes) {
    Truncate(file_, 0);
    Overwrite(file_, 0, bytes);
    Rng rng(1);
    copy_ = fs_.CrashImage(SimFileSystem::Keep::kAll, rng);
    return wal::Open(*copy_, kDir, {}, options_);
  }
  bool IsLength(std::size_t at) const {
    return std::ranges::any_of(
        frames_, [&](std::size_t frame) { return at >= frame && at < frame + kFrameHeaderBytes; });
  }
  bool IsType(std::size_t at) const {
    return std::ranges::count(frames_, at - kFrameHeaderBytes - 1) != 0;  // behind its tag
  }
  void ExpectCutAt(const Result<Opened>& opened, std::size_t offset) {
    ASSERT_OK(opened);
    ASSERT_TRUE(opened->torn.has_value());
    EXPECT_EQ(opened->torn->offset, offset);
    EXPECT_TRUE(
        std::ranges::equal(opened->contents.entries,
                           std::span(whole_.entries).first(opened->contents.entries.size())));
  }

  std::string file_;
  std::string log_;
  std::vector<std::size_t> frames_;  // where they begin
  std::size_t end_ = 0;
  Contents whole_;
  std::unique_ptr<SimFileSystem> copy_;
};

// But for a type: an entry that passes for a state is one that the checksum does not cover.
TEST_F(EtcdLogTest, AChangedByteIsDamageAndNoTornWrite) {
  for (std::size_t at = 0; at < end_; ++at) {
    if (IsLength(at) || IsType(at)) continue;
    std::string bytes = log_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x01);
    const auto opened = Open(bytes);
    ASSERT_FALSE(opened.has_value()) << at;
    ASSERT_EQ(opened.error().code, Code::kDataLoss) << at;
    ASSERT_THAT(opened.error().message, HasSubstr("is damaged at offset")) << at;
  }
}

// One that goes past the end is etcd's sign of a torn write; 0 is the end.
TEST_F(EtcdLogTest, AChangedLengthNeverGivesOtherEntries) {
  for (std::size_t at = 0; at < end_; ++at) {
    if (!IsLength(at)) continue;
    std::string bytes = log_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    const auto opened = Open(bytes);
    if (!opened.has_value()) {
      ASSERT_EQ(opened.error().code, Code::kDataLoss) << at;
      continue;
    }
    ASSERT_TRUE(opened->torn.has_value()) << at;
    ExpectCutAt(opened, at / kFrameAlignment * kFrameAlignment);
  }
}

TEST_F(EtcdLogTest, AFrameThatTheFilesEndCutsIsTorn) {
  const std::size_t last = frames_.at(frames_.size() - 2);  // of the long entry
  for (std::size_t size = last + kFrameHeaderBytes; size < frames_.back(); ++size)
    ExpectCutAt(Open(log_.substr(0, size)), last);
}

TEST_F(EtcdLogTest, AnEmptySectorOfAFrameIsATornWrite) {
  const std::size_t last = frames_.at(frames_.size() - 2);
  std::size_t torn = 0;
  for (std::size_t at = (last / kSectorBytes + 1) * kSectorBytes;
       at + kSectorBytes < frames_.back(); at += kSectorBytes, ++torn) {
    std::string bytes = log_;
    bytes.replace(at, kSectorBytes, kSectorBytes, '\0');
    ExpectCutAt(Open(bytes), last);
  }
  EXPECT_GE(torn, 2u);
}

// So an etcd leaves it that has repaired its log.
TEST_F(EtcdLogTest, OneThatEndsWithItsLastRecordIsWhole) {
  const auto opened = Open(log_.substr(0, end_));
  ASSERT_OK(opened);
  EXPECT_EQ(opened->contents.entries, whole_.entries);
  EXPECT_FALSE(opened->torn.has_value());
}

}  // namespace
}  // namespace kvorum::wal
