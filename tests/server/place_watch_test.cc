// A place and the next older one, watched until one of them goes.
#include "server/locks/place_watch.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/server/queue_fixture.h"

namespace kvorum::server {
namespace {

class PlaceWatchTest : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    for (const char* key : {"older", "between", "own"}) Put(key, "v");
  }
  void TearDown() override {
    watch_.Close();
    Settle();
  }

  void Follow(std::string_view older) {
    if (!watch_.is_open()) {
      watch_.Open(served_.watches().shard(0), [this](const LocalWatch::News& news) {
        older_is_gone_ = watch_.Take(news);
        ++news_;
      });
    }
    const std::int64_t now = served_.store().revision();
    watch_.Follow({.key = "own", .revision = now}, {.key = older, .revision = now});
    Settle();
  }

  PlaceWatch watch_;
  bool older_is_gone_ = false;
  int news_ = 0;
};

TEST_F(PlaceWatchTest, TheOlderPlaceGoes) {
  Follow("older");
  EXPECT_TRUE(watch_.sees_own());
  Put("older", "changed");
  Delete("between");
  Settle();
  EXPECT_EQ(news_, 0);
  Delete("older");
  Settle();
  EXPECT_TRUE(older_is_gone_);
  EXPECT_FALSE(watch_.own_is_gone());
}

TEST_F(PlaceWatchTest, TheOwnPlaceGoes) {
  Follow("older");
  Delete("own");
  Settle();
  EXPECT_TRUE(watch_.own_is_gone());
  EXPECT_FALSE(older_is_gone_);
  Delete("older");
  Settle();
  EXPECT_TRUE(watch_.own_is_gone()) << "later news do not hide it";
}

TEST_F(PlaceWatchTest, OnlyTheLatestOlderPlaceCounts) {
  Follow("older");
  Follow("between");
  EXPECT_EQ(Watchers(), 2U);
  Delete("older");
  Settle();
  EXPECT_FALSE(older_is_gone_);
  Delete("between");
  Settle();
  EXPECT_TRUE(older_is_gone_);
}

TEST_F(PlaceWatchTest, AnOwnPlaceWatchedTooLateIsNotSeen) {
  const std::int64_t before = served_.store().revision();
  Put("other", "1");
  Put("other", "2");
  ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Compact", CompactBody(served_.store().revision())));
  watch_.Open(served_.watches().shard(0),
              [this](const LocalWatch::News& news) { older_is_gone_ = watch_.Take(news); });
  watch_.Follow({.key = "own", .revision = before - 1},
                {.key = "older", .revision = served_.store().revision()});
  Settle();
  EXPECT_FALSE(watch_.sees_own());
  EXPECT_FALSE(watch_.own_is_gone());
  EXPECT_FALSE(older_is_gone_);
  Follow("older");
  EXPECT_TRUE(watch_.sees_own());
}

}  // namespace
}  // namespace kvorum::server
