// Key writes that wait for watchers: how many pass, in which order, and when the rest is looked at.
#include "server/replica/drive/watcher_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/api_errors.h"
#include "server/replica/drive/waiting_proposals.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/manual_executor.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<std::uint64_t>;

class WatcherPaceTest : public ::testing::Test {
 protected:
  struct Silent final : Waiter {
    void Applied(ApplyResult) override {}
    void Failed(const Error&) override {}
  };

  static Ids IdsOf(const std::vector<Proposal>& proposals) {
    Ids ids;
    for (const Proposal& proposal : proposals) ids.push_back(proposal.id);
    return ids;
  }
  // Clients hand over these: ids from 100 on do not write keys. Returns those that Raft gets now.
  Ids Arrive(const Ids& ids, TimePoint deadline = {1'000'000'000}) {
    std::vector<Proposal> proposals;
    for (const std::uint64_t id : ids) {
      proposals.push_back({.id = id,
                           .data = SharedBytes::Own("x"),
                           .deadline = deadline,
                           .waiter = std::make_unique<Silent>(),
                           .is_key_write = id < 100});
    }
    EXPECT_TRUE(waiting_.Admit(proposals));
    pace_.Pass(proposals);
    return IdsOf(proposals);
  }
  // These are applied, each a revision that watchers lack as yet.
  void Apply(const Ids& ids) {
    table_.Take(ids);
    lag_ += static_cast<std::int64_t>(ids.size());
  }
  // Those that Raft gets within a look's pause.
  Ids Later() {
    later_.clear();
    clock_.Advance(WatcherPace::kLook);
    while (executor_.RunOne()) {
    }
    return later_;
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  WaitTable table_;
  WaitingProposals waiting_{table_, {.proposals = 100, .bytes = 1'000}};
  std::int64_t lag_ = 0;
  int looks_ = 0;
  Ids later_;
  WatcherPace pace_{executor_,
                    waiting_,
                    3,
                    {.lag = [this] { return ++looks_, lag_; },
                     .propose =
                         [this](const std::vector<Proposal>& proposals) {
                           for (const std::uint64_t id : IdsOf(proposals)) later_.push_back(id);
                         }}};
};

TEST_F(WatcherPaceTest, AsManyPassAsTheBoundLeavesRoomFor) {
  EXPECT_THAT(Arrive({1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(Arrive({3, 4}), ElementsAre(3)) << "two are on their way";
  EXPECT_EQ(waiting_.held_for_watchers(), 1U);
  EXPECT_THAT(Later(), IsEmpty());
  Apply({1, 2, 3});
  EXPECT_THAT(Later(), IsEmpty()) << "watchers lack three revisions";
  lag_ = 2;
  EXPECT_THAT(Later(), ElementsAre(4));
  EXPECT_EQ(waiting_.held_for_watchers(), 0U);
  EXPECT_EQ(waiting_.ever_held_for_watchers(), 1U);
}

TEST_F(WatcherPaceTest, WhatComesLaterWaitsBehindWhatIsHeld) {
  lag_ = 3;
  EXPECT_THAT(Arrive({1, 2}), IsEmpty());
  lag_ = 0;
  EXPECT_THAT(Arrive({3, 4}), ElementsAre(1, 2, 3));
  Apply({1, 2, 3});
  lag_ = 0;
  EXPECT_THAT(Later(), ElementsAre(4));
}

TEST_F(WatcherPaceTest, WhatWritesNoKeysPassesAndTakesNoRoom) {
  lag_ = 3;
  EXPECT_THAT(Arrive({1, 100, 2, 101}), ElementsAre(100, 101));
  EXPECT_THAT(Arrive({102}), ElementsAre(102));
  lag_ = 0;
  EXPECT_THAT(Later(), ElementsAre(1, 2));
  EXPECT_THAT(Arrive({3}), ElementsAre(3));
}

TEST_F(WatcherPaceTest, OneTimerLooksForAllThatAreHeldAndNoneWithoutAny) {
  Arrive({1, 2, 3});
  EXPECT_FALSE(executor_.HasTimed());
  for (std::uint64_t id = 4; id < 50; ++id) Arrive({id});
  looks_ = 0;
  Later();
  EXPECT_EQ(looks_, 1);
  Apply({1, 2, 3});
  while (waiting_.held_for_watchers() != 0) {
    lag_ = 0;
    Apply(Later());
  }
  EXPECT_FALSE(executor_.HasTimed());
}

// A watcher may lag by any number when it is first counted.
TEST_F(WatcherPaceTest, AnyLagPastTheBoundIsNoRoom) {
  lag_ = INT64_MAX;
  EXPECT_THAT(Arrive({1}), IsEmpty());
  lag_ = 0;
  EXPECT_THAT(Later(), ElementsAre(1));
}

TEST_F(WatcherPaceTest, AHeldOneExpiresAndNobodyWaitsBehindIt) {
  lag_ = 3;
  Arrive({1}, {10});
  Arrive({2});
  waiting_.FailExpired({10}, [] { return kErrTimeout.ToError(); });
  EXPECT_EQ(waiting_.held_for_watchers(), 1U);
  EXPECT_EQ(waiting_.pending_bytes(), 1U) << "its bytes are free";
  lag_ = 2;
  EXPECT_THAT(Later(), ElementsAre(2));
}

TEST_F(WatcherPaceTest, WhenTheMemberStopsNothingGoesOn) {
  lag_ = 3;
  Arrive({1, 2});
  waiting_.FailAll(kErrStopped.ToError());
  lag_ = 0;
  EXPECT_THAT(Later(), IsEmpty());
  EXPECT_FALSE(executor_.HasTimed());
}

}  // namespace
}  // namespace kvorum::server
