// The comparison of terms (Node::AgreeOnTerm, paper section 5.1): each kind of message that a
// member may send, with a term lower than ours, the same, and a higher one. The receiver is member
// 1 of voters 1 to 3, in term 5, and follows member 2.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "raft/node.h"
#include "tests/raft/describe.h"

namespace kvorum::raft {
namespace {

constexpr Term kOurs = 5;
constexpr MemberId kLeader = 2;
constexpr MemberId kOther = 3;

// The outcome of a message of a higher term.
enum class Higher : std::uint8_t {
  kStays,    // it is handled in our term: it is a request without a term, or about a later one
  kIgnored,  // a vote while a leader is alive
  kFollows,  // we follow its term without a leader; we begin no election that it asks for
  kLed,      // and its sender leads it
};

struct Row {
  MessageType type;
  std::optional<MessageType> answer_to_lower;  // it is ignored either way
  Higher higher;
  bool is_request = false;  // its term means nothing, a lower one neither
  bool rejects = false;
};

const Row kRows[] = {
    {MessageType::kProp, std::nullopt, Higher::kStays, /*is_request=*/true},
    {MessageType::kReadIndex, std::nullopt, Higher::kStays, /*is_request=*/true},
    {MessageType::kApp, MessageType::kAppResp, Higher::kLed},
    {MessageType::kHeartbeat, MessageType::kAppResp, Higher::kLed},
    {MessageType::kSnap, std::nullopt, Higher::kLed},
    {MessageType::kAppResp, std::nullopt, Higher::kFollows},
    {MessageType::kHeartbeatResp, std::nullopt, Higher::kFollows},
    {MessageType::kVoteResp, std::nullopt, Higher::kFollows},
    {MessageType::kPreVoteResp, std::nullopt, Higher::kStays},
    {MessageType::kPreVoteResp, std::nullopt, Higher::kFollows, false, /*rejects=*/true},
    {MessageType::kVote, std::nullopt, Higher::kIgnored},
    {MessageType::kPreVote, MessageType::kPreVoteResp, Higher::kIgnored},
    {MessageType::kTransferLeader, std::nullopt, Higher::kFollows},
    {MessageType::kTimeoutNow, std::nullopt, Higher::kFollows},
    {MessageType::kReadIndexResp, std::nullopt, Higher::kFollows},
};

std::unique_ptr<Node> FollowerInTermFive() {
  Restart disk{.hard_state = {.term = kOurs, .vote = kNone, .commit = 2}};
  for (Index index = 1; index <= 3; ++index)
    disk.entries.push_back({.term = kOurs, .index = index, .data = SharedBytes::Static("data")});
  disk.conf_state = {.voters = {1, 2, 3}, .learners = {}};
  std::unique_ptr<Node> node = Node::Create({.id = 1, .seed = 1}, std::move(disk)).value();
  EXPECT_TRUE(node->Step({.type = MessageType::kHeartbeat,
                          .to = 1,
                          .from = kLeader,
                          .term = kOurs,
                          .commit = 2})
                  .has_value());
  node->TakeReady();
  return node;
}

// A message of this kind that nothing but its term says anything against.
Message MessageOf(MessageType type, Term term) {
  Message message{.type = type, .to = 1, .from = kLeader, .term = term};
  switch (type) {
    case MessageType::kApp:
      message.index = 3;
      message.log_term = kOurs;
      break;
    case MessageType::kSnap: {
      const SnapshotMetadata metadata{
          .conf_state = {.voters = {1, 2, 3}, .learners = {}}, .index = 2, .term = 1};
      message.snapshot =
          std::make_shared<const Snapshot>(Snapshot{.data = {}, .metadata = metadata});
      break;
    }
    case MessageType::kVote:
    case MessageType::kPreVote:
      message.from = kOther;
      message.index = 3;
      message.log_term = kOurs;
      break;
    case MessageType::kProp:
    case MessageType::kReadIndex:
    case MessageType::kReadIndexResp:
      message.entries = {{.data = SharedBytes::Static("12345678")}};
      break;
    default:
      break;
  }
  return message;
}

struct Effect {
  bool is_ignored = false;  // with an event that says so
  std::vector<MessageType> answers;
};

Effect StepOn(Node& node, Message message) {
  const auto stepped = node.Step(std::move(message));
  EXPECT_TRUE(stepped.has_value()) << stepped.error().message;
  node.CheckInvariants();
  const Ready ready = node.TakeReady();
  Effect effect;
  for (const Event& event : ready.events) {
    effect.is_ignored |=
        event.type == EventType::kTermIgnored || event.type == EventType::kVoteIgnored;
  }
  for (const Message& sent : ready.messages) effect.answers.push_back(sent.type);
  return effect;
}

class AgreeOnTermTest : public testing::TestWithParam<Row> {
 protected:
  Message Sent(Term term) const {
    Message message = MessageOf(GetParam().type, term);
    message.reject = GetParam().rejects;
    return message;
  }
  std::unique_ptr<Node> node_ = FollowerInTermFive();
};

// Raft: paper 5.1
TEST_P(AgreeOnTermTest, ALowerTermIsIgnored) {
  const Effect effect = StepOn(*node_, Sent(kOurs - 1));
  EXPECT_EQ(effect.is_ignored, !GetParam().is_request);
  EXPECT_EQ(node_->term(), kOurs);
  EXPECT_EQ(node_->leader(), kLeader);
  if (GetParam().is_request) return;
  std::vector<MessageType> expected;
  if (GetParam().answer_to_lower.has_value()) expected.push_back(*GetParam().answer_to_lower);
  EXPECT_EQ(effect.answers, expected);
}

TEST_P(AgreeOnTermTest, TheSameTermIsHandled) {
  const Effect effect = StepOn(*node_, Sent(kOurs));
  EXPECT_FALSE(effect.is_ignored);
  // Only what asks for an election begins a term.
  const bool begins_term = GetParam().type == MessageType::kTimeoutNow;
  EXPECT_EQ(node_->term(), begins_term ? kOurs + 1 : kOurs);
  EXPECT_EQ(node_->leader(), begins_term ? kNone : kLeader);
}

TEST_P(AgreeOnTermTest, AHigherTermIsFollowedUnlessItMayNeverBegin) {
  const Effect effect = StepOn(*node_, Sent(kOurs + 2));
  const Higher higher = GetParam().higher;
  EXPECT_EQ(effect.is_ignored, higher == Higher::kIgnored);
  const bool stays = higher == Higher::kStays || higher == Higher::kIgnored;
  EXPECT_EQ(node_->term(), stays ? kOurs : kOurs + 2);
  EXPECT_EQ(node_->leader(), stays || higher == Higher::kLed ? kLeader : kNone);
}

INSTANTIATE_TEST_SUITE_P(EachKind, AgreeOnTermTest, testing::ValuesIn(kRows), [](const auto& row) {
  return std::string(Name(row.param.type)) + (row.param.rejects ? "Rejecting" : "");
});

TEST(TermsTest, EveryKindThatAMemberMaySendIsInTheTable) {
  for (int number = 0; number <= static_cast<int>(MessageType::kForgetLeader); ++number) {
    const auto type = static_cast<MessageType>(number);
    EXPECT_EQ(std::ranges::find(kRows, type, &Row::type) != std::end(kRows), IsFromPeer(type))
        << Name(type);
  }
}

// ---- votes of a higher term, by what the receiver knows of a leader ----

TEST(TermsTest, WithoutALeaderAVoteOfAHigherTermIsFollowed) {
  const auto node = FollowerInTermFive();
  for (int tick = 0; tick < 10; ++tick) node->Tick();  // an election time-out without the leader
  node->TakeReady();
  const Term before = node->term();
  EXPECT_FALSE(StepOn(*node, MessageOf(MessageType::kPreVote, before + 2)).is_ignored);
  EXPECT_EQ(node->term(), before) << "that term may never begin";
  EXPECT_FALSE(StepOn(*node, MessageOf(MessageType::kVote, before + 2)).is_ignored);
  EXPECT_EQ(node->term(), before + 2);
}

TEST(TermsTest, AVoteThatTheLeaderAskedForIsFollowedThoughItLives) {
  const auto node = FollowerInTermFive();
  Message vote = MessageOf(MessageType::kVote, kOurs + 1);
  vote.context = SharedBytes::Static("CampaignTransfer");
  EXPECT_FALSE(StepOn(*node, std::move(vote)).is_ignored);
  EXPECT_EQ(node->term(), kOurs + 1);
}

TEST(TermsTest, AnAnswerOfNoMemberIsNotFollowed) {
  const auto node = FollowerInTermFive();
  Message answer = MessageOf(MessageType::kAppResp, kOurs + 1);
  answer.from = 9;
  StepOn(*node, std::move(answer));
  EXPECT_EQ(node->term(), kOurs);
}

}  // namespace
}  // namespace kvorum::raft
