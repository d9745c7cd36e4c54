// A database defragments itself once enough of its file is free pages and the cluster's turn is
// its own.
#include "server/replica/upkeep/auto_defragment.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/server/replica/lanes.h"
#include "tests/server/replica/mebibyte.h"

namespace kvorum::server {
namespace {

using TurnRequest = DefragmentTurns::Request;
using std::chrono::minutes;
using std::chrono::seconds;

class AutoDefragmentTest : public testing::Test {
 protected:
  void Start(std::uint64_t threshold_percent) {
    defragment_.emplace(
        lane_, AutoDefragment::Options{.threshold_percent = threshold_percent},
        AutoDefragment::Hooks{.size_bytes = [this] { return size_; },
                              .in_use_bytes = [this] { return in_use_; },
                              .ask =
                                  [this](TurnRequest request) {
                                    asked_.push_back(request);
                                    return has_turn_;
                                  },
                              .defragment =
                                  [this](std::move_only_function<void(Result<void>)> done) {
                                    ++runs_;
                                    done_ = std::move(done);
                                  }});
    defragment_->Start();
  }
  void RunFor(Duration duration) { scheduler_.RunFor(duration); }
  void Finish() {
    size_ = in_use_;
    done_(Result<void>());
  }
  std::size_t Count(TurnRequest request) const {
    return static_cast<std::size_t>(std::ranges::count(asked_, request));
  }

  Scheduler scheduler_{1};
  Scheduler::Lane lane_{scheduler_};
  std::optional<AutoDefragment> defragment_;
  std::uint64_t size_ = 100 * kMiB;
  std::uint64_t in_use_ = 40 * kMiB;
  bool has_turn_ = true;
  std::vector<TurnRequest> asked_;
  int runs_ = 0;
  std::move_only_function<void(Result<void>)> done_;
};

TEST_F(AutoDefragmentTest, RunsOnceTheThresholdIsReached) {
  Start(60);
  RunFor(minutes(1));
  ASSERT_EQ(runs_, 1);
  Finish();
  RunFor(minutes(30));
  EXPECT_EQ(runs_, 1) << "nothing is free any more";
  EXPECT_EQ(Count(TurnRequest::kEnd), 1);
}

TEST_F(AutoDefragmentTest, BelowItNothingIsAsked) {
  Start(61);
  RunFor(minutes(30));
  EXPECT_EQ(runs_, 0);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(AutoDefragmentTest, ASmallFileIsNotWorthIt) {
  size_ = 10 * kMiB;
  in_use_ = kMiB;
  Start(10);
  RunFor(minutes(30));
  EXPECT_EQ(runs_, 0);
}

TEST_F(AutoDefragmentTest, OffByDefault) {
  Start(0);
  RunFor(minutes(30));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(AutoDefragmentTest, WaitsForItsTurnAndRenewsItWhileItRuns) {
  has_turn_ = false;
  Start(50);
  RunFor(minutes(1));
  EXPECT_EQ(runs_, 0);
  EXPECT_GE(Count(TurnRequest::kBegin), 5u);
  has_turn_ = true;
  RunFor(minutes(1));
  ASSERT_EQ(runs_, 1);
  EXPECT_EQ(Count(TurnRequest::kEnd), 0u);
  const std::size_t renewals = Count(TurnRequest::kRenew);
  RunFor(DefragmentTurns::kHold);
  EXPECT_GT(Count(TurnRequest::kRenew), renewals + 2) << "several in the time that it lasts";
  Finish();
  RunFor(seconds(1));
  const std::size_t last = Count(TurnRequest::kRenew);
  RunFor(minutes(2));
  EXPECT_EQ(Count(TurnRequest::kRenew), last);
}

TEST_F(AutoDefragmentTest, AFailureIsTriedAgainAfterARest) {
  Start(50);
  RunFor(minutes(1));
  ASSERT_EQ(runs_, 1);
  done_(Fail(Code::kResourceExhausted, "no space"));
  RunFor(minutes(4));
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(Count(TurnRequest::kEnd), 1u) << "others may";
  RunFor(minutes(2));
  EXPECT_EQ(runs_, 2);
}

}  // namespace
}  // namespace kvorum::server
