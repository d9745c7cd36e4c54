#include "watch/feed_box.h"

#include <gtest/gtest.h>

#include "tests/watch/small_batch.h"

namespace kvorum::watch {
namespace {

TEST(FeedBoxTest, WakesTheShardOnceUntilItTakes) {
  FeedBox box(100, 100'000);
  EXPECT_TRUE(box.Put(SmallBatch(2), 2));
  EXPECT_FALSE(box.Put(SmallBatch(3), 3));
  const auto feeds = box.Take();
  ASSERT_EQ(feeds.size(), 2);
  EXPECT_EQ(feeds[0].batch->first_revision(), 2);
  EXPECT_EQ(feeds[1].revision, 3);
  EXPECT_TRUE(box.Take().empty());
  EXPECT_TRUE(box.Put(SmallBatch(4), 4));
}

TEST(FeedBoxTest, BatchesPastABoundGiveWayToTheRevision) {
  const std::size_t batch_bytes = SmallBatch(2)->held_bytes();
  for (FeedBox box : {FeedBox(3, 100'000), FeedBox(100, 2 * batch_bytes + 1)}) {
    for (std::int64_t revision = 2; revision <= 4; ++revision)
      box.Put(SmallBatch(revision), revision);
    box.Put(SmallBatch(5), 5);
    box.Put(SmallBatch(6), 6);
    const auto feeds = box.Take();
    ASSERT_EQ(feeds.size(), 2);
    EXPECT_EQ(feeds[0].batch, nullptr);
    EXPECT_EQ(feeds[0].revision, 5);
    EXPECT_EQ(feeds[1].batch->first_revision(), 6);
    for (std::int64_t revision = 7; revision <= 9; ++revision)
      box.Put(SmallBatch(revision), revision);
    EXPECT_EQ(box.Take().size(), 3) << "the bounds begin anew";
  }
}

TEST(FeedBoxTest, AClearedBoxWakesNobodyAgain) {
  FeedBox box(1, 1);
  EXPECT_TRUE(box.Put(nullptr, 2));
  box.Clear();
  EXPECT_FALSE(box.Put(SmallBatch(3), 3)) << "the wake-up is still under way";
  EXPECT_EQ(box.Take().size(), 1);
}

}  // namespace
}  // namespace kvorum::watch
