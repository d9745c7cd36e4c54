// That what the simulation forges gets as far as the rule that it is to test: but for the joint
// change a member would take it.
#include "tests/sim/judges/forged_changes.h"

#include <gtest/gtest.h>

#include <memory>

#include "raft/message_check.h"

namespace kvorum::sim {
namespace {

using raft::Message;
using raft::MessageType;

constexpr raft::MemberId kSender{1};
constexpr raft::MemberId kMember{2};

raft::Receiver Receiver(bool takes_conf_change_v2) {
  return {.id = kMember, .term = raft::Term{3}, .takes_conf_change_v2 = takes_conf_change_v2};
}

void ExpectJointAlone(const Message& message) {
  EXPECT_TRUE(CheckMessage(message, Receiver(true)).has_value());
  EXPECT_FALSE(CheckMessage(message, Receiver(false)).has_value());
}

Message From(MessageType type) {
  return {.type = type, .to = kMember, .from = kSender, .term = raft::Term{3}};
}

TEST(ForgedChanges, AnAppendEndsWithOne) {
  Rng rng(1);
  Message append = From(MessageType::kApp);
  EXPECT_FALSE(WithForgedChange(append, rng).has_value()) << "it has no entries";
  append.entries.push_back({.term = raft::Term{3}, .index = raft::Index{1}});
  append.entries.push_back({.term = raft::Term{3}, .index = raft::Index{2}});
  ASSERT_TRUE(CheckMessage(append, Receiver(false)).has_value());
  const auto forged = WithForgedChange(append, rng);
  ASSERT_TRUE(forged.has_value());
  EXPECT_EQ(forged->entries.front(), append.entries.front());
  ExpectJointAlone(*forged);
}

TEST(ForgedChanges, AnAnswerToTheLeaderBecomesAProposal) {
  Rng rng(1);
  EXPECT_FALSE(WithForgedChange(From(MessageType::kHeartbeat), rng).has_value());
  const auto forged = WithForgedChange(From(MessageType::kAppResp), rng);
  ASSERT_TRUE(forged.has_value());
  EXPECT_EQ(forged->type, MessageType::kProp);
  ExpectJointAlone(*forged);
}

TEST(ForgedChanges, ASnapshotsConfigurationIsJoint) {
  Rng rng(1);
  raft::Snapshot content;
  content.metadata.index = raft::Index{7};
  content.metadata.term = raft::Term{3};
  content.metadata.conf_state.voters = {kSender, kMember};
  Message snapshot = From(MessageType::kSnap);
  snapshot.snapshot = std::make_shared<const raft::Snapshot>(content);
  ASSERT_TRUE(CheckMessage(snapshot, Receiver(false)).has_value());
  ExpectJointAlone(WithForgedConfiguration(snapshot, rng));
}

}  // namespace
}  // namespace kvorum::sim
