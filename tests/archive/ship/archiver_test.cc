// The archiver as its owner has it: two threads over a store that may be away.
#include "archive/ship/archiver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "tests/archive/ship/archive_model.h"

namespace kvorum::archive {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ArchiverTest : public testing::Test {
 protected:
  ArchiverTest() {
    log_.Add(5, 1);
    member_.Apply();
    member_.Lead();
  }
  ~ArchiverTest() override { archiver_.Stop(); }
  // Waits for what threads do; a minute is an end, not a pace.
  static bool Eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }
  StoreResult<std::unique_ptr<ObjectStore>> Open() {
    if (is_away_) return StoreFail(StoreErrorKind::kDenied, "no such key");
    return std::make_unique<MemoryStore>(bucket_, [this](MemoryStore::Call, const std::string&) {
      return is_cut_ ? MemoryStore::Fault::kBefore : MemoryStore::Fault::kNot;
    });
  }
  bool IsArchivedUpTo(std::uint64_t index) const {
    return status_.values().archived.index == index &&
           status_.values().state == ShipState::kArchiving;
  }

  CommittedLog log_;
  Bucket bucket_;
  std::atomic<bool> is_away_ = false;
  std::atomic<bool> is_cut_ = false;
  StopSignal stop_;
  ArchiveStatus status_;
  FakeMember member_{log_, SystemClock()};
  Archiver archiver_{member_,
                     [this] { return Open(); },
                     SystemClock(),
                     stop_,
                     status_,
                     {.interval = milliseconds(5), .base_interval = milliseconds(50),
                      .keep_bases = 1}};
};

TEST_F(ArchiverTest, LogBasesAndRetentionFollowEachOther) {
  archiver_.Start();
  EXPECT_TRUE(Eventually([&] { return status_.bases.value() == 1; })) << "a base at once";
  EXPECT_EQ(status_.log_objects.value(), 0U);
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(status_.bases.value(), 1U) << "nothing was applied since";
  {
    const std::lock_guard lock(bucket_.mutex);
    log_.Add(5, 1);
  }
  member_.Apply();
  EXPECT_TRUE(Eventually([&] { return IsArchivedUpTo(10); }));
  EXPECT_TRUE(Eventually([&] { return status_.bases.value() == 2; }));
  EXPECT_TRUE(Eventually([&] { return status_.pruned_objects.value() == 2; }))
      << "the first base's manifest and part";
  EXPECT_TRUE(Eventually([&] { return status_.values().base.index == 10; }));
  archiver_.Stop();
  EXPECT_EQ(status_.failures.value(), 0U);
  const auto plan = MakePlan(ContentsOf(bucket_), std::nullopt, ToLatest{});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(Follow(bucket_, *plan, log_, 1'000)->last, 10U);
}

TEST_F(ArchiverTest, AStoreThatCannotBeOpenedIsAFailureUntilItCan) {
  is_away_ = true;
  archiver_.Start();
  EXPECT_TRUE(Eventually([&] { return status_.failures.value() >= 1; }));
  EXPECT_EQ(status_.values().state, ShipState::kFailing);
  EXPECT_EQ(status_.values().error, "no such key");
  is_away_ = false;
  EXPECT_TRUE(Eventually([&] { return IsArchivedUpTo(5); }));
  EXPECT_EQ(status_.values().error, "");
}

TEST_F(ArchiverTest, CallsAreTriedAgainAndCounted) {
  is_cut_ = true;
  archiver_.Start();
  EXPECT_TRUE(Eventually([&] { return status_.retries.value() >= 1; }));
  EXPECT_EQ(status_.values().state, ShipState::kFailing);
  is_cut_ = false;
  EXPECT_TRUE(Eventually([&] { return IsArchivedUpTo(5); }));
}

TEST_F(ArchiverTest, StopEndsAWaitAtOnce) {
  is_cut_ = true;
  archiver_.Start();
  EXPECT_TRUE(Eventually([&] { return status_.retries.value() >= 1; }));
  archiver_.Stop();
  archiver_.Stop();
  EXPECT_TRUE(stop_.stopped());
}

TEST(ArchiveStatusTest, EachStateHasAName) {
  EXPECT_STREQ(ShipStateName(ShipState::kStarting), "starting");
  EXPECT_STREQ(ShipStateName(ShipState::kFollowing), "following");
  EXPECT_STREQ(ShipStateName(ShipState::kArchiving), "archiving");
  EXPECT_STREQ(ShipStateName(ShipState::kFailing), "failing");
  EXPECT_STREQ(ShipStateName(ShipState::kRefused), "refused");
}

}  // namespace
}  // namespace kvorum::archive
