// The lessor's rules, one by one.
#include "lease/lessor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace kvorum::lease {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LessorTest : public testing::Test {
 protected:
  explicit LessorTest(const Lessor::Options& options = {}) : lessor_(options) {
    lessor_.Promote(now_, Duration::zero());
  }
  ~LessorTest() override { lessor_.CheckInvariants(); }

  void Advance(Duration duration) { now_ = now_ + duration; }
  Lessor::Granted Grant(LeaseId id, std::int64_t ttl_s) { return lessor_.Grant(id, ttl_s, now_); }
  Lessor::Renewal Renew(LeaseId id) { return lessor_.Renew(id, now_).outcome; }
  std::vector<LeaseId> Expired(std::size_t limit = 1000) {
    return lessor_.TakeExpired(now_, limit);
  }
  std::int64_t Left(LeaseId id) { return lessor_.TimeToLive(id, now_)->ttl_s; }

  TimePoint now_{1'000'000'000};
  Lessor lessor_;
};

class CheckpointTest : public LessorTest {
 protected:
  CheckpointTest() : LessorTest({.checkpoints = true, .checkpoint_interval = minutes(5)}) {}
};

using Renewal = Lessor::Renewal;

TEST_F(CheckpointTest, LeasesThatComeAndGoLeaveNoTrace) {
  Grant(1, 10'000);
  for (LeaseId id = 2; id < 20'000; ++id) {
    Grant(id, 10'000);
    lessor_.Revoke(id);
  }
  EXPECT_LT(lessor_.scheduled_checkpoints(), 1'100U);
  Grant(20'000, 10'000);
  Advance(minutes(5));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 10), SizeIs(2)) << "of the two that are left";
}

TEST_F(LessorTest, AGrantIsAtLeastTheMinimum) {
  for (const std::int64_t ttl_s : {std::int64_t{1}, std::int64_t{0}, std::int64_t{-7},
                                   std::numeric_limits<std::int64_t>::min()}) {
    const Lessor::Granted granted = Grant(100 + ttl_s % 10, ttl_s);
    ASSERT_FALSE(granted.refusal.has_value());
    EXPECT_EQ(granted.record.ttl_s, 2);
    lessor_.Revoke(granted.record.id);
  }
  EXPECT_EQ(Grant(1, 3).record, (LeaseRecord{.id = 1, .ttl_s = 3}));
}

TEST_F(LessorTest, AGrantIsAtMostTheMaximum) {
  EXPECT_EQ(Grant(1, kMaxTtlSeconds + 1).refusal, Lessor::Refusal::kTtlTooLarge);
  EXPECT_EQ(Grant(1, std::numeric_limits<std::int64_t>::max()).refusal,
            Lessor::Refusal::kTtlTooLarge);
  EXPECT_EQ(lessor_.table().size(), 0U);
  EXPECT_FALSE(Grant(1, kMaxTtlSeconds).refusal.has_value());
  EXPECT_EQ(Left(1), kMaxTtlSeconds);
}

TEST_F(LessorTest, TheLongestLeaseIsNoEarlierForAClockThatHasRunForYears) {
  now_ = TimePoint{std::int64_t{1} << 62};
  Grant(1, kMaxTtlSeconds);
  EXPECT_THAT(Expired(), IsEmpty());
  lessor_.Promote(now_, seconds(1));
  EXPECT_THAT(Expired(), IsEmpty());
}

TEST_F(LessorTest, AnIdIsGrantedOnce) {
  Grant(7, 10);
  EXPECT_EQ(Grant(7, 10).refusal, Lessor::Refusal::kExists);
  EXPECT_EQ(Grant(kNoLease, 10).refusal, Lessor::Refusal::kNoId);
  EXPECT_EQ(lessor_.table().size(), 1U);
}

TEST_F(LessorTest, ALeaseExpiresWhenItsTimeIsOverAndNotBefore) {
  Grant(1, 10);
  Advance(seconds(10) - Duration(1));
  EXPECT_THAT(Expired(), IsEmpty());
  Advance(Duration(1));
  EXPECT_THAT(Expired(), ElementsAre(1));
}

TEST_F(LessorTest, ARenewalGivesTheWholeTimeAnew) {
  Grant(1, 10);
  Advance(seconds(9));
  EXPECT_EQ(Renew(1), Renewal::kRenewed);
  EXPECT_EQ(lessor_.Renew(1, now_).ttl_s, 10);
  Advance(seconds(9));
  EXPECT_THAT(Expired(), IsEmpty());
  Advance(seconds(1));
  EXPECT_THAT(Expired(), ElementsAre(1));
}

TEST_F(LessorTest, NobodyRenewsWhatIsNotThere) { EXPECT_EQ(Renew(1), Renewal::kNotFound); }

TEST_F(LessorTest, AnExpiredLeaseIsNotRenewed) {
  Grant(1, 10);
  Advance(seconds(10));
  EXPECT_EQ(Renew(1), Renewal::kExpired);  // not collected yet
  Expired();
  EXPECT_EQ(Renew(1), Renewal::kExpired);  // its revocation is in flight
  lessor_.Revoke(1);
  EXPECT_EQ(Renew(1), Renewal::kNotFound);
}

TEST_F(LessorTest, ALeaseIsGivenOutAgainUntilItIsRevoked) {
  Grant(1, 10);
  Advance(seconds(10));
  EXPECT_THAT(Expired(), ElementsAre(1));
  EXPECT_THAT(Expired(), IsEmpty());
  Advance(seconds(7));
  EXPECT_THAT(Expired(), ElementsAre(1));
  lessor_.RetryExpired(1, now_ + milliseconds(100));
  EXPECT_THAT(Expired(), IsEmpty());
  Advance(milliseconds(100));
  EXPECT_THAT(Expired(), ElementsAre(1));
  lessor_.Revoke(1);
  Advance(seconds(100));
  EXPECT_THAT(Expired(), IsEmpty());
  lessor_.RetryExpired(1, now_);
  EXPECT_THAT(Expired(), IsEmpty());
}

TEST_F(LessorTest, ALeaseThatIsNotExpiredIsNotHurried) {
  Grant(1, 10);
  lessor_.RetryExpired(1, now_);
  EXPECT_THAT(Expired(), IsEmpty());
}

TEST_F(LessorTest, ExpiredLeasesComeTheEarliestFirstAndNoMoreThanAskedFor) {
  for (const LeaseId id : {5, 3, 4, 2}) Grant(id, id);
  Advance(seconds(4));
  EXPECT_THAT(Expired(2), ElementsAre(2, 3));
  EXPECT_THAT(Expired(2), ElementsAre(4));
}

TEST_F(LessorTest, OnlyThePrimaryExpiresAndRenews) {
  Grant(1, 10);
  lessor_.Demote();
  Grant(2, 10);
  Advance(seconds(1000));
  EXPECT_FALSE(lessor_.HasExpired(now_));
  EXPECT_THAT(Expired(), IsEmpty());
  EXPECT_EQ(Renew(1), Renewal::kNotPrimary);
  EXPECT_EQ(Renew(3), Renewal::kNotPrimary);
  EXPECT_TRUE(lessor_.Revoke(1));
  EXPECT_FALSE(lessor_.Revoke(1));
}

TEST_F(LessorTest, ANewPrimaryGivesAllTheirTimeAndTheExtension) {
  Grant(1, 10);
  Grant(2, 20);
  Advance(seconds(9));
  lessor_.Demote();
  lessor_.Promote(now_, seconds(1));
  EXPECT_EQ(Left(1), 11);
  EXPECT_EQ(Left(2), 21);
  Advance(seconds(11) - Duration(1));
  EXPECT_THAT(Expired(), IsEmpty());
  Advance(Duration(1));
  EXPECT_THAT(Expired(), ElementsAre(1));
}

TEST_F(LessorTest, WhatWasExpiredIsAliveUnderANewPrimary) {
  Grant(1, 10);
  Advance(seconds(10));
  Expired();
  lessor_.Demote();
  lessor_.Promote(now_, seconds(1));
  EXPECT_EQ(Renew(1), Renewal::kRenewed);
  lessor_.RetryExpired(1, now_);  // of the proposal before: it does not count any more
  EXPECT_THAT(Expired(), IsEmpty());
}

TEST_F(LessorTest, TimeToLiveIsInWholeSeconds) {
  Grant(1, 10);
  EXPECT_EQ(Left(1), 10);
  Advance(Duration(1));
  EXPECT_EQ(Left(1), 9);
  Advance(seconds(15));
  EXPECT_EQ(Left(1), 0);
  Expired();
  EXPECT_EQ(Left(1), 0);
  EXPECT_EQ(lessor_.TimeToLive(1, now_)->granted_s, 10);
  EXPECT_FALSE(lessor_.TimeToLive(2, now_).has_value());
}

TEST_F(LessorTest, TheListIsInOrderOfWhatIsLeft) {
  Grant(1, 30);
  Grant(2, 10);
  Grant(3, 20);
  const auto ids = [&] {
    std::vector<Lessor::Listed> listed;
    for (std::size_t part = 0; part < LeaseTable::kParts; ++part) lessor_.List(part, listed);
    std::ranges::sort(listed);
    std::vector<LeaseId> result;
    for (const Lessor::Listed& each : listed) result.push_back(each.id);
    return result;
  };
  EXPECT_THAT(ids(), ElementsAre(2, 3, 1));
  Renew(2);
  Advance(seconds(5));
  Renew(3);
  EXPECT_THAT(ids(), ElementsAre(2, 3, 1));
  lessor_.Demote();
  EXPECT_THAT(ids(), ElementsAre(1, 2, 3));  // unknown here
}

TEST_F(LessorTest, ARestoredLeaseIsNoShorterThanTheMinimum) {
  lessor_.Demote();
  LeaseTable table;
  table.Add({.id = 1, .ttl_s = 1});
  table.Add({.id = 2, .ttl_s = 5});
  table.Attach("k", 2);
  lessor_.Exchange(table);
  lessor_.Promote(now_, Duration::zero());
  EXPECT_EQ(lessor_.TimeToLive(1, now_)->granted_s, 2);
  EXPECT_EQ(lessor_.TimeToLive(2, now_)->granted_s, 5);
  EXPECT_THAT(LeaseTable::KeysOf(*lessor_.table().Find(2)), ElementsAre("k"));
}

// --- checkpoints -------------------------------------------------------------------------------

TEST_F(LessorTest, WithoutTheFeatureNothingIsCheckpointed) {
  Grant(1, 3600);
  Advance(minutes(30));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 10), IsEmpty());
}

TEST_F(CheckpointTest, ALongLeaseIsCheckpointedEachInterval) {
  Grant(1, 3600);
  Grant(2, 300);  // no longer than the interval
  Advance(minutes(5) - Duration(1));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 10), IsEmpty());
  Advance(Duration(1));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 10),
              ElementsAre(LeaseRecord{.id = 1, .ttl_s = 3600, .remaining_s = 3300}));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 10), IsEmpty());
  Advance(minutes(5));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 10),
              ElementsAre(LeaseRecord{.id = 1, .ttl_s = 3600, .remaining_s = 3000}));
}

TEST_F(CheckpointTest, AsManyAsAskedForTheOthersNextTime) {
  for (LeaseId id = 1; id <= 5; ++id) Grant(id, 3600);
  Advance(minutes(5));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 3), SizeIs(3));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 3), SizeIs(2));
}

TEST_F(CheckpointTest, WhatIsGoneIsNotCheckpointed) {
  Grant(1, 3600);
  lessor_.Revoke(1);
  Grant(2, 301);
  Advance(seconds(302));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 3), IsEmpty());
}

TEST_F(CheckpointTest, ANewPrimaryGoesOnFromTheCheckpoint) {
  Grant(1, 3600);
  EXPECT_EQ(lessor_.Checkpoint(1, 40), (LeaseRecord{.id = 1, .ttl_s = 3600, .remaining_s = 40}));
  EXPECT_EQ(Left(1), 3600);  // it says nothing to this primary
  lessor_.Demote();
  lessor_.Promote(now_, seconds(1));
  EXPECT_EQ(Left(1), 41);
  EXPECT_FALSE(lessor_.Checkpoint(2, 40).has_value());
}

TEST_F(CheckpointTest, ACheckpointMakesNoLeaseLonger) {
  Grant(1, 10);
  lessor_.Checkpoint(1, 4000);
  lessor_.Promote(now_, Duration::zero());
  EXPECT_EQ(Left(1), 10);
  lessor_.Checkpoint(1, -5);
  lessor_.Promote(now_, Duration::zero());
  EXPECT_EQ(Left(1), 10);
}

// etcd renews at once, and a new leader then counts on from a checkpoint that is older than the
// renewal.
TEST_F(CheckpointTest, ARenewalWaitsUntilTheCheckpointIsTakenBack) {
  Grant(1, 3600);
  lessor_.Checkpoint(1, 40);
  EXPECT_EQ(Renew(1), Renewal::kNeedsCheckpoint);
  lessor_.Checkpoint(1, 0);
  EXPECT_EQ(Renew(1), Renewal::kRenewed);
  lessor_.Promote(now_, Duration::zero());
  EXPECT_EQ(Left(1), 3600);
}

TEST_F(CheckpointTest, ARenewalWaitsForACheckpointThatIsOnItsWayToo) {
  Grant(1, 3600);
  Advance(minutes(5));
  ASSERT_THAT(lessor_.TakeCheckpoints(now_, 10), SizeIs(1));
  EXPECT_EQ(Renew(1), Renewal::kNeedsCheckpoint);
  const std::uint32_t pending = lessor_.PendingCheckpoint(1);
  EXPECT_NE(pending, 0U);
  lessor_.Checkpoint(1, 3300);
  EXPECT_EQ(Renew(1), Renewal::kNeedsCheckpoint);
  lessor_.Checkpoint(1, 0);
  lessor_.CheckpointTakenBack(1, pending);
  EXPECT_EQ(Renew(1), Renewal::kRenewed);
}

// A removal covers the checkpoints that were in the log before it; a later one must be removed too.
TEST_F(CheckpointTest, ARenewalWaitsForACheckpointBehindTheOneThatIsTakenBack) {
  Grant(1, 3600);
  Advance(minutes(5));
  ASSERT_THAT(lessor_.TakeCheckpoints(now_, 10), SizeIs(1));
  const std::uint32_t first = lessor_.PendingCheckpoint(1);
  Advance(minutes(5));
  ASSERT_THAT(lessor_.TakeCheckpoints(now_, 10), SizeIs(1));  // and nothing is applied yet
  const std::uint32_t second = lessor_.PendingCheckpoint(1);
  EXPECT_NE(first, second);
  lessor_.Checkpoint(1, 0);
  lessor_.CheckpointTakenBack(1, first);
  EXPECT_EQ(Renew(1), Renewal::kNeedsCheckpoint);
  lessor_.Checkpoint(1, 3000);
  lessor_.Checkpoint(1, 0);
  lessor_.CheckpointTakenBack(1, second);
  EXPECT_EQ(Renew(1), Renewal::kRenewed);
}

TEST_F(CheckpointTest, TakingBackIsNothingToALeaseThatIsGone) {
  EXPECT_EQ(lessor_.PendingCheckpoint(1), 0U);
  lessor_.CheckpointTakenBack(1, 1);
  EXPECT_EQ(Renew(1), Renewal::kNotFound);
}

TEST_F(CheckpointTest, ALeaseThatIsRenewedGoesOnBeingCheckpointed) {
  Grant(1, 3600);
  Advance(minutes(5));
  ASSERT_EQ(Renew(1), Renewal::kRenewed);
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 10), IsEmpty());  // all of its time is left
  Advance(minutes(5));
  EXPECT_THAT(lessor_.TakeCheckpoints(now_, 10),
              ElementsAre(LeaseRecord{.id = 1, .ttl_s = 3600, .remaining_s = 3300}));
}

}  // namespace
}  // namespace kvorum::lease
