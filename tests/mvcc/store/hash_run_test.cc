// HashKV in pieces: the same number as over one view, also under writes, and no page is
// kept for it.
#include "mvcc/store/hash_run.h"

#include <memory>
#include <optional>
#include <string>

#include "base/rng.h"
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

KvHash AtOnce(Store& store, std::int64_t revision) { return Ok(Ok(store.Read()).HashKv(revision)); }

void ExpectSame(const KvHash& hash, const KvHash& expected) {
  EXPECT_EQ(hash.hash, expected.hash);
  EXPECT_EQ(hash.revision, expected.revision);
  EXPECT_EQ(hash.compact_revision, expected.compact_revision);
  EXPECT_EQ(hash.other_hash, expected.other_hash);
}

class HashRunTest : public StoreTest {
 protected:
  void SetUp() override {
    options.compaction.batch_limit = 2;
    options.compaction.index_step = 2;
    Reopen();
    for (int i = 0; i < 20; ++i) Put(std::to_string(i % 7), std::to_string(i));
    Settle();
  }
  HashRun Begin(std::int64_t revision, HashRun::Overtaken overtaken = HashRun::Overtaken::kEnds) {
    return Ok(HashRun::Begin(*store, revision, {.overtaken = overtaken, .piece_records = 1}));
  }
  void Write(Rng& rng) {
    const std::string key = std::to_string(rng.Below(9));
    if (rng.OneIn(3)) {
      Delete(key);
    } else {
      Put(key, std::to_string(rng.Below(1000)));
    }
  }
};

TEST_F(HashRunTest, RefusesWhatHashKvRefuses) {
  Compact(5);
  EXPECT_TRUE(FailsWith(HashRun::Begin(*store, 4, {}), kErrCompacted));
  EXPECT_TRUE(FailsWith(HashRun::Begin(*store, revision() + 1, {}), kErrFutureRev));
}

TEST_F(HashRunTest, EqualsTheHashOfOneViewWhateverGoesOnMeanwhile) {
  Rng rng(33);
  int ended = 0;
  int overtaken = 0;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 10; ++i) Write(rng);
    if (rng.OneIn(2)) Settle();
    std::int64_t at = 0;
    if (rng.OneIn(2)) {
      const std::int64_t oldest = std::max<std::int64_t>(store->compact_revision(), 1);
      at = oldest + static_cast<std::int64_t>(
                        rng.Below(static_cast<std::uint64_t>(revision() - oldest + 1)));
    }
    const KvHash expected = AtOnce(*store, at);
    HashRun run =
        Begin(at, rng.OneIn(2) ? HashRun::Overtaken::kEnds : HashRun::Overtaken::kKeepsView);
    const std::int64_t compacted = store->compact_revision();
    Result<bool> is_done = false;
    while (is_done.has_value() && !*is_done) {
      if (rng.OneIn(4)) Write(rng);
      const std::int64_t compacted_next = revision() - (rng.OneIn(2) ? 1 : 0);
      if (rng.OneIn(30) && compacted_next > store->compact_revision()) Compact(compacted_next);
      for (std::uint64_t tasks = rng.Below(6); tasks > 0; --tasks) {
        executors->RunOneOf(rng);
        executors->clock.Advance(std::chrono::milliseconds(1));
      }
      is_done = run.Step();
    }
    const bool was_overtaken = store->compact_revision() != compacted;
    overtaken += was_overtaken;
    if (is_done.has_value()) {
      ExpectSame(run.Finish(), expected);
    } else {
      ++ended;
      ASSERT_TRUE(FailsWith(is_done, kReaderMustEnd)) << round;
      ASSERT_TRUE(was_overtaken) << round;
    }
    ASSERT_FALSE(HasFailure()) << round;
  }
  EXPECT_GT(ended, 10);
  EXPECT_GT(overtaken, ended + 10);
}

TEST_F(HashRunTest, EndsWhenACompactionOvertakesIt) {
  HashRun run = Begin(0);
  EXPECT_FALSE(Ok(run.Step()));
  Compact(10);
  EXPECT_TRUE(FailsWith(run.Step(), kReaderMustEnd));
  ExpectSame(Ok(store->HashKv(0)), AtOnce(*store, 0));
}

// The next run could not answer: the revision is compacted.
TEST_F(HashRunTest, GoesOnForARevisionThatIsCompactedMeanwhile) {
  const KvHash expected = AtOnce(*store, 9);
  HashRun run = Begin(9);
  EXPECT_FALSE(Ok(run.Step()));
  Compact(10);
  Settle();
  EXPECT_TRUE(FailsWith(store->HashKv(9), kErrCompacted));
  while (!Ok(run.Step())) {
  }
  ExpectSame(run.Finish(), expected);
}

TEST_F(HashRunTest, GoesOnIfItIsPastTheCompaction) {
  const KvHash expected = AtOnce(*store, 0);
  HashRun run = Begin(0);
  for (int i = 0; i < 12; ++i) EXPECT_FALSE(Ok(run.Step()));
  Compact(10);
  Settle();
  while (!Ok(run.Step())) {
  }
  ExpectSame(run.Finish(), expected);
}

// A compaction deletes what every key had before, a run reads on, and puts go on: they use the
// pages that the compaction frees.
TEST(HashRunOverLmdb, LeavesNoPagesBehindThatTheFileGrowsBy) {
  StoreHarness t(StoreHarness::Kind::kLmdb);
  t.options.compaction.batch_limit = 500;
  t.Reopen();
  const std::string value(1000, 'v');
  constexpr int kKeys = 5000;
  constexpr int kVersions = 4;
  constexpr int kPutsAPiece = 100;
  for (int i = 0; i < kKeys * kVersions; ++i) t.Put("key" + std::to_string(i % kKeys), value);
  t.Settle();
  t.Compact(t.revision());
  const KvHash expected = AtOnce(*t.store, t.revision());
  const std::uint64_t before = t.backend->SizeBytes();
  HashRun run = Ok(HashRun::Begin(*t.store, t.revision(), {.piece_records = 50}));
  int pieces = 0;
  while (!Ok(run.Step())) {
    ++pieces;
    t.executors->RunReady();
    for (int i = 0; i < kPutsAPiece; ++i) t.Put("key" + std::to_string(i), value);
    t.executors->clock.Advance(std::chrono::milliseconds(100));
    t.executors->RunReady();
  }
  ExpectSame(run.Finish(), expected);
  const std::uint64_t written = static_cast<std::uint64_t>(pieces) * kPutsAPiece * value.size();
  ASSERT_GT(written, before / 4);
  EXPECT_LT(t.backend->SizeBytes(), before + written / 4);
}

}  // namespace
}  // namespace kvorum::mvcc
