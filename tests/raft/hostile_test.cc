// A member whose peers send any well-formed messages: of any type, from anybody, with terms,
// indexes and commits that are old, absurd or about to wrap. It may be led astray (Raft promises
// nothing among liars), but it may not die, contradict itself or grow without bound, and plain
// nonsense changes nothing.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "raft/read_queue.h"
#include "tests/raft/victim.h"

namespace kvorum::raft {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// A number that is around one that means something.
template <class Number>
Number Around(Rng& rng, std::initializer_list<Number> known) {
  switch (rng.Below(12)) {
    case 0:
      return 0;
    case 1:
      return Number{kMax - rng.Below(3)};
    case 2:
      return Number{kMax / 2 - 1 + rng.Below(3)};
    case 3:
      return Number{std::uint64_t{1} << rng.Below(64)};
    default:
      return known.begin()[rng.Below(known.size())] + rng.Below(5) - 2;
  }
}

SharedBytes SomeData(Rng& rng, EntryType type) {
  if (rng.OneIn(5)) return SharedBytes::Own(std::string(rng.Below(400), 'x'));
  if (type == EntryType::kNormal) return SharedBytes::Static("data");
  const MemberId id{rng.Below(7)};
  const auto change = static_cast<ConfChangeType>(rng.Below(4));
  if (type == EntryType::kConfChange)
    return SharedBytes::Own(Encode(ConfChange{.type = change, .node_id = id}));
  ConfChangeV2 joint{.transition = static_cast<ConfChangeTransition>(rng.Below(3))};
  for (std::uint64_t i = rng.Below(4); i > 0; --i)
    joint.changes.push_back(
        {.type = static_cast<ConfChangeType>(rng.Below(4)), .node_id = MemberId{rng.Below(7)}});
  return SharedBytes::Own(Encode(joint));
}

std::vector<Entry> SomeEntries(Rng& rng, const Message& message) {
  std::vector<Entry> entries(rng.Below(4));
  Index index = message.index;
  Term term = message.log_term;
  for (Entry& entry : entries) {
    entry.index = ++index;
    if (rng.OneIn(3)) term += rng.Below(3);
    entry.term = term;
    if (rng.OneIn(4)) entry.type = static_cast<EntryType>(rng.Below(3));
    if (rng.OneIn(15)) entry.index = Index{rng()};
    if (rng.OneIn(15)) entry.term = Term{rng()};
    entry.data = SomeData(rng, entry.type);
  }
  return entries;
}

std::vector<MemberId> SomeMembers(Rng& rng) {
  std::vector<MemberId> ids(rng.Below(4));
  for (MemberId& id : ids) id = MemberId{rng.Below(6)};
  return ids;
}

Message SomeMessage(Rng& rng, const Node& node) {
  const Log& log = node.log();
  Message message;
  message.type = static_cast<MessageType>(rng.Below(24));
  message.reject = rng.OneIn(3);
  message.to = rng.OneIn(20) ? MemberId{rng.Below(6)} : Victim::kId;
  message.from = MemberId{rng.OneIn(20) ? rng() : rng.Below(6)};
  message.term = rng.OneIn(4) ? Around(rng, {node.term()}) : node.term() + rng.Below(2);
  message.index = Around(rng, {log.last_index(), log.committed(), log.applied(), log.persisted(),
                               log.snapshot_index(), Index{}});
  message.log_term =
      rng.OneIn(4) ? Around(rng, {node.term()}) : log.TermAt(message.index).value_or(node.term());
  message.commit = Around(rng, {log.last_index(), log.committed(), message.index});
  message.reject_hint = Around(rng, {log.last_index(), message.index});
  message.entries = SomeEntries(rng, message);
  if (message.type == MessageType::kReadIndexResp || message.type == MessageType::kReadIndex) {
    if (!rng.OneIn(4)) message.entries.assign(1, {.data = EncodeContext(rng.Below(10))});
  }
  switch (rng.Below(4)) {
    case 0:
      message.context = EncodeContext(rng.Below(20));
      break;
    case 1:
      message.context = SharedBytes::Static(kTransferContext);
      break;
    case 2:
      message.context = SharedBytes::Own(std::string(rng.Below(100), 'c'));
      break;
    default:
      break;
  }
  if (message.type == MessageType::kSnap && !rng.OneIn(5)) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->metadata = {.conf_state = {.voters = SomeMembers(rng), .learners = SomeMembers(rng)},
                          .index = Around(rng, {log.last_index(), log.committed()}),
                          .term = Around(rng, {node.term()})};
    if (rng.OneIn(2)) snapshot->metadata.conf_state = {.voters = {1, 2, 3}};
    // One far ahead leaves no room for anything else.
    if (!rng.OneIn(50)) snapshot->metadata.index = log.committed() + rng.Below(4);
    message.snapshot = std::move(snapshot);
  }
  return message;
}

void RandomStep(Rng& rng, Victim& victim, std::uint64_t& reads) {
  switch (rng.Below(20)) {
    case 0:
    case 1:
      return victim.Tick();
    case 2:
    case 3:
      return victim.TakeReady();
    case 4:
    case 5:
      return victim.PersistOne();
    case 6:
    case 7:
      return victim.ApplyOne();
    case 8: {
      std::vector<SharedBytes> batch(1 + rng.Below(3), SharedBytes::Static("proposed"));
      victim.node().Propose(batch);
      return;
    }
    case 9:
      victim.node().ReadIndex(++reads);
      return;
    case 10:
      if (rng.OneIn(4)) victim.node().TransferLeadership(MemberId{rng.Below(6)});
      if (rng.OneIn(4)) victim.node().ReportUnreachable(MemberId{rng.Below(6)});
      if (rng.OneIn(4)) victim.node().ReportSnapshot(MemberId{rng.Below(6)}, rng.OneIn(2));
      return;
    case 11:
      if (rng.OneIn(10)) victim.Restart();
      if (rng.OneIn(3)) victim.Compact();
      if (rng.OneIn(4)) victim.Work();
      return;
    case 12: {
      // Help it to lead now and then: liars would not elect it.
      const MessageType type = victim.node().role() == Role::kPreCandidate
                                   ? MessageType::kPreVoteResp
                                   : MessageType::kVoteResp;
      const Term term = victim.node().term() + (type == MessageType::kPreVoteResp ? 1 : 0);
      for (MemberId from = 2; from <= 3; ++from)
        victim.Receive({.type = type, .to = Victim::kId, .from = from, .term = term});
      return;
    }
    default:
      victim.Receive(SomeMessage(rng, victim.node()));
  }
}

struct Outcome {
  std::string output;
  std::size_t refused = 0;
  bool has_led = false;
};

Outcome Play(std::uint64_t seed, int steps) {
  Rng rng(seed);
  Victim victim(seed);
  victim.KeepOutput();
  std::uint64_t reads = 0;
  Outcome outcome;
  for (int step = 0; step < steps; ++step) {
    RandomStep(rng, victim, reads);
    outcome.has_led |= victim.node().role() == Role::kLeader;
  }
  victim.Work();
  outcome.output = victim.output();
  outcome.refused = victim.refused();
  return outcome;
}

TEST(RaftHostileTest, NoWellFormedMessageBreaksAMember) {
  std::size_t refused = 0;
  std::size_t led = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Outcome outcome = Play(seed, 1500);
    refused += outcome.refused;
    led += outcome.has_led ? 1 : 0;
  }
  EXPECT_GT(refused, 10'000U);
  EXPECT_GT(led, 100U);
}

TEST(RaftHostileTest, EqualInputGivesEqualOutputByteForByte) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(Play(seed, 1000).output, Play(seed, 1000).output);
  EXPECT_NE(Play(1, 1000).output, Play(5, 1000).output);
}

// --- one by one ----------------------------------------------------------------------------------

Message FromLeader(const Victim&, MessageType type) {
  return {.type = type, .to = Victim::kId, .from = 2, .term = 4};
}

void MakeLeader(Victim& victim) {
  while (victim.node().role() != Role::kLeader) {
    if (victim.node().role() == Role::kFollower) victim.node().Campaign();
    victim.Work();
    const bool is_pre_vote = victim.node().role() == Role::kPreCandidate;
    victim.Receive({.type = is_pre_vote ? MessageType::kPreVoteResp : MessageType::kVoteResp,
                    .to = Victim::kId,
                    .from = 2,
                    .term = victim.node().term() + (is_pre_vote ? 1 : 0)});
    victim.Work();
  }
}

TEST(RaftHostileTest, AHeartbeatThatCommitsBeyondTheLogCommitsNothingThatItsSenderHasNotSent) {
  Victim victim(1);
  const Index before = victim.node().log().committed();
  Message heartbeat = FromLeader(victim, MessageType::kHeartbeat);
  heartbeat.commit = Index{kMax};
  victim.Receive(heartbeat);
  victim.Work();
  EXPECT_EQ(victim.node().log().committed(), before);
}

TEST(RaftHostileTest, AnAppendThatCommitsBeyondItsEntriesCommitsThoseOnly) {
  Victim victim(1);
  Message append = FromLeader(victim, MessageType::kApp);
  append.index = 3;
  append.log_term = 2;
  append.commit = Index{kMax};
  EXPECT_TRUE(victim.Receive(append));
  EXPECT_EQ(victim.node().log().committed(), 3U);
}

TEST(RaftHostileTest, AnAcknowledgementBeyondTheLogIsRefused) {
  Victim victim(1);
  MakeLeader(victim);
  const Index committed = victim.node().log().committed();
  EXPECT_FALSE(victim.Receive({.type = MessageType::kAppResp,
                               .to = Victim::kId,
                               .from = 2,
                               .term = victim.node().term(),
                               .index = victim.node().log().last_index() + 1}));
  EXPECT_EQ(victim.node().log().committed(), committed);
}

TEST(RaftHostileTest, TheAnswerToAReadComesFromTheLeaderAlone) {
  Victim victim(1);
  victim.Receive(FromLeader(victim, MessageType::kHeartbeat));
  ASSERT_EQ(victim.node().ReadIndex(7), Dropped::kNot);
  victim.Work();
  Message answer{.type = MessageType::kReadIndexResp, .to = Victim::kId, .from = 3, .term = 4};
  answer.entries.push_back({.data = EncodeContext(7)});
  victim.Receive(answer);
  EXPECT_FALSE(victim.node().HasReady());
  answer.from = 2;
  answer.term = 0;
  EXPECT_FALSE(victim.Receive(answer));
  answer.term = 4;
  EXPECT_TRUE(victim.Receive(answer));
  EXPECT_EQ(victim.node().TakeReady().read_states.size(), 1U);
}

TEST(RaftHostileTest, OnlyTheLeaderMayTellAFollowerToStand) {
  Victim victim(1);
  victim.Receive(FromLeader(victim, MessageType::kHeartbeat));
  Message order = FromLeader(victim, MessageType::kTimeoutNow);
  order.from = 3;
  victim.Receive(order);
  EXPECT_EQ(victim.node().role(), Role::kFollower);
  order.from = 2;
  victim.Receive(order);
  EXPECT_EQ(victim.node().role(), Role::kCandidate);
}

TEST(RaftHostileTest, LeadershipGoesToNoStranger) {
  Victim victim(1);
  MakeLeader(victim);
  for (const MemberId stranger : {MemberId{4}, MemberId{9}, MemberId{kMax}}) {  // 4 is a learner
    victim.Receive({.type = MessageType::kTransferLeader,
                    .to = Victim::kId,
                    .from = stranger,
                    .term = victim.node().term()});
    std::vector<SharedBytes> batch = {SharedBytes::Static("still taken")};
    EXPECT_EQ(victim.node().Propose(batch).accepted, 1U);
  }
}

TEST(RaftHostileTest, VotesOfStrangersElectNobody) {
  Victim victim(1);
  while (victim.node().role() != Role::kCandidate) {
    if (victim.node().role() == Role::kFollower) victim.node().Campaign();
    victim.Work();
    if (victim.node().role() != Role::kPreCandidate) continue;
    victim.Receive({.type = MessageType::kPreVoteResp,
                    .to = Victim::kId,
                    .from = 2,
                    .term = victim.node().term() + 1});
  }
  victim.Work();
  for (MemberId stranger = 4; stranger < 100; ++stranger) {
    victim.Receive({.type = MessageType::kVoteResp,
                    .to = Victim::kId,
                    .from = stranger,
                    .term = victim.node().term()});
  }
  EXPECT_EQ(victim.node().role(), Role::kCandidate);
}

// Raft: paper 5.1
TEST(RaftHostileTest, AnAbsurdTermIsRefusedAndALaterOneIsNot) {
  Victim victim(1);
  MakeLeader(victim);
  const Term term = victim.node().term();
  Message append{.type = MessageType::kHeartbeat, .to = Victim::kId, .from = 3};
  for (const Term absurd :
       {Term{kMax}, Term{kMax / 2}, Term{kMax / 2 + 1}, term + (std::uint64_t{1} << 33)}) {
    append.term = absurd;
    EXPECT_FALSE(victim.Receive(append));
    EXPECT_EQ(victim.node().role(), Role::kLeader);
  }
  append.term = term + 1000;
  EXPECT_TRUE(victim.Receive(append));
  EXPECT_EQ(victim.node().term(), term + 1000);
}

TEST(RaftHostileTest, AMemberThatKnowsNothingTakesAnyTerm) {
  const auto node = Node::Create({.id = 9}, {}).value();
  EXPECT_TRUE(node->Step({.type = MessageType::kHeartbeat,
                          .to = 9,
                          .from = 3,
                          .term = Term{std::uint64_t{1} << 40}})
                  .has_value());
  EXPECT_EQ(node->term(), Term{std::uint64_t{1} << 40});
}

TEST(RaftHostileTest, AnswersAndRequestsOfARemovedMemberChangeNothing) {
  Victim victim(1);
  MakeLeader(victim);
  const Term term = victim.node().term();
  for (const MessageType type : {MessageType::kAppResp, MessageType::kHeartbeatResp,
                                 MessageType::kVoteResp, MessageType::kPreVoteResp}) {
    victim.Receive({.type = type, .reject = true, .to = Victim::kId, .from = 9, .term = term + 5});
  }
  EXPECT_EQ(victim.node().term(), term);
  const Index last = victim.node().log().last_index();
  Message proposal{.type = MessageType::kProp, .to = Victim::kId, .from = 9};
  proposal.entries.push_back({.data = SharedBytes::Static("of one who left")});
  victim.Receive(proposal);
  EXPECT_EQ(victim.node().log().last_index(), last);
}

// Raft: paper 5.1
TEST(RaftHostileTest, AFloodOfOldTermsLeavesTheLeaderInPlace) {
  Victim victim(1);
  MakeLeader(victim);
  for (int i = 0; i < 100'000; ++i) {
    const auto type = i % 2 == 0 ? MessageType::kApp : MessageType::kPreVote;
    victim.Receive({.type = type, .to = Victim::kId, .from = 3, .term = 1});
    if (i % 1000 == 0) victim.Work();
  }
  EXPECT_EQ(victim.node().role(), Role::kLeader);
}

TEST(RaftHostileTest, WhatWaitsForAStuckDiskIsBounded) {
  Victim victim(1);
  victim.Receive(FromLeader(victim, MessageType::kHeartbeat));  // its term has to be written
  victim.TakeReady();
  for (int i = 0; i < 100'000; ++i) {
    victim.Receive({.type = MessageType::kPreVote, .to = Victim::kId, .from = 3, .term = 1});
    if (i % 100 == 0) victim.TakeReady();
  }
  const std::size_t before = victim.sent();
  victim.Work();
  EXPECT_GT(victim.sent(), before);
  EXPECT_LE(victim.sent() - before, WriteQueue::kMaxMessages + 10);
}

// A leader may send as fast as its quorum accepts; this member's state machine may be slower.
TEST(RaftHostileTest, AFollowerTakesNoMoreThanABoundBeforeItHasApplied) {
  Victim victim(1);
  const auto send = [&](Index index, Term log_term) {
    Message append = FromLeader(victim, MessageType::kApp);
    append.index = index - 1;
    append.log_term = log_term;
    append.commit = index;
    append.entries.push_back(
        {.term = 4, .index = index, .data = SharedBytes::Own(std::string(500, 'x'))});
    victim.Receive(append);
    victim.TakeReady();
    victim.PersistOne();
    return victim.node().log().last_index() == index;
  };
  ASSERT_TRUE(send(6, 3));
  Index index = 7;
  for (; send(index, 4); ++index) ASSERT_LT(index, 100U) << "it takes all that comes";
  EXPECT_GE(victim.node().log().unapplied_size_bytes(), 2500U) << "as it is configured";
  EXPECT_LE(victim.node().log().unapplied_size_bytes(), 3500U);
  EXPECT_EQ(victim.node().log().committed(), index - 1) << "what it has";
  EXPECT_FALSE(send(index, 4)) << "nor when it is sent again";
  victim.Work();
  EXPECT_EQ(victim.node().log().unapplied_size_bytes(), 0U);
  EXPECT_TRUE(send(index, 4));
}

// Neither as an entry of a leader, nor as a follower's proposal, nor in a snapshot, from which only
// such an entry would lead on: this victim could not apply it.
TEST(RaftHostileTest, AJointConfigurationComesInByNoDoor) {
  Victim victim(1);
  const Entry joint{
      .term = 4,
      .index = 6,
      .type = EntryType::kConfChangeV2,
      .data = SharedBytes::Own(Encode(ConfChangeV2{
          .changes = {{ConfChangeType::kAddNode, 5}, {ConfChangeType::kRemoveNode, 3}}}))};
  Message append = FromLeader(victim, MessageType::kApp);
  append.index = 5;
  append.log_term = 3;
  append.commit = 6;
  append.entries = {joint};
  EXPECT_FALSE(victim.Receive(append));

  Message snapshot = FromLeader(victim, MessageType::kSnap);
  const auto receive = [&](ConfState conf) {
    snapshot.snapshot = std::make_shared<const Snapshot>(
        Snapshot{.metadata = {.conf_state = std::move(conf), .index = 50, .term = 4}});
    return victim.Receive(snapshot);
  };
  EXPECT_FALSE(receive({.voters = {1, 2, 5}, .voters_outgoing = {1, 2, 3}, .auto_leave = true}));
  EXPECT_FALSE(receive({.voters = {1, 2, 3}, .auto_leave = true})) << "the leader would leave it";

  MakeLeader(victim);
  const Index last = victim.node().log().last_index();
  Message proposal{.type = MessageType::kProp, .to = Victim::kId, .from = 2};
  proposal.entries = {{.data = SharedBytes::Static("data")}, joint};
  EXPECT_FALSE(victim.Receive(proposal));
  EXPECT_EQ(victim.node().log().last_index(), last);

  // It goes on with the entries that it can apply.
  proposal.entries.pop_back();
  EXPECT_TRUE(victim.Receive(proposal));
  EXPECT_EQ(victim.node().log().last_index(), last + 1);
}

TEST(RaftHostileTest, ALogWithAJointChangeThatNobodyCouldApplyIsRefusedAtTheStart) {
  const auto create = [](bool takes_it, ConfState conf, EntryType type) {
    const Config config{.id = 1, .takes_conf_change_v2 = takes_it};
    const SharedBytes data = SharedBytes::Own(Encode(ConfChangeV2{.changes = {{{}, 2}}}));
    return Node::Create(config, {.hard_state = {.term = 1},
                                 .entries = {{.term = 1, .index = 1, .type = type, .data = data}},
                                 .conf_state = std::move(conf)})
        .has_value();
  };
  const ConfState joint{.voters = {1, 2}, .voters_outgoing = {1}};
  EXPECT_TRUE(create(false, {.voters = {1}}, EntryType::kNormal));
  EXPECT_FALSE(create(false, {.voters = {1}}, EntryType::kConfChangeV2));
  EXPECT_FALSE(create(false, joint, EntryType::kNormal));
  EXPECT_TRUE(create(true, joint, EntryType::kConfChangeV2));
}

TEST(RaftHostileTest, ASnapshotThatNobodyCouldHaveSentIsRefused) {
  Victim victim(1);
  Message message = FromLeader(victim, MessageType::kSnap);
  EXPECT_FALSE(victim.Receive(message)) << "none";
  const auto receive = [&](SnapshotMetadata metadata) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->metadata = std::move(metadata);
    message.snapshot = std::move(snapshot);
    return victim.Receive(message);
  };
  EXPECT_FALSE(receive({.conf_state = {.voters = {1, 2, 3}}, .index = Index{kMax}, .term = 4}));
  EXPECT_FALSE(receive({.conf_state = {.voters = {1, 2, 3}}, .index = 9, .term = 5}));
  EXPECT_FALSE(receive({.conf_state = {}, .index = 9, .term = 4})) << "without voters";
  EXPECT_FALSE(receive({.conf_state = {.voters = {1, 1}}, .index = 9, .term = 4}));
  EXPECT_EQ(victim.node().log().last_index(), 5U);
  EXPECT_TRUE(receive({.conf_state = {.voters = {1, 2, 3}}, .index = 9, .term = 4}));
  EXPECT_EQ(victim.node().log().last_index(), 9U);
}

}  // namespace
}  // namespace kvorum::raft
