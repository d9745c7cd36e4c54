// Waiting proposals: their bounds, and the errors of those that are not taken.
#include "server/replica/drive/waiting_proposals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/api_errors.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WaitingProposalsTest : public ::testing::Test {
 protected:
  struct Told final : Waiter {
    explicit Told(std::vector<std::string>& to) : errors(to) {}
    void Applied(ApplyResult) override { errors.emplace_back("applied"); }
    void Failed(const Error& error) override { errors.push_back(error.message); }
    std::vector<std::string>& errors;
  };

  Proposal Make(std::uint64_t id, std::size_t size_bytes, TimePoint deadline = {100}) {
    return {.id = id,
            .data = SharedBytes::Own(std::string(size_bytes, 'x')),
            .deadline = deadline,
            .waiter = std::make_unique<Told>(told_)};
  }
  bool Admit(std::uint64_t id, std::size_t size_bytes) {
    std::vector<Proposal> proposals;
    proposals.push_back(Make(id, size_bytes));
    return waiting_.Admit(proposals);
  }

  WaitTable table_;
  WaitingProposals waiting_{table_, {.proposals = 3, .bytes = 100}};
  std::vector<std::string> told_;
};

TEST_F(WaitingProposalsTest, PastTheNumberTheyAreRefused) {
  for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_TRUE(Admit(id, 1));
  EXPECT_FALSE(Admit(4, 1));
  EXPECT_THAT(told_, ElementsAre(kErrTooManyRequests.ToError().message));
  waiting_.Fail(1, kErrStopped.ToError());
  EXPECT_TRUE(Admit(5, 1));
}

TEST_F(WaitingProposalsTest, WhatIsRepeatedIsKeptAsLongAsItsWaiterWaits) {
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_TRUE(Admit(id, 10));
    waiting_.Release(10);  // Raft has it
    waiting_.KeepToRepeat(Make(id, 10), {static_cast<std::int64_t>(id)});
  }
  EXPECT_EQ(waiting_.pending_bytes(), 30u);
  waiting_.Fail(1, kErrStopped.ToError());
  std::vector<std::uint64_t> due;
  for (const Proposal& proposal : waiting_.TakeToRepeat({2})) due.push_back(proposal.id);
  EXPECT_THAT(due, ElementsAre(2));
  EXPECT_EQ(waiting_.pending_bytes(), 20u);
  waiting_.Fail(3, kErrStopped.ToError());
  waiting_.FailExpired({50}, [] { return kErrTimeout.ToError(); });
  EXPECT_FALSE(waiting_.HasToRepeat());
}

TEST_F(WaitingProposalsTest, PastTheBytesTheyAreRefusedUntilRaftHasThem) {
  EXPECT_TRUE(Admit(1, 60));
  EXPECT_FALSE(Admit(2, 41));
  EXPECT_TRUE(Admit(3, 40));
  waiting_.Release(60);
  EXPECT_TRUE(Admit(4, 60));
}

TEST_F(WaitingProposalsTest, TheyAreAdmittedTogetherOrNotAtAll) {
  std::vector<Proposal> proposals;
  for (std::uint64_t id = 1; id <= 4; ++id) proposals.push_back(Make(id, 1));
  EXPECT_FALSE(waiting_.Admit(proposals));
  EXPECT_EQ(told_.size(), 4u);
  EXPECT_TRUE(Admit(5, 100)) << "nothing is held of them";
}

TEST_F(WaitingProposalsTest, WhatIsHeldCountsInBytesAndComesBackInOrder) {
  waiting_.HoldForLeader(Make(1, 60));
  waiting_.HoldForLeader(Make(2, 10));
  waiting_.HoldForChange(Make(3, 10));
  EXPECT_FALSE(Admit(4, 21));
  const std::vector<Proposal> held = waiting_.TakeHeldForLeader();
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].id, 1u);
  EXPECT_EQ(held[1].id, 2u);
  EXPECT_FALSE(waiting_.HasHeldForLeader());
  EXPECT_TRUE(waiting_.HasHeldForChange());
  EXPECT_EQ(waiting_.TakeHeldForChange().front().id, 3u);
}

TEST_F(WaitingProposalsTest, WhoseTimeIsOverIsToldOnceAndHeldNoLonger) {
  EXPECT_TRUE(Admit(1, 10));
  waiting_.HoldForLeader(Make(2, 50, {100}));
  waiting_.HoldForChange(Make(3, 50, {101}));
  int asked = 0;
  const auto cause = [&] { return ++asked, kErrTimeout.ToError(); };
  waiting_.FailExpired({99}, cause);
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(waiting_.HasHeldForLeader());
  waiting_.FailExpired({100}, cause);
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(told_, ElementsAre(kErrTimeout.ToError().message));
  EXPECT_FALSE(waiting_.HasHeldForLeader());
  EXPECT_TRUE(waiting_.HasHeldForChange());
  EXPECT_TRUE(Admit(4, 40)) << "the bytes are free";
}

TEST_F(WaitingProposalsTest, WhatIsHeldForWatchersCountsAsAdmitted) {
  std::vector<Proposal> proposals;
  proposals.push_back(Make(1, 60));
  proposals.push_back(Make(2, 40));
  ASSERT_TRUE(waiting_.Admit(proposals));
  for (Proposal& proposal : proposals) waiting_.HoldForWatchers(std::move(proposal));
  EXPECT_EQ(waiting_.held_for_watchers(), 2U);
  EXPECT_EQ(waiting_.pending_bytes(), 100U) << "once";
  EXPECT_FALSE(Admit(3, 1));
  std::vector<Proposal> taken;
  waiting_.TakeHeldForWatchers(1, taken);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].id, 1U);
  waiting_.TakeHeldForWatchers(5, taken);
  EXPECT_EQ(taken.size(), 2U);
  EXPECT_FALSE(waiting_.HasHeldForWatchers());
}

TEST_F(WaitingProposalsTest, AllFailWhenTheMemberStops) {
  EXPECT_TRUE(Admit(1, 1));
  EXPECT_TRUE(Admit(2, 1));
  waiting_.HoldForLeader(Make(3, 1));
  waiting_.FailAll(kErrStopped.ToError());
  EXPECT_EQ(told_.size(), 2u);
  EXPECT_FALSE(waiting_.HasHeldForLeader());
  told_.clear();
  waiting_.Fail(1, kErrStopped.ToError());
  EXPECT_THAT(told_, IsEmpty()) << "once each";
}

}  // namespace
}  // namespace kvorum::server
