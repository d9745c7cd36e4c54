// The incremental hash of the history: it equals the sum of a walk over the backend, for any
// history, batches, compactions and restarts; and a backend that lost a record differs.
#include "mvcc/store/history_sum.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "mvcc/store/history_scan.h"
#include "tests/mvcc/store_fixture.h"
#include "tests/mvcc/store_random.h"

namespace kvorum::mvcc {
namespace {

using Outcome = HistorySum::Outcome;

Outcome Examine(StoreHarness& member, std::uint64_t records_a_step = 3) {
  HistoryScan scan(*member.store);
  while (true) {
    switch (Ok(scan.Step(records_a_step))) {
      case HistoryScan::Progress::kMore:
        break;
      case HistoryScan::Progress::kMustWait:  // for a compaction of this very executor
        return Outcome::kOvertaken;
      case HistoryScan::Progress::kDone:
        return member.store->history_sum().EndPass().outcome;
    }
  }
}

// By compacted revision and revision.
using Sums = std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t>;

Sums SumsOf(StoreHarness& member) {
  Sums sums;
  const auto history = member.store->history_sum().Newest(HistorySum::kMaxPoints);
  for (const auto& base : history.bases) {
    for (const auto& point : history.points)
      sums[{base.compact_revision, point.revision}] = base.sum + point.added;
  }
  return sums;
}

// A walk over all records that are durable, without the class under test.
std::uint64_t WalkedSum(StoreHarness& member) {
  std::uint64_t sum = 0;
  Ok(member.store->LookAtDurable([&](Snapshot& content) {
    return content.ScanRevisions({}, {.main = member.revision() + 1, .sub = 0},
                                 [&](const RevisionRecord& record) {
                                   sum += RecordHash(record);
                                   return true;
                                 });
  }));
  return sum;
}

class HistorySumTest : public StoreTest {};

TEST_F(HistorySumTest, OfARecordDependsOnEachOfItsParts) {
  const RevisionRecord record{.revision = {.main = 5, .sub = 1}, .value = "value"};
  const std::uint64_t hash = RecordHash(record);
  EXPECT_EQ(RecordHash(record), hash);
  EXPECT_NE(RecordHash({.revision = {.main = 6, .sub = 1}, .value = "value"}), hash);
  EXPECT_NE(RecordHash({.revision = {.main = 5, .sub = 2}, .value = "value"}), hash);
  EXPECT_NE(RecordHash({.revision = {.main = 5, .sub = 1}, .value = "valuf"}), hash);
  EXPECT_NE(RecordHash({.revision = {.main = 5, .sub = 1}, .value = "value", .tombstone = true}),
            hash);
}

TEST_F(HistorySumTest, IsUnknownUntilTheBackendWasReadOnce) {
  Put("a", "1");
  Settle();
  EXPECT_TRUE(store->history_sum().Newest(1).bases.empty());
  EXPECT_EQ(Examine(*this), Outcome::kFirst);
  EXPECT_EQ(SumsOf(*this), (Sums{{{-1, 1}, 0}, {{-1, 2}, WalkedSum(*this)}}));
  EXPECT_EQ(Examine(*this), Outcome::kEqual);
}

TEST_F(HistorySumTest, KeepsAPointAtEachMultipleOfItsInterval) {
  for (std::int64_t i = 0; i < 3 * HistorySum::kInterval; ++i) Put("k", std::to_string(i));
  Settle();
  // And at each of the last few, which here have one multiple among them.
  std::vector<std::int64_t> expected = {HistorySum::kInterval, 2 * HistorySum::kInterval};
  for (std::int64_t i = revision() - 31; i <= revision(); ++i) expected.push_back(i);
  std::vector<std::int64_t> kept;
  for (const auto& point : store->history_sum().Newest(HistorySum::kMaxPoints).points)
    kept.push_back(point.revision);
  EXPECT_EQ(kept, expected);
  const auto points = store->history_sum().Newest(2).points;
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].revision, revision());
}

// Once one of them applies an entry alone, from then on they never are at one revision.
TEST_F(HistorySumTest, MembersThatAreAtDifferentRevisionsHaveSomeInCommon) {
  StoreHarness other;
  for (StoreHarness* member : {static_cast<StoreHarness*>(this), &other}) {
    for (int i = 0; i < 50; ++i) member->Put("k", std::to_string(i));
    member->Settle();
    EXPECT_EQ(Examine(*member), Outcome::kFirst);
  }
  EXPECT_EQ(SumsOf(*this), SumsOf(other));
  Put("alone", "1");
  for (StoreHarness* member : {static_cast<StoreHarness*>(this), &other}) {
    member->Put("k", "more");
    member->Settle();
  }
  const Sums sums = SumsOf(*this);
  const Sums of_other = SumsOf(other);
  const auto newest = of_other.rbegin();
  ASSERT_TRUE(sums.contains(newest->first));
  EXPECT_NE(sums.at(newest->first), newest->second);
}

TEST(HistorySumPoints, AreAtMostThatMany) {
  HistorySum sum;
  sum.Begin(1, -1, true);
  RevisionRecord record{.revision = {.main = 1, .sub = 0}, .value = "v"};
  const std::int64_t end =
      static_cast<std::int64_t>(HistorySum::kMaxPoints) * HistorySum::kInterval + 600;
  for (std::int64_t revision = 2; revision <= end; ++revision) {
    record.revision.main = revision;
    WriteBatch batch;
    batch.appends.emplace_back(&record, 1);
    sum.Add(batch);
  }
  const auto points = sum.Newest(HistorySum::kMaxPoints).points;
  EXPECT_EQ(points.size(), HistorySum::kMaxPoints);
  EXPECT_EQ(points.back().revision, end);
}

// It deletes records that the pass has read, that it had yet to read, and that came after it began.
TEST_F(HistorySumTest, APassGoesOnBehindACompaction) {
  for (const std::int64_t compacted : {3, 7, 11, 19, 29, 39}) {
    StoreHarness member;
    for (int i = 0; i < 20; ++i) member.Put("k" + std::to_string(i % 3), "v");
    member.Settle();
    HistoryScan scan(*member.store);
    EXPECT_EQ(Ok(scan.Step(9)), HistoryScan::Progress::kMore);
    for (int i = 0; i < 20; ++i) member.Put("k" + std::to_string(i % 3), "w");
    member.Put("gone", "");
    member.Settle();
    member.Compact(compacted);
    Ok(scan.Step(9));
    member.Settle();
    while (Ok(scan.Step(9)) != HistoryScan::Progress::kDone) {
    }
    EXPECT_EQ(scan.records() < 20, compacted > 10) << "the compaction reads its part";
    EXPECT_EQ(member.store->history_sum().EndPass().outcome, Outcome::kFirst);
    EXPECT_EQ(SumsOf(member).at({compacted, member.revision()}), WalkedSum(member));
    EXPECT_EQ(Examine(member), Outcome::kEqual) << "compacted " << compacted;
  }
}

// One compaction follows the other without a gap. What they read the pass does not, and the
// reverse.
TEST_F(HistorySumTest, APassEndsThoughTheStoreIsAlwaysCompacting) {
  const auto read = [](HistoryScan& scan) {
    while (true) {
      const auto progress = Ok(scan.Step(9));
      if (progress != HistoryScan::Progress::kMore) return progress;
    }
  };
  for (int i = 0; i < 30; ++i) Put("k" + std::to_string(i % 3), "v");
  Settle();
  Compact(5);
  HistoryScan scan(*store);
  EXPECT_EQ(read(scan), HistoryScan::Progress::kMustWait) << "it has not begun";
  EXPECT_EQ(scan.records(), 0u);
  Settle();
  Put("k", "more");
  Settle();
  Compact(20);
  EXPECT_EQ(read(scan), HistoryScan::Progress::kMustWait);
  EXPECT_EQ(scan.records(), 11u) << "those from revision 21 on";
  EXPECT_EQ(store->history_sum().EndPass().outcome, Outcome::kOvertaken);
  Settle();
  Compact(revision());
  EXPECT_EQ(read(scan), HistoryScan::Progress::kDone);
  EXPECT_EQ(scan.records(), 11u);
  const auto [outcome, read_to] = store->history_sum().EndPass();
  EXPECT_EQ(outcome, Outcome::kFirst);
  EXPECT_EQ(read_to, 31);
  Settle();
  EXPECT_EQ(SumsOf(*this).at({revision(), revision()}), WalkedSum(*this));
  EXPECT_EQ(Examine(*this), Outcome::kEqual);
}

TEST_F(HistorySumTest, APassIsOvertakenByAnotherContent) {
  Put("a", "1");
  Settle();
  HistoryScan scan(*store);
  EXPECT_EQ(Ok(scan.Step(9)), HistoryScan::Progress::kMore);
  store->history_sum().Begin(1, -1, true);
  while (Ok(scan.Step(9)) != HistoryScan::Progress::kDone) {
  }
  EXPECT_EQ(store->history_sum().EndPass().outcome, Outcome::kOvertaken);
}

// The compaction begins after the step has looked for one, and has ended before the step does.
TEST_F(HistorySumTest, AStepThatACompactionHasOvertakenDoesNotCount) {
  for (int i = 0; i < 5; ++i) Put("k", "v");
  Settle();
  HistorySum& sum = store->history_sum();
  sum.BeginPass();
  const auto step = sum.BeginStep();
  Compact(3);
  Settle();
  EXPECT_FALSE(sum.EndStep(*step, {.main = 5, .sub = 0}, 77));
  EXPECT_EQ(sum.BeginStep()->unread.from, (Revision{.main = 4, .sub = 0}));
  EXPECT_EQ(Examine(*this), Outcome::kFirst);
  EXPECT_EQ(SumsOf(*this).at({3, revision()}), WalkedSum(*this));
}

TEST_F(HistorySumTest, ALostRecordIsFound) {
  for (int i = 0; i < 20; ++i) Put("k" + std::to_string(i), "v");
  Settle();
  EXPECT_EQ(Examine(*this), Outcome::kFirst);
  WriteBatch loss;
  loss.deletions = {{.main = 7, .sub = 0}};
  Ok(backend->Commit(loss));
  EXPECT_EQ(Examine(*this), Outcome::kDiffers);
}

// After a restart its own walk sees nothing wrong, but the other members' sums do.
TEST_F(HistorySumTest, ARecordLostWhileTheMemberWasDownShowsBesideTheOthers) {
  StoreHarness other;
  for (StoreHarness* member : {static_cast<StoreHarness*>(this), &other}) {
    for (int i = 0; i < 20; ++i) member->Put("k" + std::to_string(i), "v");
    member->Settle();
  }
  WriteBatch loss;
  loss.deletions = {{.main = 7, .sub = 0}};
  Ok(backend->Commit(loss));
  Reopen();
  EXPECT_EQ(Examine(*this), Outcome::kFirst);
  EXPECT_EQ(Examine(other), Outcome::kFirst);
  EXPECT_NE(SumsOf(*this), SumsOf(other));
}

// One step of a pass that goes on over many requests.
void StepOn(StoreHarness& member, std::unique_ptr<HistoryScan>& scan) {
  if (scan == nullptr) scan = std::make_unique<HistoryScan>(*member.store);
  if (Ok(scan->Step(3)) != HistoryScan::Progress::kDone) return;
  const Outcome outcome = member.store->history_sum().EndPass().outcome;
  ASSERT_TRUE(outcome == Outcome::kFirst || outcome == Outcome::kEqual);
  scan.reset();
}

// Two members apply the same entries; one of them commits, restarts and examines when it likes.
TEST_F(HistorySumTest, IsTheSameOnAllMembersWhateverTheHistory) {
  Rng rng(20'261'123);
  for (std::uint64_t history = 0; history < 60; ++history) {
    StoreHarness one;
    StoreHarness two;
    std::unique_ptr<HistoryScan> scan;  // of the first
    std::uint64_t compared = 0;
    for (int i = 0; i < 150; ++i) {
      const std::uint64_t dice = rng.Below(20);
      const std::uint64_t seed = rng.Below(1U << 30);
      for (StoreHarness* member : {&one, &two}) {
        RandomRequests requests(seed, member->revision());
        if (dice < 12) {
          static_cast<void>(member->TryPut(requests.Put()));
        } else if (dice < 15) {
          member->Delete(requests.Delete());
        } else if (dice < 19) {
          static_cast<void>(member->TryTxn(requests.Txn()));
        } else {
          static_cast<void>(member->TryCompact(member->revision() - 2));
        }
      }
      if (rng.OneIn(4)) two.Settle();
      if (rng.OneIn(4)) one.Settle();
      if (rng.OneIn(2)) StepOn(one, scan);
      if (!rng.OneIn(15)) continue;
      one.Settle();
      two.Settle();
      if (rng.OneIn(3)) two.Reopen();
      two.Settle();
      scan.reset();
      ASSERT_NE(Examine(one), Outcome::kDiffers);
      ASSERT_NE(Examine(two), Outcome::kDiffers);
      const Sums sums = SumsOf(one);
      const Sums others = SumsOf(two);
      const auto newest =
          std::pair(std::max<std::int64_t>(one.store->compact_revision(), -1), one.revision());
      ASSERT_TRUE(sums.contains(newest));
      ASSERT_EQ(sums.at(newest), WalkedSum(one));
      for (const auto& [place, sum] : sums) {
        if (!others.contains(place)) continue;
        ASSERT_EQ(others.at(place), sum) << "compacted " << place.first << ", at " << place.second;
        ++compared;
      }
    }
    EXPECT_GT(compared, 0u);
  }
}

}  // namespace
}  // namespace kvorum::mvcc
