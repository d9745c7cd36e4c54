// The file of a saved key index: what is read is what was written, and no byte of it may change.
#include "mvcc/index/index_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "mvcc/index/index_file_reader.h"
#include "mvcc/index/index_file_writer.h"
#include "tests/damage.h"
#include "tests/disk/sim_file_system.h"
#include "tests/mvcc/key_index_model.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {
namespace {

using testing::HasSubstr;

const std::string kDatabase = "/data/db";

class IndexFileTest : public testing::Test {
 protected:
  IndexFileTest() {
    EXPECT_TRUE(files_.MakeDirectories("/data").has_value());
    binding_ = {.mark = "0123456789abcdef", .revision = 1, .compact_revision = -1};
  }

  void Put(const std::string& key) {
    const Revision revision{++binding_.revision, 0};
    model_.Put(key, revision);
    index_.Put(key, revision);
  }
  void Delete(const std::string& key) {
    const Revision revision{++binding_.revision, 0};
    model_.Tombstone(key, revision);
    if (!index_.Tombstone(key, revision).has_value()) --binding_.revision;
  }
  void Compact(std::int64_t revision) {
    KeyIndex::CompactProgress progress;
    while (!progress.done) index_.CompactStep(revision, 10, progress);
    binding_.compact_revision = revision;
  }
  // Each form of a key, and one that is attached, for the other tests to damage.
  void MakeAllForms() {
    for (const char* key : {"continued", "deleted", "generations", "lone", "put"}) Put(key);
    for (const char* key : {"continued", "deleted", "generations"}) Put(key);
    Delete("deleted");
    Delete("lone");
    Delete("generations");
    Put("generations");
    Put("generations");
    Compact(8);
    Put("generations");
    leases_["put"] = 0x7000'0000'0000'0001;
  }

  Result<IndexFileSize> Write() {
    return WriteIndexFile(files_, kDatabase,
                          {.view = index_.working(),
                           .binding = binding_,
                           .lease_of =
                               [this](std::string_view key) {
                                 const auto found = leases_.find(std::string(key));
                                 return found == leases_.end() ? 0 : found->second;
                               }},
                          [] { return true; });
  }
  Result<LoadedIndex> Read() {
    return ReadAt({.marks = binding_.mark,
                   .revision = binding_.revision,
                   .compact_revision = binding_.compact_revision});
  }
  // With `later_` after it.
  Result<LoadedIndex> ReadAt(const IndexedState& state) {
    return ReadIndexFile(files_, kDatabase, state,
                         [this](std::int64_t revision) -> Result<SortedRecords> {
                           EXPECT_EQ(revision, binding_.revision);
                           KeyIndexBuilder builder;
                           KeyIndexBuilder::Chunk& chunk = builder.AddChunk();
                           for (const auto& record : later_) KV_RETURN_IF_ERROR(chunk.Add(record));
                           return builder.Sort();
                         });
  }
  std::string ErrorOf(const Result<LoadedIndex>& loaded) {
    return loaded.has_value() ? "" : loaded.error().message;
  }
  std::string Bytes() { return ReadWholeFile(files_, IndexFilePath(kDatabase), 1 << 30).value(); }
  void SetBytes(std::string_view bytes) {
    ASSERT_TRUE(files_.Remove(IndexFilePath(kDatabase)).has_value());
    const auto file = files_.Open(IndexFilePath(kDatabase), FileSystem::OpenMode::kCreate).value();
    const std::array<std::string_view, 1> parts = {bytes};
    ASSERT_TRUE(file->WriteAt(0, parts).has_value());
  }
  void ExpectEqual(const KeyIndex& index, const std::string& what) {
    index.CheckInvariants();
    EXPECT_EQ(index.live_keys(), index_.live_keys()) << what;
    const KeyRange everything("", kOpenEnd);
    for (std::int64_t at = std::max<std::int64_t>(binding_.compact_revision, 1);
         at <= binding_.revision; ++at) {
      ASSERT_EQ(Difference(index.working(), model_, everything, at, binding_.revision),
                std::nullopt)
          << what << ", revision " << at;
    }
  }

  SimFileSystem files_;
  KeyIndexModel model_;
  KeyIndex index_;
  IndexBinding binding_;
  std::map<std::string, std::int64_t> leases_;
  std::vector<KeyIndexBuilder::Record> later_;
};

TEST_F(IndexFileTest, AnEmptyIndexComesBack) {
  ASSERT_TRUE(Write().has_value());
  const auto loaded = Read();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_TRUE(loaded->index->working().empty());
  EXPECT_EQ(loaded->index->Snapshot().mark().current_revision, 1);
  EXPECT_EQ(loaded->index->Snapshot().mark().compact_revision, -1);
}

TEST_F(IndexFileTest, EveryFormOfAKeyComesBackWithItsLease) {
  MakeAllForms();
  ASSERT_TRUE(Write().has_value());
  const auto loaded = Read();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ExpectEqual(*loaded->index, "all forms");
  ASSERT_EQ(loaded->attachments.size(), 1U);
  EXPECT_EQ(loaded->attachments[0].key, "put");
  EXPECT_EQ(loaded->attachments[0].lease, leases_["put"]);
}

TEST_F(IndexFileTest, RandomHistoriesComeBackAndGoOn) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    KeyIndexModel model;
    KeyIndex index;
    std::int64_t revision = 1;
    std::int64_t compacted = -1;
    const auto key = [&] { return std::string(rng.Below(3), 'k') + std::to_string(rng.Below(40)); };
    const auto change = [&](KeyIndex& changed, bool in_model, Revision at, const std::string& of,
                            bool deletes) {
      if (deletes) {
        if (in_model) model.Tombstone(of, at);
        changed.Tombstone(of, at);
      } else {
        if (in_model) model.Put(of, at);
        changed.Put(of, at);
      }
    };
    for (int i = 0; i < 400; ++i) {
      ++revision;
      for (std::int64_t sub = 0; sub <= static_cast<std::int64_t>(rng.Below(3)); ++sub)
        change(index, true, {revision, sub}, key(), rng.OneIn(3));
      if (rng.OneIn(100)) {
        compacted = revision - static_cast<std::int64_t>(rng.Below(50));
        KeyIndex::CompactProgress progress;
        while (!progress.done) index.CompactStep(compacted, 10, progress);
      }
    }
    binding_.revision = revision;
    binding_.compact_revision = compacted;
    ASSERT_TRUE(WriteIndexFile(files_, kDatabase,
                               {.view = index.working(), .binding = binding_, .lease_of = {}},
                               [] { return true; })
                    .has_value());
    const auto loaded = Read();
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    // Both go on alike.
    for (int i = 0; i < 200; ++i) {
      ++revision;
      const std::string of = key();
      const bool deletes = rng.OneIn(3);
      change(index, true, {revision, 0}, of, deletes);
      change(*loaded->index, false, {revision, 0}, of, deletes);
    }
    KeyIndex::CompactProgress progress;
    while (!progress.done) loaded->index->CompactStep(revision - 100, 10, progress);
    loaded->index->CheckInvariants();
    for (std::int64_t at = revision - 100; at <= revision; ++at) {
      ASSERT_EQ(Difference(loaded->index->working(), model, KeyRange("", kOpenEnd), at, revision),
                std::nullopt)
          << "revision " << at;
    }
  }
}

TEST_F(IndexFileTest, ManyBlocksComeBack) {
  for (int i = 0; i < 9'000; ++i)
    Put(std::string(100, static_cast<char>('a' + i % 7)) + std::to_string(i) +
        std::string(static_cast<std::size_t>(i % 90), 'x'));
  Put(std::string(index_file::kBlockBytes + 5, 'z'));
  ASSERT_TRUE(Write().has_value());
  EXPECT_GT(Bytes().size(), 2 * index_file::kBlockBytes);
  const auto loaded = Read();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  loaded->index->CheckInvariants();
  EXPECT_EQ(
      Difference(loaded->index->working(), model_, KeyRange("", kOpenEnd), 0, binding_.revision),
      std::nullopt);
}

// The format does not change unnoticed.
TEST_F(IndexFileTest, ItsBytesAreThese) {
  Put("ab");
  Put("ac");
  Put("ac");
  ASSERT_TRUE(Write().has_value());
  const std::string bytes = Bytes();
  EXPECT_TRUE(bytes.starts_with(index_file::kMagic));
  ASSERT_GT(bytes.size(), index_file::kHeaderBytes + index_file::kBlockHeaderBytes);
  using namespace std::string_literals;
  EXPECT_EQ(bytes.substr(index_file::kHeaderBytes + index_file::kBlockHeaderBytes),
            "\0\2ab\4\4\0"s        // one revision, 2
            "\1\1c\x8\6\0\2\0"s);  // two, 3 and one more
}

TEST_F(IndexFileTest, EachFlippedByteIsNoticed) {
  MakeAllForms();
  ASSERT_TRUE(Write().has_value());
  const std::string bytes = Bytes();
  const auto refused = [this](std::string_view flipped, std::size_t /*at*/) {
    SetBytes(flipped);
    const auto loaded = Read();
    ASSERT_FALSE(loaded.has_value());
    EXPECT_EQ(loaded.error().code, Code::kDataLoss);
  };
  ForEachFlip(bytes, refused, kOuterBits);
  SetBytes(bytes);
  EXPECT_TRUE(Read().has_value());
}

TEST_F(IndexFileTest, EachOtherLengthIsNoticed) {
  MakeAllForms();
  ASSERT_TRUE(Write().has_value());
  const std::string bytes = Bytes();
  ForEachCut(bytes, [&](std::string_view cut) {
    SetBytes(std::string(cut));
    ASSERT_FALSE(Read().has_value());
  });
  SetBytes(bytes + "x");
  EXPECT_THAT(ErrorOf(Read()), HasSubstr("truncated, or longer"));
}

TEST_F(IndexFileTest, ABlockOfAnotherPlaceIsNoticed) {
  Put(std::string(index_file::kBlockBytes, 'a'));
  Put(std::string(index_file::kBlockBytes, 'b'));
  ASSERT_TRUE(Write().has_value());
  const std::string bytes = Bytes();
  const std::size_t half = (bytes.size() - index_file::kHeaderBytes) / 2;
  SetBytes(bytes.substr(0, index_file::kHeaderBytes) +
           bytes.substr(index_file::kHeaderBytes + half) +
           bytes.substr(index_file::kHeaderBytes, half));
  EXPECT_THAT(ErrorOf(Read()), HasSubstr("a block of it is damaged"));
}

TEST_F(IndexFileTest, ItIsOfOneStateOfOneDatabaseOnly) {
  MakeAllForms();
  ASSERT_TRUE(Write().has_value());
  const std::vector<std::function<void(IndexedState&)>> changes = {
      [](IndexedState& state) { state.marks[15] ^= 1; },
      [](IndexedState& state) { state.marks.clear(); },
      [](IndexedState& state) { state.marks.insert(0, "x"); },
      [](IndexedState& state) { --state.revision; },
      [](IndexedState& state) { --state.compact_revision; },
  };
  for (const auto& change : changes) {
    IndexedState other{.marks = binding_.mark,
                       .revision = binding_.revision,
                       .compact_revision = binding_.compact_revision};
    change(other);
    EXPECT_THAT(ErrorOf(ReadAt(other)), HasSubstr("another state"));
  }
  EXPECT_TRUE(Read().has_value());
  EXPECT_EQ(CheckIndexFile(files_, kDatabase).value(), binding_);
}

TEST_F(IndexFileTest, TheMarkMayBeOneOfTheLastFew) {
  Put("a");
  ASSERT_TRUE(Write().has_value());
  std::string marks = binding_.mark;
  for (char next = 'x'; next <= 'z'; ++next) {
    EXPECT_TRUE(ReadAt({.marks = marks, .revision = binding_.revision}).has_value()) << next;
    marks = AddIndexMark(std::string(IndexBinding::kMarkBytes, next), marks);
    EXPECT_LE(marks.size(), IndexBinding::kMostMarks * IndexBinding::kMarkBytes);
  }
  EXPECT_FALSE(ReadAt({.marks = marks, .revision = binding_.revision}).has_value());
}

TEST_F(IndexFileTest, AMarkIsDroppedAlone) {
  const auto mark = [](char of) { return std::string(IndexBinding::kMarkBytes, of); };
  const std::string marks = mark('a') + mark('b') + mark('c');
  EXPECT_EQ(DropIndexMark(mark('b'), marks), mark('a') + mark('c'));
  EXPECT_EQ(DropIndexMark(mark('d'), marks), marks);
  EXPECT_EQ(DropIndexMark("", marks), "");
}

TEST_F(IndexFileTest, LaterRecordsJoinTheirKeys) {
  for (const char* key : {"b", "d", "f"}) Put(key);
  leases_ = {{"b", 5}, {"d", 6}};
  ASSERT_TRUE(Write().has_value());
  const std::int64_t after = binding_.revision;
  later_ = {
      {.key = "a", .revision = {after + 1, 0}, .create_revision = after + 1, .version = 1},
      {.key = "b", .revision = {after + 2, 0}, .create_revision = 2, .version = 2},
      {.key = "e", .revision = {after + 2, 1}, .create_revision = after + 2, .version = 1},
      {.key = "f", .revision = {after + 3, 0}, .tombstone = true},
      {.key = "f", .revision = {after + 4, 0}, .create_revision = after + 4, .version = 1},
      {.key = "g", .revision = {after + 5, 0}, .create_revision = after + 5, .version = 1},
  };
  const auto loaded = ReadAt({.marks = binding_.mark, .revision = after + 5});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  loaded->index->CheckInvariants();
  EXPECT_EQ(loaded->later_records, 6U);
  EXPECT_EQ(loaded->revisions, 9U);
  ASSERT_EQ(loaded->attachments.size(), 1U);  // b's later record tells its own
  EXPECT_EQ(loaded->attachments[0].key, "d");
  std::string shown;
  loaded->index->working().Visit(KeyRange("", kOpenEnd), 0, [&](const IndexItem& item) {
    shown += std::string(item.key) + std::to_string(item.created) + "v" +
             std::to_string(item.version) + " ";
    return true;
  });
  EXPECT_EQ(shown, "a5v1 b2v2 d3v1 e6v1 f8v1 g9v1 ");
}

TEST_F(IndexFileTest, LaterRecordsThatDoNotFollowAreNoticed) {
  for (const char* key : {"b", "d"}) Put(key);
  Delete("d");
  ASSERT_TRUE(Write().has_value());
  const std::int64_t at = binding_.revision + 1;
  const std::vector<KeyIndexBuilder::Record> wrong = {
      {.key = "b", .revision = {at, 0}, .create_revision = 2, .version = 3},
      {.key = "b", .revision = {at, 0}, .create_revision = at, .version = 1},
      {.key = "c", .revision = {at, 0}, .create_revision = 2, .version = 1},
      {.key = "c", .revision = {at, 0}, .create_revision = at, .version = 2},
      {.key = "c", .revision = {at, 0}, .tombstone = true},
      {.key = "d", .revision = {at, 0}, .create_revision = 3, .version = 2},
      {.key = "d", .revision = {at, 0}, .tombstone = true},
  };
  for (const auto& record : wrong) {
    later_ = {record};
    EXPECT_THAT(ErrorOf(ReadAt({.marks = binding_.mark, .revision = at})),
                HasSubstr("do not follow"));
  }
  // The rest that a compaction leaves may.
  later_ = {wrong[0]};
  EXPECT_TRUE(ReadAt({.marks = binding_.mark, .revision = at, .compact_revision = at}).has_value());
}

TEST_F(IndexFileTest, WritingThatIsGivenUpLeavesNothingUnderItsName) {
  Put(std::string(index_file::kBlockBytes, 'a'));
  const auto written = WriteIndexFile(
      files_, kDatabase, {.view = index_.working(), .binding = binding_, .lease_of = {}},
      [] { return false; });
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, Code::kCanceled);
  EXPECT_EQ(Read().error().code, Code::kNotFound);
  ASSERT_TRUE(RemoveIndexFile(files_, kDatabase).has_value());
  EXPECT_TRUE(files_.List("/data")->empty());
}

}  // namespace
}  // namespace kvorum::mvcc
