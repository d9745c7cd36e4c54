// A log that etcd wrote, which has no seals: damage is distinguished from a torn write by etcd's
// own rule.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "tests/damage.h"
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
  const auto refused = [this](std::string_view bytes, std::size_t at) {
    if (at >= end_ || IsLength(at) || IsType(at)) return;
    const auto opened = Open(std::string(bytes));
    ASSERT_FALSE(opened.has_value());
    ASSERT_EQ(opened.error().code, Code::kDataLoss);
    ASSERT_THAT(opened.error().message, HasSubstr("is damaged at offset"));
  };
  ForEachFlip(log_, refused, std::array{0x01});
}

// One that goes past the end is etcd's sign of a torn write; 0 is the end.
TEST_F(EtcdLogTest, AChangedLengthNeverGivesOtherEntries) {
  const auto cut = [this](std::string_view bytes, std::size_t at) {
    if (at >= end_ || !IsLength(at)) return;
    const auto opened = Open(std::string(bytes));
    if (!opened.has_value()) {
      ASSERT_EQ(opened.error().code, Code::kDataLoss);
      return;
    }
    ASSERT_TRUE(opened->torn.has_value());
    ExpectCutAt(opened, at / kFrameAlignment * kFrameAlignment);
  };
  ForEachFlip(log_, cut, std::array{0x40});
}

TEST_F(EtcdLogTest, AFrameThatTheFilesEndCutsIsTorn) {
  const std::size_t last = frames_.at(frames_.size() - 2);  // of the long entry
  ForEachCut(std::string_view(log_).substr(0, frames_.back()), [&](std::string_view cut) {
    if (cut.size() >= last + kFrameHeaderBytes) ExpectCutAt(Open(std::string(cut)), last);
  });
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
