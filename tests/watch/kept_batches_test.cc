#include "watch/kept_batches.h"

#include <gtest/gtest.h>

#include <iterator>

#include "tests/watch/small_batch.h"

namespace kvorum::watch {
namespace {

TEST(KeptBatchesTest, TheOldestGivesWayAtTheBound) {
  KeptBatches kept(3 * SmallBatch(2)->held_bytes());
  EXPECT_FALSE(kept.ReachBackTo(100));
  for (std::int64_t revision = 2; revision <= 6; ++revision) {
    kept.Add(SmallBatch(revision));
    kept.CheckInvariants(revision);
  }
  EXPECT_EQ(std::ranges::distance(kept.begin(), kept.end()), 3);
  EXPECT_FALSE(kept.ReachBackTo(3));
  EXPECT_TRUE(kept.ReachBackTo(4));
  EXPECT_TRUE(kept.ReachBackTo(7));
  kept.Clear();
  EXPECT_FALSE(kept.ReachBackTo(7));
  kept.Add(SmallBatch(9));
  kept.Add(SmallBatch(10));
  kept.Add(SmallBatch(11));
  EXPECT_TRUE(kept.ReachBackTo(9)) << "the bound begins anew";
}

TEST(KeptBatchesTest, OneAboveTheBoundIsNotKept) {
  KeptBatches kept(1);
  kept.Add(SmallBatch(2));
  EXPECT_EQ(kept.begin(), kept.end());
}

TEST(KeptBatchesTest, AGapIsABrokenInvariant) {
  KeptBatches kept(100'000);
  kept.Add(SmallBatch(2));
  EXPECT_DEATH(kept.CheckInvariants(3), "before the newest revision");
  kept.Add(SmallBatch(4));
  EXPECT_DEATH(kept.CheckInvariants(4), "a gap");
}

}  // namespace
}  // namespace kvorum::watch
