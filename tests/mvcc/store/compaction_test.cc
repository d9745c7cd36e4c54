// Compaction: its refusals, the revisions it drops and keeps, its resumption after a crash.
#include "mvcc/store/compaction.h"

#include <cstdint>
#include <numeric>
#include <string>

#include "tests/disk/memory_backend.h"
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

using testing::ElementsAre;

class CompactionTest : public StoreTest {
 protected:
  // The records of the key bucket on disk: "2.0", "3.1t".
  std::vector<std::string> Records() {
    std::vector<std::string> records;
    const std::unique_ptr<Backend> backend = OpenBackendCopy();
    const Reader reader = Ok(backend->NewReader());
    Ok(reader->ScanRevisions({}, {.main = INT64_MAX, .sub = 0}, [&](const RevisionRecord& record) {
      records.push_back(std::to_string(record.revision.main) + "." +
                        std::to_string(record.revision.sub) + (record.tombstone ? "t" : ""));
      return true;
    }));
    return records;
  }
  std::unique_ptr<Backend> OpenBackendCopy() {
    Rng rng(1);
    image_ = files.CrashImage(SimFileSystem::Keep::kAll, rng);
    return Ok(OpenMemoryBackend(*image_, "/data/db"));
  }

 private:
  std::unique_ptr<SimFileSystem> image_;
};

TEST_F(CompactionTest, RefusesTheFutureAndTheCompactedPast) {
  Put("a", "1");
  EXPECT_TRUE(FailsWith(TryCompact(3), kErrFutureRev));
  Compact(2);
  EXPECT_TRUE(FailsWith(TryCompact(2), kErrCompacted));
  EXPECT_TRUE(FailsWith(TryCompact(1), kErrCompacted));
}

TEST_F(CompactionTest, AFreshStoreTakesZeroButNothingBelow) {
  EXPECT_TRUE(FailsWith(TryCompact(-1), kErrCompacted));
  Compact(0);
  EXPECT_EQ(store->compact_revision(), 0);
  EXPECT_TRUE(FailsWith(TryCompact(0), kErrCompacted));
  Compact(1);
  Settle();
  EXPECT_EQ(compactions_finished, 4);
}

TEST_F(CompactionTest, TakesEffectAtOnce) {
  Put("a", "1");
  Put("a", "2");
  Compact(3);
  EXPECT_EQ(store->compact_revision(), 3);
  EXPECT_TRUE(FailsWith(TryRange(GetAt(2, "a")), kErrCompacted));
  EXPECT_EQ(compactions_finished, 0);
}

TEST_F(CompactionTest, IsSeenByLaterEntriesOfItsBatch) {
  Put("a", "1");
  Put("a", "2");
  Ok(store->Compact(3, nullptr));
  {
    WriteTxn txn = store->Begin();
    EXPECT_TRUE(FailsWith(txn.ExecuteTxn(mvcc::Txn(List(GetAt(2, "a")))), kErrCompacted));
  }
  EXPECT_EQ(store->compact_revision(), -1);
  EXPECT_THAT(Rows(GetAt(2, "a")), ElementsAre("a=1 c2 m2 v1"));
  Publish();
  EXPECT_EQ(store->compact_revision(), 3);
}

TEST_F(CompactionTest, KeepsTheNewestOfEachKey) {
  Put("a", "1");
  Put("a", "2");
  Put("b", "1");
  Put("a", "3");
  Compact(4);
  Settle();
  EXPECT_THAT(Records(), ElementsAre("3.0", "4.0", "5.0"));
  EXPECT_THAT(Rows(GetAt(4, "a")), ElementsAre("a=2 c2 m3 v2"));
  EXPECT_THAT(Rows(Get("a")), ElementsAre("a=3 c2 m5 v3"));
}

TEST_F(CompactionTest, DropsDeletedKeysButATombstoneAtTheRevision) {
  Put("a", "1");
  Delete("a");
  Put("b", "1");
  Delete("b");
  Compact(5);
  Settle();
  EXPECT_THAT(Records(), ElementsAre("5.0t"));
  Put("c", "1");
  Compact(6);
  Settle();
  EXPECT_THAT(Records(), ElementsAre("6.0"));
  EXPECT_EQ(store->live_keys(), 1);
}

TEST_F(CompactionTest, ForgetsAlsoWhatStillWaitedToBecomeDurable) {
  for (int i = 0; i < 10; ++i) Put("a", std::to_string(i));
  Compact(11);
  Settle();
  EXPECT_THAT(Records(), ElementsAre("11.0"));
}

TEST_F(CompactionTest, TellsWhenItIsDone) {
  Put("a", "1");
  Put("a", "2");
  Compact(3);
  EXPECT_EQ(compactions_finished, 0);
  Settle();
  EXPECT_EQ(compactions_finished, 1);
  EXPECT_EQ(store->counters().compacted_records, 1U);
}

TEST_F(CompactionTest, ARefusedOneWaitsForThoseBefore) {
  Put("a", "1");
  Put("a", "2");
  Compact(3);
  EXPECT_TRUE(FailsWith(TryCompact(2), kErrCompacted));
  EXPECT_EQ(compactions_finished, 0);
  Settle();
  EXPECT_EQ(compactions_finished, 2);
  EXPECT_TRUE(FailsWith(TryCompact(2), kErrCompacted));
  EXPECT_EQ(compactions_finished, 2);
  Settle();
  EXPECT_EQ(compactions_finished, 3);
}

TEST_F(CompactionTest, RunsOneAfterTheOther) {
  for (int i = 0; i < 10; ++i) Put("a", std::to_string(i));
  Compact(4);
  Compact(7);
  Compact(10);
  Settle();
  EXPECT_EQ(compactions_finished, 3);
  EXPECT_THAT(Records(), ElementsAre("10.0", "11.0"));
}

// However many are asked for while one runs, they are one more.
TEST_F(CompactionTest, OneRunsAndOneWaits) {
  for (int i = 0; i < 100; ++i) Put("a", std::to_string(i));
  const auto compactions = [&] {
    const auto counts = store->metrics().compaction.values().counts;
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  const auto before = compactions();
  for (std::int64_t at = 2; at <= 100; ++at) {
    Compact(at);
    store->CheckInvariants();
  }
  EXPECT_TRUE(FailsWith(TryRange(GetAt(99, "a")), kErrCompacted));
  Settle();
  EXPECT_EQ(compactions() - before, 2U);
  EXPECT_EQ(compactions_finished, 99);
  EXPECT_THAT(Records(), ElementsAre("100.0", "101.0"));
  Reopen();
  Settle();
  EXPECT_EQ(store->compact_revision(), 100);
  EXPECT_EQ(compactions(), 0U) << "nothing was left to be resumed";
}

TEST_F(CompactionTest, WorksInBatchesWithWritesInBetween) {
  options.compaction.batch_limit = 7;
  options.compaction.index_step = 5;
  Reopen();
  for (int i = 0; i < 300; ++i) Put(std::to_string(i % 40), std::to_string(i));
  Compact(revision());
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    for (int tasks = 0; tasks < 3; ++tasks) executors->RunOneOf(rng);
    executors->clock.Advance(std::chrono::milliseconds(3));
    Put(std::to_string(i % 40), "later");
    ASSERT_EQ(Range(GetAll()).rows.size(), 40U);
    store->CheckInvariants();
  }
  Settle();
  EXPECT_EQ(compactions_finished, 1);
  EXPECT_EQ(Records().size(), 240U);
}

// Each may have to come from the disk, while no commit goes on.
TEST_F(CompactionTest, LargeValuesAreSeenInBatchesOfFewBytes) {
  options.compaction.batch_bytes = 25'000;
  Reopen();
  for (int i = 0; i < 30; ++i) Put("a", std::string(10'000, 'v'));
  const auto batches = [&] {
    const auto counts = store->metrics().compaction_pause.values().counts;
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  const auto before = batches();
  Compact(revision());
  Settle();
  EXPECT_EQ(compactions_finished, 1);
  EXPECT_EQ(Records().size(), 1U);
  EXPECT_EQ(batches() - before, 10U) << "of three values each";
}

TEST_F(CompactionTest, ALargeOneHasLargerBatchesUnlessTheirSizeIsGiven) {
  EXPECT_EQ(CompactionOptions{}.BatchLimit(1), 1'000U);
  EXPECT_EQ(CompactionOptions{}.BatchLimit(500'000), 1'000U);
  EXPECT_EQ(CompactionOptions{}.BatchLimit(2'000'000), 4'000U);
  EXPECT_EQ(CompactionOptions{}.BatchLimit(1'000'000'000), 10'000U);
  EXPECT_EQ(CompactionOptions{.batch_limit = 7}.BatchLimit(2'000'000), 7U);
}

TEST_F(CompactionTest, SurvivesAStart) {
  Put("a", "1");
  Put("a", "2");
  Compact(3);
  Settle();
  Reopen();
  EXPECT_EQ(store->compact_revision(), 3);
  EXPECT_TRUE(FailsWith(TryRange(GetAt(2, "a")), kErrCompacted));
}

TEST_F(CompactionTest, GoesOnAfterACrash) {
  for (int i = 0; i < 10; ++i) Put("a", std::to_string(i));
  Settle();
  Compact(11);
  executors->RunReady();  // the mark is in the buffer, nothing more
  bool flushed = false;
  store->Flush([&] { flushed = true; });
  executors->RunReady();
  ASSERT_TRUE(flushed);
  Reopen();
  EXPECT_EQ(store->compact_revision(), 11);
  Settle();
  EXPECT_THAT(Records(), ElementsAre("11.0"));
}

// etcd issue 17780
TEST_F(CompactionTest, TheRevisionDoesNotGoBackWhenTheNewestRecordsAreGone) {
  options.compaction.batch_limit = 1;
  Reopen();
  Put("a", "1");
  Put("b", "1");
  Delete("a");
  Delete("b");
  Compact(4);
  Settle();
  ASSERT_THAT(Records(), ElementsAre("3.0", "4.0t", "5.0t"));
  Compact(5);
  Settle();
  ASSERT_THAT(Records(), ElementsAre("5.0t"));
  Reopen();
  EXPECT_EQ(revision(), 5);
  EXPECT_EQ(Put("c", "1").revision, 6);
}

TEST_F(CompactionTest, AViewFromBeforeKeepsWhatItSaw) {
  for (int i = 0; i < 5; ++i) Put("a", std::to_string(i));
  Settle();
  ReadView view = Ok(store->Read());
  Compact(6);
  Settle();
  EXPECT_THAT(Show(Ok(view.Range(GetAt(2, "a"))).rows), ElementsAre("a=0 c2 m2 v1"));
  EXPECT_EQ(Ok(view.HashKv(3)).compact_revision, -1);
}

TEST_F(CompactionTest, FreesTheIndex) {
  for (int i = 0; i < 5000; ++i) Put(std::to_string(i % 10), "");
  Settle();
  const std::size_t before = store->index_stats().bytes_in_use;
  Compact(revision());
  Settle();
  EXPECT_LT(store->index_stats().bytes_in_use, before / 4);
  EXPECT_EQ(store->index_stats().retired_objects, 0U);
}

TEST_F(CompactionTest, DefragmentGoesOnBesideIt) {
  for (int i = 0; i < 200; ++i) Put(std::to_string(i % 10), std::string(500, 'v'));
  Compact(revision());
  int defragmented = 0;
  store->Defragment([&](const Result<void>& result) {
    Ok(result);
    ++defragmented;
  });
  Settle();
  store->Defragment([&](const Result<void>& result) {
    Ok(result);
    ++defragmented;
  });
  Settle();
  EXPECT_EQ(defragmented, 2);
  EXPECT_EQ(Range(GetAll()).count, 10);
  Reopen();
  EXPECT_EQ(Range(GetAll()).count, 10);
}

}  // namespace
}  // namespace kvorum::mvcc
