#include "server/replica/drive/leadership_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/api_errors.h"
#include "base/log/logging.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LeadershipMovesTest : public ::testing::Test {
 protected:
  LeadershipMovesTest() { SetLogLevel(LogLevel::kError); }
  void Begin(raft::MemberId to, const std::string& name) {
    moves_.Begin(1, to, {100}, [this, name](const Result<void>& result) {
      ended_.push_back(name + (result.has_value() ? " moved" : ": " + result.error().message));
    });
  }

  LeadershipMoves moves_;
  std::vector<std::string> ended_;
};

TEST_F(LeadershipMovesTest, EndWhenTheMemberLeads) {
  Begin(2, "a");
  moves_.End(1, {10});
  moves_.End(raft::kNone, {20});
  moves_.End(3, {30});
  EXPECT_THAT(ended_, IsEmpty());
  moves_.End(2, {40});
  EXPECT_THAT(ended_, ElementsAre("a moved"));
  EXPECT_TRUE(moves_.empty());
}

TEST_F(LeadershipMovesTest, EndWhenTheirTimeIsOver) {
  Begin(2, "a");
  moves_.End(1, {99});
  EXPECT_THAT(ended_, IsEmpty());
  moves_.End(1, {100});
  EXPECT_THAT(ended_, ElementsAre("a: " + kErrTimeoutLeaderTransfer.ToError().message));
}

TEST_F(LeadershipMovesTest, ToAnybodyIsToAnybodyElse) {
  Begin(raft::kNone, "a");
  moves_.End(1, {10});
  moves_.End(raft::kNone, {20});
  EXPECT_THAT(ended_, IsEmpty());
  moves_.End(3, {30});
  EXPECT_THAT(ended_, ElementsAre("a moved"));
  Begin(raft::kNone, "b");
  moves_.End(raft::kNone, {100});
  EXPECT_EQ(ended_.back(), "b: " + kErrTimeoutLeaderTransfer.ToError().message);
}

TEST_F(LeadershipMovesTest, FailWhenTheMemberStops) {
  Begin(2, "a");
  Begin(3, "b");
  moves_.FailAll(kErrStopped.ToError());
  EXPECT_EQ(ended_.size(), 2u);
  moves_.End(2, {10});
  EXPECT_EQ(ended_.size(), 2u);
}

}  // namespace
}  // namespace kvorum::server
