// Entries read from a log that is being written.
#include "wal/entry_cursor.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/wal/listed_file_system.h"
#include "tests/wal/log_fixture.h"

namespace kvorum::wal {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

class EntryCursorTest : public LogFixture {
 protected:
  // Entries 1 to 100 of term 1, of which those from 60 on are void: 60 to 200 are of term 2.
  void WriteTwoTerms() {
    Create();
    for (raft::Index index = 1; index <= 100; ++index) AppendAndSync(MakeEntries(index, 1, 1, 200));
    for (raft::Index index = 60; index <= 200; ++index)
      AppendAndSync(MakeEntries(index, 1, 2, 200));
  }
  static raft::Term TermOf(raft::Index index) { return index < 60 ? raft::Term{1} : raft::Term{2}; }
  static void ExpectEntries(const Result<std::vector<raft::Entry>>& read, raft::Index first,
                            raft::Index last) {
    ASSERT_OK(read);
    std::vector<raft::Entry> expected;
    for (raft::Index index = first; index <= last; ++index)
      expected.push_back(MakeEntries(index, 1, TermOf(index), 200).front());
    EXPECT_EQ(*read, expected);
  }
};

TEST_F(EntryCursorTest, ReadsThoseThatCountFromAnywhere) {
  WriteTwoTerms();
  ASSERT_GT(SegmentFiles().size(), 10u);
  for (const std::uint64_t first : {1U, 2U, 30U, 59U, 60U, 61U, 99U, 100U, 101U, 150U, 200U}) {
    SCOPED_TRACE(first);
    EntryCursor cursor(fs_, kDir);
    ExpectEntries(cursor.Read(raft::Index{first}, 200, kAll, TermOf), raft::Index{first}, 200);
  }
}

TEST_F(EntryCursorTest, GoesOnWhereItWas) {
  WriteTwoTerms();
  EntryCursor cursor(fs_, kDir);
  raft::Index next = 1;
  int reads = 0;
  while (next <= 200) {
    const auto read = cursor.Read(next, 200, 500, TermOf);
    ASSERT_OK(read);
    ASSERT_FALSE(read->empty());
    ASSERT_LE(read->size(), 3u);
    ExpectEntries(read, next, read->back().index);
    next = read->back().index + 1;
    ++reads;
  }
  EXPECT_GT(reads, 60);
  ExpectEntries(cursor.Read(70, 75, kAll, TermOf), 70, 75);
}

TEST_F(EntryCursorTest, MeetsTheWriterAndGoesOnLater) {
  Create();
  AppendAndSync(MakeEntries(1, 3, 1, 200));
  EntryCursor cursor(fs_, kDir);
  const auto term_of = [](raft::Index) { return raft::Term{1}; };
  const auto first = cursor.Read(1, 10, kAll, term_of);
  ASSERT_OK(first);
  EXPECT_EQ(first->size(), 3u);
  EXPECT_EQ(cursor.Read(4, 10, kAll, term_of).error().code, Code::kDataLoss);
  AppendAndSync(MakeEntries(4, 60, 1, 200));
  const auto more = cursor.Read(4, 63, kAll, term_of);
  ASSERT_OK(more);
  EXPECT_EQ(more->size(), 60u);
}

TEST_F(EntryCursorTest, SaysThatTheLogBeginsLater) {
  WriteTwoTerms();
  ASSERT_OK(writer_->Sync());
  writer_->ReleaseTo(150);
  ASSERT_OK(writer_->Purge(1));
  EntryCursor cursor(fs_, kDir);
  EXPECT_EQ(cursor.Read(1, 10, kAll, TermOf).error().code, Code::kNotFound);
  ExpectEntries(cursor.Read(151, 200, kAll, TermOf), 151, 200);
}

TEST_F(EntryCursorTest, ReadsTheSegmentThatIsPurgedMeanwhileToItsEnd) {
  WriteTwoTerms();
  EntryCursor cursor(fs_, kDir);
  ExpectEntries(cursor.Read(1, 2, kAll, TermOf), 1, 2);
  writer_->ReleaseTo(150);
  ASSERT_OK(writer_->Purge(1));
  EXPECT_OK(cursor.Read(3, 4, kAll, TermOf));
  EXPECT_FALSE(cursor.Read(5, 140, kAll, TermOf).value_or(std::vector<raft::Entry>{}).size() > 60);
}

// The purge runs on another thread.
TEST_F(EntryCursorTest, ASegmentThatIsPurgedAfterItWasListedIsMissedAndNothingElseIsReadForIt) {
  WriteTwoTerms();
  ListedFileSystem listed(fs_);
  const auto purge_after_list = [&](raft::Index released) {
    listed.AfterNextList([this, released] {
      writer_->ReleaseTo(released);
      ASSERT_GT(writer_->Purge(1).value(), 0U);
    });
  };
  EntryCursor at_its_beginning(listed, kDir);
  purge_after_list(150);
  EXPECT_FALSE(at_its_beginning.Read(60, 140, kAll, TermOf).has_value());
  EXPECT_TRUE(listed.has_told());
  EntryCursor on_its_way(listed, kDir);
  ExpectEntries(on_its_way.Read(151, 152, kAll, TermOf), 151, 152);
  purge_after_list(200);
  EXPECT_FALSE(on_its_way.Read(153, 199, kAll, TermOf).has_value());
  EXPECT_TRUE(listed.has_told());
  for (EntryCursor* each : {&at_its_beginning, &on_its_way})
    ExpectEntries(each->Read(200, 200, kAll, TermOf), 200, 200);
}

}  // namespace
}  // namespace kvorum::wal
