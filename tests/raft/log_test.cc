// The log's marks, its memory and what compaction, truncation and snapshots do to them.
#include "raft/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.h"

namespace kvorum::raft {
namespace {

Entry MakeEntry(Index index, Term term, std::size_t size_bytes = 0) {
  return {.term = term, .index = index, .data = SharedBytes::Own(std::string(size_bytes, 'x'))};
}

// Entries of these terms from index 1 on.
Log MakeLog(const std::vector<Term>& terms) {
  Log log(0, 0, {});
  for (const Term term : terms) log.Append(MakeEntry(log.last_index() + 1, term));
  return log;
}

// Everything up to `index` is durable, committed and applied.
void ApplyUpTo(Log& log, Index index) {
  log.TakeUnwritten();
  log.SetPersisted(index);
  log.CommitTo(index);
  log.SetApplying(index);
  log.SetApplied(index);
}

TEST(RaftLogTest, KnowsTheTermsFromItsSnapshotOn) {
  const Log log(5, 3, {MakeEntry(6, 3), MakeEntry(7, 4)});
  EXPECT_EQ(log.TermAt(4), std::nullopt);
  EXPECT_EQ(log.TermAt(5), 3U);
  EXPECT_EQ(log.TermAt(7), 4U);
  EXPECT_EQ(log.TermAt(8), std::nullopt);
  EXPECT_TRUE(log.Matches(5, 3));
  EXPECT_FALSE(log.Matches(8, 4));
  EXPECT_EQ(log.last_term(), 4U);
  EXPECT_EQ(Log(5, 3, {}).last_term(), 3U);
}

// Raft: paper 5.4.1
TEST(RaftLogTest, AnotherLogIsUpToDateByItsTermFirst) {
  const Log log = MakeLog({1, 2, 2});
  EXPECT_TRUE(log.IsUpToDate(3, 2));
  EXPECT_TRUE(log.IsUpToDate(4, 2));
  EXPECT_TRUE(log.IsUpToDate(1, 3));
  EXPECT_FALSE(log.IsUpToDate(2, 2));
  EXPECT_FALSE(log.IsUpToDate(9, 1));
}

TEST(RaftLogTest, FindsWhereLogsMayAgree) {
  const Log log = MakeLog({1, 1, 3, 3, 5});
  const auto find = [&](Index index, Term term) {
    const Log::Position position = log.FindConflictByTerm(index, term);
    return std::pair(position.index, position.term);
  };
  EXPECT_EQ(find(5, 5), std::pair(Index{5}, Term{5}));
  EXPECT_EQ(find(5, 4), std::pair(Index{4}, Term{3}));
  EXPECT_EQ(find(5, 2), std::pair(Index{2}, Term{1}));
  EXPECT_EQ(find(5, 0), std::pair(Index{0}, Term{0}));
  EXPECT_EQ(find(99, 9), std::pair(Index{5}, Term{5}));
  const Log compacted(5, 3, {MakeEntry(6, 3)});
  EXPECT_EQ(compacted.FindConflictByTerm(6, 2).index, 4U);
  EXPECT_EQ(compacted.FindConflictByTerm(6, 2).term, 0U) << "unknown";
}

TEST(RaftLogTest, RangesAreBoundedButNeverEmpty) {
  Log log(0, 0, {});
  for (Index index = 1; index <= 4; ++index) log.Append(MakeEntry(index, 1, 100));
  const std::size_t each = SizeBytes(MakeEntry(1, 1, 100));
  EXPECT_EQ(log.Range(1, 4, 2 * each).size(), 2U);
  EXPECT_EQ(log.Range(1, 4, 2 * each - 1).size(), 1U);
  EXPECT_EQ(log.Range(2, 4, 0).size(), 1U);
  EXPECT_EQ(log.Range(2, 4, 0).front().index, 2U);
  EXPECT_TRUE(log.Range(5, 4).empty());
}

TEST(RaftLogTest, TruncationTakesDurabilityBack) {
  Log log = MakeLog({1, 1, 1, 1});
  log.TakeUnwritten();
  log.SetPersisted(4);
  log.CommitTo(2);
  log.TruncateFrom(4);
  EXPECT_EQ(log.last_index(), 3U);
  EXPECT_EQ(log.persisted(), 3U);
  log.Append(MakeEntry(4, 2));
  EXPECT_TRUE(log.HasUnwritten());
  EXPECT_EQ(log.TakeUnwritten().front().term, 2U);
  EXPECT_FALSE(log.HasUnwritten());
  log.CheckInvariants();
}

TEST(RaftLogTest, GivesOutWhatIsCommittedAndDurable) {
  Log log = MakeLog({1, 1, 1});
  log.CommitTo(3);
  EXPECT_FALSE(log.HasNextToApply()) << "committed by others, but not on our disk";
  log.TakeUnwritten();
  log.SetPersisted(2);
  EXPECT_EQ(log.NextToApply(1000).size(), 2U);
  EXPECT_EQ(log.NextToApply(1).size(), 1U);
  log.SetApplying(2);
  EXPECT_FALSE(log.HasNextToApply());
  log.CheckInvariants();
}

// Raft: paper 7
TEST(RaftLogTest, CompactionCountsEntriesAndBytes) {
  Log log(0, 0, {});
  for (Index index = 1; index <= 10; ++index) log.Append(MakeEntry(index, Term{index.value()}, 10));
  ApplyUpTo(log, 8);
  const std::size_t each = SizeBytes(MakeEntry(1, 1, 10));
  log.Compact(5, 7, 1 << 20);
  EXPECT_EQ(log.first_index(), 4U) << "seven are kept";
  log.Compact(5, 7, 6 * each);
  EXPECT_EQ(log.first_index(), 5U) << "six have room";
  log.Compact(10, 0, 0);
  EXPECT_EQ(log.first_index(), 9U) << "what is not applied stays";
  EXPECT_EQ(log.TermAt(8), 8U);
  EXPECT_EQ(log.size_bytes(), 2 * each);
  log.CheckInvariants();
}

TEST(RaftLogTest, CountsWhatIsCommittedAndNotApplied) {
  Log log = MakeLog({1, 1, 1, 1});
  log.TakeUnwritten();
  log.SetPersisted(4);
  EXPECT_EQ(log.unapplied_size_bytes(), 0U);
  log.CommitTo(3);
  EXPECT_EQ(log.unapplied_size_bytes(), 3 * sizeof(Entry));
  log.SetApplying(3);
  log.SetApplied(2);
  EXPECT_EQ(log.unapplied_size_bytes(), sizeof(Entry));
  log.Compact(2, 0, 0);
  log.CheckInvariants();
  log.Restore(9, 2);
  EXPECT_EQ(log.unapplied_size_bytes(), 0U);
  log.Append(MakeEntry(10, 2));
  log.CommitTo(10);
  log.SetApplied(9);  // the snapshot
  EXPECT_EQ(log.unapplied_size_bytes(), sizeof(Entry));
  log.CheckInvariants();
}

TEST(RaftLogTest, StaysInOrderWhateverIsCompacted) {
  Rng rng(1);
  Log log(0, 0, {});
  for (int round = 0; round < 1000; ++round) {
    for (std::uint64_t i = rng.Below(5); i > 0; --i)
      log.Append(
          MakeEntry(log.last_index() + 1, Term{static_cast<std::uint64_t>(round)}, rng.Below(20)));
    ApplyUpTo(log, log.last_index());
    log.Compact(Index{rng.Below(log.last_index().value() + 1)}, rng.Below(20), rng.Below(2000));
    log.CheckInvariants();
  }
}

TEST(RaftLogTest, ASnapshotReplacesTheLogAndHoldsBackUntilItIsInstalled) {
  Log log = MakeLog({1, 1, 1});
  ApplyUpTo(log, 2);
  log.Restore(10, 4);
  EXPECT_EQ(log.first_index(), 11U);
  EXPECT_EQ(log.last_index(), 10U);
  EXPECT_EQ(log.last_term(), 4U);
  EXPECT_EQ(log.applied(), 2U);
  log.CheckInvariants();
  log.Append(MakeEntry(11, 4));
  log.TakeUnwritten();
  log.SetPersisted(11);
  log.CommitTo(11);
  EXPECT_FALSE(log.HasNextToApply());
  log.SetApplied(10);
  EXPECT_EQ(log.NextToApply(1000).front().index, 11U);
}

TEST(RaftLogDeathTest, BrokenPromisesOfTheDriverStopTheProcess) {
  Log log = MakeLog({1, 1});
  EXPECT_DEATH(log.Append(MakeEntry(4, 1)), "does not follow the log");
  EXPECT_DEATH(log.CommitTo(3), "commit beyond the log");
  EXPECT_DEATH(log.SetPersisted(1), "not given to the disk");
  log.CommitTo(1);
  EXPECT_DEATH(log.TruncateFrom(1), "truncating what is committed");
  EXPECT_DEATH(log.SetApplied(1), "before it was given out");
}

}  // namespace
}  // namespace kvorum::raft
