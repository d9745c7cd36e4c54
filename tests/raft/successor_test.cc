// The member that a leader hands over to: one that answers, then one that has most of the log.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tests/raft/victim.h"

namespace kvorum::raft {
namespace {

// Member 1 of voters 1, 2, 3 and learner 4; the test speaks for the others.
class SuccessorTest : public testing::Test {
 protected:
  void Lead() {
    member_.Work();
    member_.node().Campaign();
    Answer({.type = MessageType::kPreVoteResp, .from = 2, .term = node().term() + 1});
    Answer({.type = MessageType::kVoteResp, .from = 2, .term = node().term()});
    ASSERT_EQ(node().role(), Role::kLeader);
  }
  void Answer(Message message) {
    message.to = Victim::kId;
    ASSERT_TRUE(member_.Receive(std::move(message)));
    member_.Work();
  }
  void Has(MemberId id, Index index) {
    Answer({.type = MessageType::kAppResp, .from = id, .term = node().term(), .index = index});
  }
  void Tick(int times) {
    for (int i = 0; i < times; ++i) member_.Tick();
    member_.Work();
  }
  Node& node() { return member_.node(); }
  Index last() { return node().log().last_index(); }

  Victim member_{1};
};

TEST_F(SuccessorTest, OneThatDoesNotLeadHasNone) { EXPECT_EQ(node().BestSuccessor(), kNone); }

TEST_F(SuccessorTest, MostOfTheLogCountsAmongThoseThatAnswer) {
  Lead();
  Has(2, last() - 1);
  Has(3, last());
  EXPECT_EQ(node().BestSuccessor(), 3u);
  Has(2, last());
  EXPECT_EQ(node().BestSuccessor(), 2u) << "the lower id of two alike";
}

TEST_F(SuccessorTest, OneThatFellSilentComesLastHoweverMuchItHas) {
  Lead();
  Has(3, last());
  Tick(9);
  Has(2, last() - 1);
  EXPECT_EQ(node().BestSuccessor(), 3u) << "silent for less than an election time-out";
  Tick(1);
  EXPECT_EQ(node().BestSuccessor(), 2u);
  Has(3, last());
  EXPECT_EQ(node().BestSuccessor(), 3u);
}

TEST_F(SuccessorTest, OnlyThoseThatAreNamedCount) {
  Lead();
  Has(2, last());
  Has(3, last() - 1);
  const std::vector<MemberId> third = {MemberId{3}, MemberId{4}, Victim::kId};
  EXPECT_EQ(node().BestSuccessor(third), 3u);
  EXPECT_EQ(node().BestSuccessor(std::span<const MemberId>()), kNone);
}

TEST_F(SuccessorTest, ALearnerIsNone) {
  Lead();
  Has(4, last());
  Has(2, last() - 1);
  EXPECT_EQ(node().BestSuccessor(), 2u);
}

}  // namespace
}  // namespace kvorum::raft
