// Places in the queue of a name, one at a time: taken, waited for, lost and left.
#include "server/locks/contender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/api_errors.h"
#include "tests/server/queue_fixture.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ContenderTest : public QueueTest {
 protected:
  struct Candidate {
    std::shared_ptr<rpc::CallContext> call = std::make_shared<rpc::CallContext>();
    std::optional<Result<Contender::Success>> told;

    bool has_won() const { return told.has_value() && told->has_value(); }
    Error error() const {
      return told.has_value() && !told->has_value() ? told->error() : Error{Code::kOk, "none"};
    }
    void Cancel() const { call->Cancel({Code::kCanceled, "context canceled"}); }
  };
  using Candidates = std::shared_ptr<Candidate>;

  Candidates Begin(lease::LeaseId lease, Contender::Kind kind = Contender::Kind::kLock) {
    auto candidate = std::make_shared<Candidate>();
    Contender::Begin(served_.local_client(), waiting_, candidate->call,
                     {.kind = kind, .name = "name", .lease = lease, .value = "v"},
                     [candidate](Result<Contender::Success> told) {
                       EXPECT_FALSE(candidate->told.has_value()) << "told twice";
                       candidate->told = std::move(told);
                     });
    Settle();
    return candidate;
  }

  WaitingCalls waiting_{{.calls = 3, .bytes = std::size_t{1} << 20}};
};

TEST_F(ContenderTest, TheFirstHasItAtOnce) {
  const auto first = Begin(1);
  ASSERT_TRUE(first->has_won());
  const Contender::Success& success = **first->told;
  EXPECT_EQ(success.key, "name/1");
  EXPECT_EQ(success.lease, 1);
  EXPECT_EQ(success.created, success.header.revision);
  EXPECT_EQ(waiting_.calls(), 0U) << "it waits no more";
}

TEST_F(ContenderTest, WithoutALeaseOneIsGrantedForAMinute) {
  const auto first = Begin(lease::kNoLease);
  ASSERT_TRUE(first->has_won());
  const lease::LeaseId lease = (*first->told)->lease;
  ASSERT_NE(lease, lease::kNoLease);
  const auto times = served_.member().local_member().leases().TimeToLive(lease, false);
  ASSERT_TRUE(times.has_value() && times->has_value());
  EXPECT_EQ((*times)->granted_s, kSessionTtlSeconds);
}

TEST_F(ContenderTest, EachWaitsForTheOneBeforeIt) {
  Begin(1);
  const auto second = Begin(2);
  const auto third = Begin(3);
  EXPECT_FALSE(second->told.has_value());
  EXPECT_FALSE(third->told.has_value());
  EXPECT_EQ(waiting_.calls(), 2U);
  Delete("name/1");
  Settle();
  EXPECT_TRUE(second->has_won());
  EXPECT_FALSE(third->told.has_value());
  Delete("name/2");
  Settle();
  EXPECT_TRUE(third->has_won());
}

TEST_F(ContenderTest, OneWhosePlaceGoesIsToldAtOnceAndTheNextGoesOnWaiting) {
  Begin(1);
  const auto second = Begin(2);
  const auto third = Begin(3);
  Revoke(2);
  Settle();
  EXPECT_EQ(second->error(), kErrSessionExpired);
  EXPECT_FALSE(third->told.has_value());
  Delete("name/1");
  Settle();
  EXPECT_TRUE(third->has_won());
}

TEST_F(ContenderTest, ALeaseOfOneSecondIsGoodEnoughForOneThatHasWaited) {
  Begin(1);
  Grant(100, 1);
  const auto second = Begin(100);
  EXPECT_FALSE(second->told.has_value());
  Delete("name/1");
  Settle();
  EXPECT_TRUE(second->has_won());
}

TEST_F(ContenderTest, ACandidateOfAnElectionLosesInItsOwnWords) {
  Begin(1, Contender::Kind::kElection);
  const auto second = Begin(2, Contender::Kind::kElection);
  Revoke(2);
  Settle();
  EXPECT_EQ(second->error(), kErrElectionNotLeader);
}

TEST_F(ContenderTest, WhoGivesUpIsToldAtOnceAndLeavesTheQueue) {
  Begin(1);
  const auto second = Begin(2);
  second->Cancel();
  EXPECT_EQ(second->error().code, Code::kCanceled);
  Settle();
  EXPECT_THAT(Keys("name/"), ElementsAre("name/1"));
  EXPECT_EQ(waiting_.calls(), 0U);
}

TEST_F(ContenderTest, APlaceThatCannotBeTakenIsAnErrorAndLeavesNothing) {
  const auto unknown = Begin(99);
  EXPECT_EQ(unknown->error().message, kErrLeaseNotFound.message);
  EXPECT_EQ(unknown->error().code, Code::kUnknown) << "as a client library tells it";
  EXPECT_THAT(Keys("name/"), IsEmpty());
  EXPECT_EQ(waiting_.calls(), 0U);
}

TEST_F(ContenderTest, PastTheBoundNobodyWaits) {
  Begin(1);
  const auto second = Begin(2);
  const auto third = Begin(3);
  const auto fourth = Begin(4);
  const auto refused = Begin(5);
  EXPECT_EQ(refused->error(), kErrTooManyRequests);
  EXPECT_THAT(Keys("name/"), ElementsAre("name/1", "name/2", "name/3", "name/4"));
  second->Cancel();
  Settle();
  EXPECT_FALSE(Begin(5)->told.has_value()) << "there is room again";
  for (const int lease : {1, 3, 4, 5}) Revoke(lease);
  Settle();
}

}  // namespace
}  // namespace kvorum::server
