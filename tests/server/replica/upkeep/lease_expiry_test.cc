// The leader's handling of leases, with the rest of the member played by the test: the leader, its
// confirmation, and the outcome of each proposal.
#include "server/replica/upkeep/lease_expiry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "auth/permission.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "server/replica/drive/request_id.h"
#include "server/state/alarms.h"
#include "server/state/leases.h"
#include "server/state/raft_status.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/manual_executor.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr raft::MemberId kOwnId = 1;

class LeaseExpiryTest : public ::testing::Test {
 protected:
  LeaseExpiryTest() {
    SetLogLevel(LogLevel::kError);
    clock_.Advance(seconds(1000));
    expiry_.Start();
    Run();
  }
  ~LeaseExpiryTest() override { expiry_.Stop(), Run(); }

  void Run() {
    while (apply_.RunOne()) {
    }
  }
  // Time passes in steps of the expiry's tick.
  void Wait(Duration time) {
    for (Duration passed{}; passed < time; passed += milliseconds(100)) {
      clock_.Advance(milliseconds(100));
      Run();
    }
  }
  // Sets Raft's leading term and the term of the last applied entry.
  void Lead(raft::Term term, raft::Term applied_term) {
    status_.Publish({.term = term, .leader = kOwnId, .is_leading = true});
    applied_term_ = applied_term;
    expiry_.LeadershipChanged();
    Run();
  }
  void Lead(raft::Term term) { Lead(term, term); }
  void Follow(raft::Term term) {
    status_.Publish({.term = term, .leader = 2});
    expiry_.LeadershipChanged();
    Run();
  }
  void Grant(lease::LeaseId id, std::int64_t ttl_s) {
    ASSERT_TRUE(leases_.Grant(id, ttl_s).has_value());
  }
  // A quorum confirms, or does not confirm, all pending requests.
  void Confirm(const Result<void>& answer = {}) {
    for (ReadTask& task : std::exchange(asked_, {})) task(answer);
    Run();
  }
  // The leases whose revocation is proposed; each proposal is checked.
  std::vector<lease::LeaseId> Revocations() {
    std::vector<lease::LeaseId> ids;
    for (const Proposal& proposal : proposed_) {
      const auto request = DecodeInternalRequest(proposal.data.view());
      EXPECT_EQ(request->kind, RequestKind::kLeaseRevoke);
      EXPECT_EQ(request->user, auth::kRootUser);
      EXPECT_EQ(request->id, proposal.id);
      EXPECT_EQ(proposal.only_in_term, leases_.primary_term());
      EXPECT_EQ(proposal.deadline, clock_.Now() + seconds(7));
      ids.push_back(DecodeLeaseId(request->body).value());
    }
    return ids;
  }
  // Like the applier.
  void ApplyAll() {
    for (Proposal& proposal : std::exchange(proposed_, {})) {
      const auto request = DecodeInternalRequest(proposal.data.view());
      leases_.Revoke(DecodeLeaseId(request->body).value());
      proposal.waiter->Applied({});
    }
    Run();
  }
  void FailAll() {
    for (Proposal& proposal : std::exchange(proposed_, {}))
      proposal.waiter->Failed(kErrTimeout.ToError());
    Run();
  }

  ManualClock clock_;
  ManualExecutor apply_{clock_};
  Leases leases_{{.min_ttl_s = 1, .checkpoints = true, .checkpoint_interval = seconds(60)}, clock_};
  RaftStatus status_;
  Alarms alarms_;
  RequestIdSource ids_{kOwnId, 0};
  raft::Term applied_term_ = 0;
  std::vector<Proposal> proposed_;
  std::vector<ReadTask> asked_;
  LeaseExpiry expiry_{leases_,
                      status_,
                      alarms_,
                      ids_,
                      apply_,
                      {.election_timeout = seconds(1), .max_in_flight = 3},
                      {.propose =
                           [this](std::vector<Proposal> proposals) {
                             for (Proposal& proposal : proposals)
                               proposed_.push_back(std::move(proposal));
                           },
                       .confirm = [this](ReadTask task) { asked_.push_back(std::move(task)); },
                       .applied_term = [this] { return applied_term_; }}};
};

// All that earlier leaders had committed must be applied first, revocations too.
TEST_F(LeaseExpiryTest, TheLeaderIsPrimaryOnceAnEntryOfItsTermIsApplied) {
  Lead(5, 4);
  Wait(seconds(1));
  EXPECT_EQ(leases_.primary_term(), 0U);
  applied_term_ = 5;
  expiry_.OnApplied();
  EXPECT_EQ(leases_.primary_term(), 5U);
  Follow(6);
  EXPECT_EQ(leases_.primary_term(), 0U);
}

TEST_F(LeaseExpiryTest, ALeaderOfALaterTermIsPrimaryAnew) {
  Lead(5);
  Lead(7, 5);
  EXPECT_EQ(leases_.primary_term(), 0U) << "not until an entry of that term is applied";
  Lead(7);
  EXPECT_EQ(leases_.primary_term(), 7U);
}

TEST_F(LeaseExpiryTest, AnExpiredLeaseIsRevokedOnceAQuorumHasConfirmedTheLeader) {
  Lead(5);
  Grant(7, 10);
  Wait(seconds(9));
  EXPECT_THAT(asked_, IsEmpty());
  Wait(milliseconds(1500));
  EXPECT_THAT(asked_, SizeIs(1)) << "one question at a time";
  EXPECT_THAT(proposed_, IsEmpty());
  Confirm();
  EXPECT_THAT(Revocations(), ElementsAre(7));
  ApplyAll();
  EXPECT_EQ(leases_.size(), 0U);
  EXPECT_EQ(leases_.counters().expired.load(), 1U);
}

TEST_F(LeaseExpiryTest, AConfirmationLastsForAnElectionTimeout) {
  Lead(5);
  Grant(7, 10);
  Grant(8, 10);
  Wait(milliseconds(10'100));
  Confirm();
  ApplyAll();
  Grant(9, 1);
  Wait(milliseconds(900));
  EXPECT_THAT(asked_, IsEmpty());
  Wait(milliseconds(300));
  EXPECT_THAT(asked_, SizeIs(1));
}

TEST_F(LeaseExpiryTest, WithoutAConfirmationNothingIsRevokedAndItIsAskedAgain) {
  Lead(5);
  Grant(7, 10);
  Wait(milliseconds(10'100));
  Confirm(kErrTimeout.Fail());
  EXPECT_THAT(proposed_, IsEmpty());
  Wait(milliseconds(100));
  EXPECT_THAT(asked_, SizeIs(1));
}

TEST_F(LeaseExpiryTest, AConfirmationThatTookAnElectionTimeoutIsTooOld) {
  Lead(5);
  Grant(7, 10);
  Wait(milliseconds(11'000));
  Confirm();
  EXPECT_THAT(proposed_, IsEmpty());
  EXPECT_THAT(asked_, SizeIs(1)) << "asked again";
}

// Another leader may have answered the request of one that has stalled.
TEST_F(LeaseExpiryTest, AConfirmationThatComesInAnotherTermConfirmsNothing) {
  Lead(5);
  Grant(7, 10);
  Wait(milliseconds(10'100));
  ASSERT_THAT(asked_, SizeIs(1));
  Follow(6);
  Confirm();
  EXPECT_THAT(proposed_, IsEmpty());
  Lead(7);
  EXPECT_THAT(proposed_, IsEmpty());
}

TEST_F(LeaseExpiryTest, ALeaderThatLeadsNoMoreRevokesNothingThoughNobodyHasToldIt) {
  Lead(5);
  Grant(7, 10);
  Wait(milliseconds(10'100));
  status_.Publish({.term = 6, .leader = 2});
  Confirm();
  Wait(seconds(1));
  EXPECT_THAT(proposed_, IsEmpty());
  EXPECT_EQ(leases_.primary_term(), 0U) << "found out with the next tick";
}

TEST_F(LeaseExpiryTest, ANewPrimaryGivesEachLeaseItsWholeTime) {
  Grant(7, 10);
  Wait(seconds(9));
  Lead(5);
  Wait(seconds(10));
  EXPECT_THAT(asked_, IsEmpty()) << "an election time-out more: nobody could renew meanwhile";
  Wait(milliseconds(1100));
  Confirm();
  EXPECT_THAT(Revocations(), ElementsAre(7));
}

TEST_F(LeaseExpiryTest, OfACrowdThatExpiresAtOnceOnlySoManyAreOnTheirWay) {
  Lead(5);
  for (lease::LeaseId id = 1; id <= 8; ++id) Grant(id, 10);
  Wait(milliseconds(10'100));
  Confirm();
  EXPECT_THAT(Revocations(), SizeIs(3));
  ApplyAll();
  EXPECT_THAT(Revocations(), SizeIs(3)) << "each that is applied makes room for another";
  ApplyAll();
  EXPECT_THAT(Revocations(), SizeIs(2));
  ApplyAll();
  EXPECT_EQ(leases_.size(), 0U);
}

TEST_F(LeaseExpiryTest, ARefusedRevocationIsProposedAgainAfterAPause) {
  Lead(5);
  Grant(7, 10);
  Wait(milliseconds(10'100));
  Confirm();
  FailAll();
  EXPECT_EQ(leases_.counters().expired.load(), 0U);
  Wait(milliseconds(400));
  EXPECT_THAT(proposed_, IsEmpty());
  Wait(milliseconds(100));
  EXPECT_THAT(Revocations(), ElementsAre(7));
}

TEST_F(LeaseExpiryTest, UnderACorruptAlarmNothingIsRevoked) {
  Lead(5);
  Grant(7, 10);
  const Alarm corrupt{.member = 2, .type = AlarmType::kCorrupt};
  alarms_.Reset({corrupt});
  Wait(seconds(12));
  EXPECT_THAT(asked_, IsEmpty());
  alarms_.Reset({});
  Wait(milliseconds(100));
  Confirm();
  EXPECT_THAT(Revocations(), ElementsAre(7));
}

TEST_F(LeaseExpiryTest, TheCheckpointsOfLongLeasesAreProposedForThisTermAlone) {
  Lead(5);
  Grant(7, 1000);
  Wait(milliseconds(60'100));
  ASSERT_THAT(proposed_, SizeIs(1));
  EXPECT_EQ(proposed_[0].only_in_term, 5U);
  EXPECT_EQ(proposed_[0].waiter, nullptr);
  const auto request = DecodeInternalRequest(proposed_[0].data.view());
  EXPECT_EQ(request->kind, RequestKind::kLeaseCheckpoint);
  const auto checkpoints = DecodeLeaseCheckpoints(request->body);
  ASSERT_THAT(*checkpoints, SizeIs(1));
  EXPECT_EQ(checkpoints->front().id, 7);
  EXPECT_LE(checkpoints->front().remaining_s, 940);
}

TEST_F(LeaseExpiryTest, ACheckpointIsTakenBackWhenTheLogSaysSo) {
  Lead(5);
  Grant(7, 1000);
  Wait(milliseconds(60'100));
  proposed_.clear();
  ASSERT_NE(leases_.PendingCheckpoint(7), 0U);
  std::vector<bool> told;
  expiry_.TakeCheckpointBack(5, 7, [&](bool is_taken_back) { told.push_back(is_taken_back); });
  Run();
  ASSERT_THAT(proposed_, SizeIs(1));
  EXPECT_EQ(proposed_[0].only_in_term, 5U);
  const auto request = DecodeInternalRequest(proposed_[0].data.view());
  const auto checkpoints = DecodeLeaseCheckpoints(request->body);
  EXPECT_EQ(checkpoints->front().remaining_s, 0) << "the whole time again";
  EXPECT_THAT(told, IsEmpty());
  proposed_[0].waiter->Applied({});
  EXPECT_THAT(told, ElementsAre(true));
  EXPECT_EQ(leases_.PendingCheckpoint(7), 0U);
}

TEST_F(LeaseExpiryTest, ACheckpointWhoseTakingBackFailsStands) {
  Lead(5);
  Grant(7, 1000);
  Wait(milliseconds(60'100));
  proposed_.clear();
  std::vector<bool> told;
  const auto take_back = [&] {
    expiry_.TakeCheckpointBack(5, 7, [&](bool is_taken_back) { told.push_back(is_taken_back); });
    Run();
  };
  take_back();
  FailAll();
  take_back();
  proposed_[0].waiter->Applied({.value = kErrLeaseNotFound.Fail()});
  EXPECT_THAT(told, ElementsAre(false, false));
  EXPECT_NE(leases_.PendingCheckpoint(7), 0U);
}

TEST_F(LeaseExpiryTest, OneThatIsStoppedProposesNothingMore) {
  Lead(5);
  Grant(7, 10);
  Wait(milliseconds(10'100));
  Confirm();
  expiry_.Stop();
  Run();
  EXPECT_EQ(leases_.primary_term(), 0U);
  FailAll();
  Wait(seconds(20));
  EXPECT_THAT(proposed_, IsEmpty());
  EXPECT_FALSE(apply_.HasTimed()) << "no timer is left";
}

}  // namespace
}  // namespace kvorum::server
