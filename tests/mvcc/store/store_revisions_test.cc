#include "mvcc/store/store_revisions.h"

#include <gtest/gtest.h>

namespace kvorum::mvcc {
namespace {

TEST(StoreRevisionsTest, ReadersSeeWhatWasShownLast) {
  StoreRevisions revisions;
  revisions.Begin(10, 4, 7);
  EXPECT_EQ(revisions.shown(), 10);
  EXPECT_EQ(revisions.shown_compact(), 4);
  EXPECT_FALSE(revisions.hidden());
  revisions.Advance(12);
  revisions.Hide();
  revisions.Compact(9);
  EXPECT_EQ(revisions.shown(), 10);
  EXPECT_EQ(revisions.shown_compact(), 4);
  EXPECT_EQ(revisions.working(), 12);
  EXPECT_EQ(revisions.compacted(), 9);
  revisions.CheckInvariants();
  revisions.Show();
  EXPECT_EQ(revisions.shown(), 12);
  EXPECT_EQ(revisions.shown_compact(), 9);
  EXPECT_FALSE(revisions.hidden());
}

TEST(StoreRevisionsTest, TheMarkIsTheWriters) {
  StoreRevisions revisions;
  revisions.Begin(10, 4, 7);
  revisions.Advance(11);
  revisions.Compact(5);
  revisions.SetSideVersion(8);
  EXPECT_EQ(revisions.mark().current_revision, 11);
  EXPECT_EQ(revisions.mark().compact_revision, 5);
  EXPECT_EQ(revisions.mark().side_version, 8);
}

TEST(StoreRevisionsTest, ACompactionOrASideVersionHidesTheIndex) {
  StoreRevisions revisions;
  EXPECT_FALSE(revisions.hidden());
  revisions.Compact(1);
  EXPECT_TRUE(revisions.hidden());
  revisions.Show();
  revisions.SetSideVersion(1);
  EXPECT_TRUE(revisions.hidden());
  revisions.Show();
  revisions.Advance(3);
  EXPECT_FALSE(revisions.hidden()) << "the index says so itself";
}

TEST(StoreRevisionsTest, BrokenInvariantsStop) {
  StoreRevisions back;
  back.Begin(10, 4, 0);
  back.Advance(9);
  EXPECT_DEATH(back.CheckInvariants(), "ahead of the writer");
  StoreRevisions uncompacted;
  uncompacted.Begin(10, 4, 0);
  uncompacted.Compact(3);
  EXPECT_DEATH(uncompacted.CheckInvariants(), "ahead of compactions");
  StoreRevisions future;
  future.Begin(10, 4, 0);
  future.Compact(11);
  EXPECT_DEATH(future.CheckInvariants(), "future");
}

}  // namespace
}  // namespace kvorum::mvcc
