// One member at a time defragments, the leader last, also when leaders change.
#include "server/replica/upkeep/defragment_turns.h"

#include <gtest/gtest.h>

namespace kvorum::server {
namespace {

using Request = DefragmentTurns::Request;
using std::chrono::seconds;

constexpr raft::MemberId kLeader{1};
constexpr raft::MemberId kSecond{2};
constexpr raft::MemberId kThird{3};

// A leader that has led for long enough to know of every turn.
class DefragmentTurnsTest : public testing::Test {
 protected:
  DefragmentTurnsTest() {
    EXPECT_FALSE(Ask(kSecond, Request::kEnd));
    Wait(DefragmentTurns::kHold);
  }
  bool Ask(raft::MemberId member, Request request) {
    return turns_.Ask(member, request, term_, kLeader, now_);
  }
  bool Begin(raft::MemberId member) { return Ask(member, Request::kBegin); }
  void Wait(Duration duration) { now_ = now_ + duration; }

  DefragmentTurns turns_;
  raft::Term term_ = 5;
  TimePoint now_;
};

TEST_F(DefragmentTurnsTest, OneMemberAtATime) {
  EXPECT_TRUE(Begin(kSecond));
  EXPECT_FALSE(Begin(kThird));
  Ask(kSecond, Request::kEnd);
  EXPECT_TRUE(Begin(kThird));
}

TEST_F(DefragmentTurnsTest, ATurnLastsWhileItIsRenewedAndEndsByItself) {
  EXPECT_TRUE(Begin(kSecond));
  for (int i = 0; i < 10; ++i) {
    Wait(DefragmentTurns::kHold - seconds(1));
    EXPECT_FALSE(Begin(kThird));
    EXPECT_TRUE(Ask(kSecond, Request::kRenew));
  }
  Wait(DefragmentTurns::kHold);
  EXPECT_TRUE(Begin(kThird)) << "the second has died";
  EXPECT_FALSE(Ask(kSecond, Request::kRenew)) << "and is late";
}

TEST_F(DefragmentTurnsTest, OnlyItsHolderEndsATurn) {
  EXPECT_TRUE(Begin(kSecond));
  Ask(kThird, Request::kEnd);
  EXPECT_FALSE(Begin(kThird));
}

TEST_F(DefragmentTurnsTest, TheLeaderIsLast) {
  EXPECT_TRUE(Begin(kSecond));
  EXPECT_FALSE(Begin(kThird));
  Ask(kSecond, Request::kEnd);
  EXPECT_FALSE(Begin(kLeader)) << "the third is waiting";
  EXPECT_TRUE(Begin(kThird));
  Ask(kThird, Request::kEnd);
  Wait(DefragmentTurns::kHold);
  EXPECT_TRUE(Begin(kLeader));
  EXPECT_FALSE(Begin(kSecond));
}

TEST_F(DefragmentTurnsTest, ANewLeaderGrantsNothingWhileAnOldTurnMayLast) {
  EXPECT_TRUE(Begin(kSecond));
  term_ = 6;
  EXPECT_FALSE(Begin(kThird));
  Wait(seconds(10));
  EXPECT_TRUE(Ask(kSecond, Request::kRenew)) << "it learns of it";
  Wait(DefragmentTurns::kHold - seconds(1));
  EXPECT_FALSE(Begin(kThird));
  Wait(seconds(1));
  EXPECT_TRUE(Begin(kThird));
}

TEST_F(DefragmentTurnsTest, AMemberThatDoesNotLeadGrantsNothing) {
  term_ = 0;
  EXPECT_FALSE(Begin(kSecond));
  EXPECT_FALSE(Ask(kSecond, Request::kRenew));
}

}  // namespace
}  // namespace kvorum::server
