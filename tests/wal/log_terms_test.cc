// The terms of a log's entries, read while the log is written.
#include "wal/log_terms.h"

#include <gtest/gtest.h>

#include "tests/wal/listed_file_system.h"
#include "tests/wal/log_fixture.h"

namespace kvorum::wal {
namespace {

class LogTermsTest : public LogFixture {
 protected:
  void ExpectTerms(const LogTerms& terms, raft::Index first, raft::Index last, raft::Term term) {
    for (raft::Index index = first; index <= last; ++index)
      EXPECT_EQ(terms.TermAt(index), term) << index.value();
  }
};

TEST_F(LogTermsTest, AreThoseOfTheLastEntryOfEachIndex) {
  Create();
  LogTerms terms(fs_, kDir);
  for (raft::Index index = 1; index <= 100; ++index) AppendAndSync(MakeEntries(index, 1, 1, 200));
  for (raft::Index index = 60; index <= 80; ++index) AppendAndSync(MakeEntries(index, 1, 2, 200));
  ASSERT_OK(terms.Update());
  EXPECT_EQ(terms.first_index(), 1U);
  ExpectTerms(terms, 1, 59, 1);
  ExpectTerms(terms, 60, 80, 2);
  EXPECT_EQ(terms.TermAt(81), 0U) << "it went with the one before it";
}

TEST_F(LogTermsTest, AreReadOnAsTheLogGrows) {
  Create();
  LogTerms terms(fs_, kDir);
  raft::Term term = 1;
  for (raft::Index index = 1; index <= 300; ++index) {
    if (index.value() % 70 == 0) ++term;
    AppendAndSync(MakeEntries(index, 1, term, 200));
    if (index.value() % 3 != 0) continue;
    ASSERT_OK(terms.Update());
    EXPECT_EQ(terms.TermAt(index), term);
    EXPECT_EQ(terms.TermAt(index + 1), 0U);
  }
  ASSERT_GT(SegmentFiles().size(), 10U);
  ExpectTerms(terms, 1, 69, 1);
  ExpectTerms(terms, 70, 139, 2);
}

TEST_F(LogTermsTest, GoOnBehindSegmentsThatWerePurged) {
  Create();
  LogTerms terms(fs_, kDir);
  AppendAndSync(MakeEntries(1, 3, 1, 200));
  ASSERT_OK(terms.Update());
  for (raft::Index index = 4; index <= 200; ++index) AppendAndSync(MakeEntries(index, 1, 2, 200));
  writer_->ReleaseTo(150);
  ASSERT_GT(writer_->Purge(1).value(), 0U);
  ASSERT_OK(terms.Update());
  EXPECT_GT(terms.first_index(), 100U);
  EXPECT_LE(terms.first_index(), 151U);
  ExpectTerms(terms, terms.first_index(), 200, 2);
}

TEST_F(LogTermsTest, ASegmentThatIsPurgedAfterItWasListedIsPassedOver) {
  Create();
  for (raft::Index index = 1; index <= 200; ++index) AppendAndSync(MakeEntries(index, 1, 2, 200));
  ListedFileSystem listed(fs_);
  LogTerms terms(listed, kDir);
  listed.AfterNextList([this] {
    writer_->ReleaseTo(150);
    ASSERT_GT(writer_->Purge(1).value(), 0U);
  });
  ASSERT_OK(terms.Update());
  EXPECT_GT(terms.first_index(), 100U);
  ExpectTerms(terms, 151, 200, 2);
}

TEST_F(LogTermsTest, BeginBehindAReceivedSnapshot) {
  Create();
  AppendAndSync(MakeEntries(1, 5, 1), {.term = 1, .vote = 1, .commit = 5});
  LogTerms terms(fs_, kDir);
  ASSERT_OK(terms.Update());
  EXPECT_EQ(terms.first_index(), 1U);
  ASSERT_OK(
      writer_->SaveReceivedSnapshot(MakeMarker(1000, 3), {.term = 3, .vote = 0, .commit = 1000}));
  AppendAndSync(MakeEntries(1001, 2, 3), {.term = 3, .vote = 0, .commit = 1002});
  ASSERT_OK(terms.Update());
  EXPECT_EQ(terms.first_index(), 1001U);
  EXPECT_EQ(terms.TermAt(5), 0U);
  ExpectTerms(terms, 1001, 1002, 3);
}

TEST_F(LogTermsTest, DamageBeforeTheLastSegmentIsAnError) {
  Create();
  for (raft::Index index = 1; index <= 100; ++index) AppendAndSync(MakeEntries(index, 1, 1, 200));
  Overwrite(SegmentFiles()[2], 1000, "damage");
  LogTerms terms(fs_, kDir);
  const auto read = terms.Update();
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::kDataLoss);
}

TEST_F(LogTermsTest, WhatIsClosedIsReadAgain) {
  Create();
  AppendAndSync(MakeEntries(1, 3, 4));
  LogTerms terms(fs_, kDir);
  ASSERT_OK(terms.Update());
  terms.Close();
  EXPECT_EQ(terms.TermAt(3), 0U);
  ASSERT_OK(terms.Update());
  EXPECT_EQ(terms.TermAt(3), 4U);
}

}  // namespace
}  // namespace kvorum::wal
