// Torn tails, which are cut off, and damage, which is refused: each byte changed, each length cut,
// and the cases that other logs have met.
#include <gmock/gmock.h>

#include <cstring>

#include "tests/wal/log_fixture.h"
#include "wal/batch.h"
#include "wal/segment_reader.h"

namespace kvorum::wal {
namespace {

using testing::HasSubstr;

constexpr std::uint8_t kMasks[] = {0x01, 0x80};

class DamageTest : public LogFixture {
 protected:
  // Two segments; the last one holds three batches, each synced.
  void MakeLog(std::uint64_t segment_size_bytes = 4096) {
    Create(SmallOptions(segment_size_bytes));
    AppendAndSync(MakeEntries(1, 4, 1), {.term = 1, .vote = 1, .commit = 2});
    ASSERT_OK(writer_->Cut());
    AppendAndSync(MakeEntries(5, 2, 2), {.term = 2, .vote = 2, .commit = 5});
    AppendAndSync(MakeEntries(7, 2, 2), {.term = 2, .vote = 2, .commit = 7});
    last_batch_at_ = EndOfRecords();
    AppendAndSync(MakeEntries(9, 2, 2, 700), {.term = 2, .vote = 2, .commit = 9});
    end_ = EndOfRecords();
    files_ = SegmentFiles();
    ASSERT_EQ(files_.size(), 2u);
    const Result<Contents> whole = Read(fs_, kDir, {});
    ASSERT_OK(whole);
    whole_ = *whole;
    ASSERT_EQ(whole_.entries.size(), 10u);
  }
  void CloseLog() {
    ASSERT_OK(writer_->Close());
    end_ = EndOfRecords();
  }
  std::uint64_t EndOfRecords() {
    const std::size_t last = Bytes(SegmentFiles().back()).find_last_not_of('\0') + 1;
    return (last + 7) / 8 * 8;
  }
  // Opens a copy of the disk, so that the next change meets the same log.
  Result<Opened> OpenCopy() {
    Rng rng(1);
    copy_ = fs_.CrashImage(SimFileSystem::Keep::kAll, rng);
    return wal::Open(*copy_, kDir, {}, options_);
  }
  void ExpectWhole(const Opened& opened) {
    EXPECT_EQ(opened.contents.entries, whole_.entries);
    EXPECT_EQ(opened.contents.hard_state, whole_.hard_state);
    EXPECT_EQ(opened.contents.metadata, whole_.metadata);
  }
  void ExpectDamaged(const Result<Opened>& opened, const std::string& file) {
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Code::kDataLoss);
    EXPECT_THAT(opened.error().message, HasSubstr(file));
    EXPECT_THAT(opened.error().message, HasSubstr("is damaged at offset"));
    EXPECT_THAT(opened.error().message, HasSubstr("add it again with an empty data directory"));
  }
  // At most the last batch is missing, and that is reported.
  void ExpectWholeBeforeLastBatch(const Opened& opened) {
    const std::vector<raft::Entry>& entries = opened.contents.entries;
    ASSERT_GE(entries.size(), 8u);
    for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(entries[i], whole_.entries[i]);
    EXPECT_EQ(opened.contents.hard_state.term, 2u);
    EXPECT_EQ(opened.contents.hard_state.vote, 2u);
    EXPECT_GE(opened.contents.hard_state.commit, 7u);
    EXPECT_EQ(opened.contents.metadata, whole_.metadata);
  }

  std::vector<std::string> files_;
  std::uint64_t last_batch_at_ = 0;  // in the last file
  std::uint64_t end_ = 0;            // of its records
  Contents whole_;
  std::unique_ptr<SimFileSystem> copy_;
};

TEST_F(DamageTest, NoChangedByteOfAClosedLogPasses) {
  MakeLog();
  CloseLog();
  const std::uint64_t seal_at = end_ - 56;  // of the Close, after which there is nothing
  int refused = 0;
  for (const std::string& file : files_) {
    const bool is_last = file == files_.back();
    const std::size_t size = Bytes(file).size();
    for (std::size_t offset = 0; offset < size; ++offset) {
      for (const std::uint8_t mask : kMasks) {
        ASSERT_TRUE(fs_.Corrupt(Path(file), offset, mask));
        const Result<Opened> opened = OpenCopy();
        if (is_last && offset >= seal_at) {
          ASSERT_TRUE(opened.has_value()) << offset << " " << opened.error().message;
          ExpectWhole(*opened);
          EXPECT_TRUE(opened->torn.has_value()) << offset;
        } else {
          ASSERT_NO_FATAL_FAILURE(ExpectDamaged(opened, "/data/member/wal/")) << offset;
          ++refused;
        }
        ASSERT_TRUE(fs_.Corrupt(Path(file), offset, mask));
      }
    }
  }
  EXPECT_GT(refused, 2000);
}

TEST_F(DamageTest, AChangedByteOfACrashedLogCostsAtMostTheLastBatch) {
  MakeLog();
  int refused = 0;
  int torn = 0;
  for (const std::string& file : files_) {
    const bool is_last = file == files_.back();
    const std::size_t size = is_last ? end_ : Bytes(file).size();
    for (std::size_t offset = 0; offset < size; ++offset) {
      for (const std::uint8_t mask : kMasks) {
        ASSERT_TRUE(fs_.Corrupt(Path(file), offset, mask));
        const Result<Opened> opened = OpenCopy();
        if (opened.has_value()) {
          ASSERT_TRUE(is_last && offset >= last_batch_at_) << offset;
          ExpectWholeBeforeLastBatch(*opened);
          EXPECT_TRUE(opened->torn.has_value());
          ++torn;
        } else {
          ASSERT_NO_FATAL_FAILURE(ExpectDamaged(opened, "/data/member/wal/")) << offset;
          ++refused;
        }
        ASSERT_TRUE(fs_.Corrupt(Path(file), offset, mask));
      }
    }
  }
  EXPECT_GT(refused, 1500);
  EXPECT_GT(torn, 2000);
}

// The database has more than what would be left: the last batch was durable.
TEST_F(DamageTest, AChangedByteOfABatchThatHasBeenAppliedIsRefusedAndNothingIsChanged) {
  MakeLog();
  int torn_before = 0;
  for (const raft::Index applied : {raft::Index{8}, raft::Index{10}}) {
    options_.durable_index = [applied] { return applied; };
    int torn = 0;
    for (std::size_t offset = last_batch_at_; offset < end_; ++offset) {
      ASSERT_TRUE(fs_.Corrupt(Path(files_.back()), offset, 0x02));
      const std::string before = Bytes(files_.back());
      const Result<Opened> opened = OpenCopy();
      if (!opened.has_value()) {
        ASSERT_NO_FATAL_FAILURE(ExpectDamaged(opened, files_.back())) << offset;
        EXPECT_EQ(ReadWholeFile(*copy_, Path(files_.back()), 1 << 20).value(), before);
      } else {
        ++torn;
        EXPECT_GE(opened->contents.entries.back().index, applied) << offset;
      }
      ASSERT_TRUE(fs_.Corrupt(Path(files_.back()), offset, 0x02));
    }
    EXPECT_GT(torn, 0) << "what lies behind the entry";
    if (applied == 8) torn_before = torn;
    if (applied == 10) {
      EXPECT_LT(torn, torn_before / 4);
    }
  }
  options_.durable_index = []() -> Result<raft::Index> {
    return Fail(Code::kDataLoss, "the database cannot be read");
  };
  ASSERT_TRUE(fs_.Corrupt(Path(files_.back()), last_batch_at_ + 20, 0x02));
  EXPECT_FALSE(OpenCopy().has_value()) << "the damage may be anywhere";
}

TEST_F(DamageTest, NoLengthToWhichTheLogIsCutPasses) {
  MakeLog();
  writer_.reset();
  const std::string bytes = Bytes(files_.back());
  for (std::size_t size = bytes.size() - 1; size < bytes.size(); --size) {
    Truncate(files_.back(), size);
    ASSERT_NO_FATAL_FAILURE(ExpectDamaged(OpenCopy(), files_.back())) << size;
  }
  Overwrite(files_.back(), 0, bytes);
  ASSERT_OK(OpenCopy());
  const std::string first = Bytes(files_.front());
  for (std::size_t size = first.size() - 1; size < first.size(); --size) {
    Truncate(files_.front(), size);
    const Result<Opened> opened = OpenCopy();
    if (opened.has_value()) {
      ExpectWhole(*opened);  // only padding is gone
    } else {
      ASSERT_NO_FATAL_FAILURE(ExpectDamaged(opened, "/data/member/wal/")) << size;
    }
  }
}

TEST_F(DamageTest, AnyZeroedSectorButInTheLastBatchIsDamage) {
  MakeLog();
  const std::string bytes = Bytes(files_.back());
  int torn = 0;
  for (std::size_t at = 0; at < end_; at += 512) {
    Overwrite(files_.back(), at, std::string(512, '\0'));
    const Result<Opened> opened = OpenCopy();
    if (at < last_batch_at_) {
      ASSERT_NO_FATAL_FAILURE(ExpectDamaged(opened, files_.back())) << at;
    } else {
      ASSERT_OK(opened);
      ExpectWholeBeforeLastBatch(*opened);
      ++torn;
    }
    Overwrite(files_.back(), 0, bytes);
  }
  EXPECT_GT(torn, 0);
}

TEST_F(DamageTest, AZeroedEndOfAnEarlierSegmentIsDamage) {
  MakeLog();
  const std::string bytes = Bytes(files_.front());
  // At the begin of a frame: a length of 0 is a proper end, but not the one the next segment knows.
  const std::size_t state_at = bytes.rfind(std::string("\x08\x03\x10", 3)) - 8;
  Overwrite(files_.front(), state_at, std::string(bytes.size() - state_at, '\0'));
  ExpectDamaged(OpenCopy(), files_.back());
}

TEST_F(DamageTest, AMissingSegmentIsRefused) {
  MakeLog();
  ASSERT_OK(fs_.Remove(Path(files_.front())));
  EXPECT_EQ(OpenCopy().error().code, Code::kNotFound);
}

TEST_F(DamageTest, ASegmentInAnothersPlaceIsRefused) {
  MakeLog();
  Overwrite(files_[0], 0, Bytes(files_[1]));
  ExpectDamaged(OpenCopy(), files_[0]);
}

// --- torn tails --------------------------------------------------------------------------------

class TornTailTest : public DamageTest {
 protected:
  // Writes bytes after the synced records, as a torn write leaves them.
  void Tear(std::string_view garbage) {
    MakeLog();
    Overwrite(files_.back(), end_, garbage);
  }
  void ExpectCutOff(std::size_t size_bytes) {
    const auto opened = OpenCopy();
    ASSERT_OK(opened);
    ExpectWhole(*opened);
    ASSERT_TRUE(opened->torn.has_value());
    EXPECT_EQ(opened->torn->file, Path(files_.back()));
    EXPECT_EQ(opened->torn->offset, end_);
    EXPECT_EQ(opened->torn->size_bytes, size_bytes);
    // The rest reads as zero, and the log continues after its last record.
    const std::string bytes = ReadWholeFile(*copy_, Path(files_.back()), 1 << 20).value();
    EXPECT_EQ(bytes.size(), 4096u);
    EXPECT_EQ(bytes.find_first_not_of('\0', end_), std::string::npos);
    ASSERT_OK(opened->writer->Append(MakeEntries(11, 1, 2), nullptr));
    ASSERT_OK(opened->writer->Sync());
    EXPECT_EQ(Read(*copy_, kDir, {})->entries.size(), 11u);
  }
};

// Jepsen, etcd 3.5.3 (2022): "max entry size limit exceeded".
// CVE-2020-15106: lengths of records are believed.
TEST_F(TornTailTest, AnAbsurdLengthIsCutOffAndNeverAllocated) {
  for (const std::uint64_t length :
       {std::uint64_t{0x00ffffffffffffff}, std::uint64_t{0x80ffffffffffffff},
        std::uint64_t{0x7fffffffffffffff}, std::uint64_t{1} << 40, std::uint64_t{4096},
        std::uint64_t{UINT64_MAX}}) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    Tear(bytes);
    const auto opened = OpenCopy();
    ASSERT_OK(opened);
    ExpectWhole(*opened);
    EXPECT_TRUE(opened->torn.has_value());
    fs_.Kill();
    ASSERT_OK(fs_.Remove(Path(files_[0])));
    ASSERT_OK(fs_.Remove(Path(files_[1])));
  }
}

TEST_F(TornTailTest, GarbageIsCutOff) {
  Tear(std::string(600, 'g'));
  ExpectCutOff(600);
}

TEST_F(TornTailTest, WhatLiesBehindAHoleIsCutOff) {
  Tear(std::string(512, '\0') + std::string(100, 'x'));
  ExpectCutOff(612);
}

TEST_F(TornTailTest, ItsBytesAreKeptBesideTheSegment) {
  Tear("garbage");
  const auto opened = OpenCopy();
  ASSERT_OK(opened);
  EXPECT_EQ(ReadWholeFile(*copy_, Path(files_.back()) + ".broken", 1 << 20).value(), "garbage");
}

TEST_F(TornTailTest, ReadPassesOverItAndChangesNothing) {
  Tear("garbage");
  const std::uint64_t before = fs_.operations();
  const auto contents = Read(fs_, kDir, {});
  ASSERT_OK(contents);
  EXPECT_EQ(contents->entries, whole_.entries);
  EXPECT_EQ(fs_.operations(), before);
}

// A client may store a copy of a WAL: a value that looks like records must not count as a trace of
// synced ones when its write is torn.
TEST_F(TornTailTest, AStoredCopyOfALogIsNoTraceOfASync) {
  MakeLog(16384);
  const std::string copy = Bytes(files_.back()).substr(0, end_);
  ASSERT_OK(writer_->Append(std::vector{MakeEntry(11, 2, copy)}, nullptr));
  Overwrite(files_.back(), (end_ + 511) / 512 * 512, std::string(512, '\0'));
  const auto opened = OpenCopy();
  ASSERT_OK(opened);
  ExpectWhole(*opened);
  EXPECT_TRUE(opened->torn.has_value());
}

// CVE-2020-15112: an index far past the log's end.
TEST_F(DamageTest, AnEntryFarPastTheLogsEndIsRefused) {
  Create();
  Batch batch;
  const std::string head = Bytes(SegmentFiles()[0]);
  const std::size_t end = (head.find_last_not_of('\0') + 8) / 8 * 8;
  auto reader =
      SegmentReader::Open(fs_, Path(SegmentFiles()[0]), *SegmentName::Parse(SegmentFiles()[0]), 0);
  ASSERT_OK(reader);
  while (reader->Next().value() == SegmentReader::Step::kRecord) {
  }
  ASSERT_EQ(reader->offset(), end);
  batch.Begin(reader->checksums(), 4096);
  batch.AddEntry(MakeEntry(raft::Index{13'038'096'702'221'461'992u}, 1, "far"));
  std::string bytes;
  for (const std::string_view part : batch.Parts()) bytes += part;
  Overwrite(SegmentFiles()[0], end, bytes);
  const auto opened = TryOpen();
  ExpectDamaged(opened, SegmentFiles()[0]);
  EXPECT_THAT(opened.error().message, HasSubstr("entry 13038096702221461992 follows on entry 0"));
}

}  // namespace
}  // namespace kvorum::wal
