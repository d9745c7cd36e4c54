// Members whose disk was wiped or brought back from an older copy: they lack what they have
// acknowledged.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "raft/bootstrap.h"
#include "raft/node.h"
#include "tests/raft/cluster.h"

namespace kvorum::raft {
namespace {

class LostDataTest : public testing::Test {
 protected:
  void Start(std::size_t voters, std::uint64_t max_append_size_bytes = 1U << 20) {
    std::vector<FirstMember> members(voters);
    for (std::size_t i = 0; i < voters; ++i)
      members[i] = {.id = MemberId{i + 1}, .context = SharedBytes::Static("{}")};
    Bootstrap bootstrap = MakeBootstrap(members);
    for (const FirstMember& first : members) {
      cluster_.Add({.id = first.id,
                    .seed = first.id.value(),
                    .takes_conf_change_v2 = true,
                    .max_append_size_bytes = max_append_size_bytes},
                   {.hard_state = bootstrap.hard_state, .entries = bootstrap.entries});
    }
    Work();
    node(1).Campaign();
    Work();
    ASSERT_EQ(node(1).role(), Role::kLeader);
  }

  // 1 is the only voter, and 2 a learner that has everything.
  void StartWithLearner() {
    Start(1);
    Write(5);
    cluster_.Add({.id = 2, .seed = 2, .takes_conf_change_v2 = true});
    ConfChangeV2 change{.changes = {{.type = ConfChangeType::kAddLearnerNode, .node_id = 2}}};
    node(1).ProposeConfChange(EntryType::kConfChangeV2, SharedBytes::Own(Encode(change)));
    Tick(3);
  }

  Member& member(std::uint64_t id) { return cluster_.member(MemberId{id}); }
  Node& node(std::uint64_t id) { return member(id).node(); }

  // Everybody works until nothing is left to do: at most this many rounds, since a cluster that
  // spins never ends. Returns the rounds.
  int Work(int most = 200) {
    for (int round = 0; round < most; ++round) {
      bool is_busy = false;
      for (auto& [id, member] : cluster_.members()) {
        if (!member.is_up()) continue;
        is_busy |= member.node().HasReady() || member.HasWrites() || member.HasToApply();
        if (member.node().HasReady()) {
          for (const Event& event : member.TakeReady().events) events_[id].insert(event.type);
        }
        if (member.HasWrites()) member.Persist();
        member.ApplyAll();
      }
      for (const Message& message : std::exchange(cluster_.network(), {})) {
        is_busy = true;
        if (cut_off_.contains(message.from) || cut_off_.contains(message.to)) continue;
        ++delivered_;
        cluster_.Deliver(message);
        Member& sender = cluster_.member(message.from);
        if (message.type == MessageType::kSnap && sender.is_up())
          sender.node().ReportSnapshot(message.to, true);
      }
      if (!is_busy) return round;
    }
    return most;
  }
  void Tick(int times) {
    for (int i = 0; i < times; ++i) {
      for (auto& [id, member] : cluster_.members()) {
        if (member.is_up()) member.node().Tick();
      }
      Work();
    }
  }
  // Proposed at the leader 1.
  void Write(int count) {
    for (int i = 0; i < count; ++i) {
      std::vector<SharedBytes> batch = {SharedBytes::Own("write " + std::to_string(++written_))};
      ASSERT_EQ(node(1).Propose(batch).accepted, 1);
      Work();
    }
  }
  bool Saw(std::uint64_t id, EventType type) { return events_[MemberId{id}].contains(type); }
  bool HasLeader() {
    return std::ranges::any_of(cluster_.members(), [](auto& item) {
      return item.second.is_up() && item.second.node().role() == Role::kLeader;
    });
  }
  bool HasEverything(std::uint64_t id) {
    return node(id).log().applied() == node(1).log().last_index();
  }
  // A heartbeat, and nothing else, gets through.
  void DeliverHeartbeat(std::uint64_t from, std::uint64_t to) {
    node(from).Tick();
    static_cast<void>(member(from).TakeReady());
    for (const Message& message : std::exchange(cluster_.network(), {}))
      if (message.to == to && message.type == MessageType::kHeartbeat) cluster_.Deliver(message);
  }
  // Member 1, whose disk was wiped, gets the first entry again from 2, and no more.
  void GetFirstEntry() {
    for (int i = 0; i < 100 && node(1).log().applied() < 1; ++i) {
      node(2).Tick();
      for (int round = 0; round < 10 && node(1).log().applied() < 1; ++round) Work(1);
    }
    ASSERT_EQ(node(1).log().last_index(), 1);
    ASSERT_EQ(node(1).log().applied(), 1);
  }
  Disk OlderCopyOf(std::uint64_t id, int writes_since) {
    Disk copy = member(id).disk();
    Write(writes_since);
    return copy;
  }

  Cluster cluster_;
  std::set<MemberId> cut_off_;
  std::map<MemberId, std::set<EventType>> events_;
  int delivered_ = 0;
  int written_ = 0;
};

TEST_F(LostDataTest, AWipedFollowerIsFilledAgainWithoutAStorm) {
  Start(3);
  Write(10);
  member(3).ReplaceDisk({});
  delivered_ = 0;
  Tick(10);
  EXPECT_LT(delivered_, 200) << "no storm of refusals";
  EXPECT_TRUE(HasEverything(3));
  EXPECT_TRUE(Saw(1, EventType::kFollowerLostData));
  EXPECT_TRUE(Saw(1, EventType::kFollowerMadeGood));
  EXPECT_TRUE(Saw(3, EventType::kDataLost));
  EXPECT_TRUE(Saw(3, EventType::kDataMadeGood));
  EXPECT_EQ(node(3).lost_data().index(), 0);
}

TEST_F(LostDataTest, AnOlderCopyIsFilledAgainThoughNobodyWrites) {
  Start(3);
  Write(2);
  const Disk older = OlderCopyOf(3, 5);
  member(3).ReplaceDisk(older);
  Tick(10);
  EXPECT_TRUE(HasEverything(3));
  EXPECT_TRUE(Saw(3, EventType::kDataMadeGood));
  Write(1);
  EXPECT_TRUE(HasEverything(3));
}

TEST_F(LostDataTest, AWipedFollowerIsFilledByASnapshotWhereTheLogIsCompacted) {
  Start(3);
  Write(10'000 / 100);
  member(1).Checkpoint();
  member(3).ReplaceDisk({});
  Tick(20);
  EXPECT_TRUE(HasEverything(3));
  EXPECT_FALSE(node(3).lost_data().stands());
}

TEST_F(LostDataTest, ItHelpsNobodyToLeadWhoLacksWhatItAcknowledged) {
  Start(3);
  cut_off_ = {MemberId{2}};
  Write(2);
  const Disk older = OlderCopyOf(3, 20);  // acknowledged by 1 and 3 alone
  member(3).ReplaceDisk(older);
  cut_off_ = {MemberId{2}, MemberId{3}};
  Tick(1);
  cut_off_ = {MemberId{2}};
  DeliverHeartbeat(1, 3);
  static_cast<void>(member(3).TakeReady());
  EXPECT_TRUE(node(3).lost_data().stands());
  member(1).Crash();
  cut_off_.clear();
  cluster_.network().clear();
  Tick(200);
  EXPECT_FALSE(HasLeader()) << "2 would lead with 3's vote, without what was committed";
  // It remembers, too.
  member(3).Crash();
  member(3).Start();
  Tick(200);
  EXPECT_FALSE(HasLeader());
  // With the one that has everything they go on.
  member(1).Start();
  Tick(200);
  EXPECT_TRUE(HasLeader());
  EXPECT_FALSE(node(3).lost_data().stands());
  EXPECT_EQ(node(2).log().applied(), node(3).log().applied());
  EXPECT_GE(node(2).log().applied().value(), 22);
}

TEST_F(LostDataTest, TheLeaderForgetsAtOnceWhatItIsToldIsLost) {
  Start(3);
  Write(5);
  cut_off_ = {MemberId{3}};
  Tick(1);
  EXPECT_EQ(node(1).tracker().progress().at(3).match, node(1).log().last_index());
  node(1).FollowerLostData(3);
  EXPECT_EQ(node(1).tracker().progress().at(3).match, 0);
  cut_off_.clear();
  Tick(5);
  EXPECT_EQ(node(1).tracker().progress().at(3).match, node(1).log().last_index());
  node(2).FollowerLostData(3);  // it does not lead
  node(1).FollowerLostData(1);
  EXPECT_EQ(node(1).tracker().progress().at(1).match, node(1).log().last_index());
}

TEST_F(LostDataTest, ItConfirmsNoReadUntilItIsWhole) {
  Start(3);
  Write(5);
  cut_off_ = {MemberId{2}};
  const Disk older = member(3).disk();
  Write(5);
  member(3).ReplaceDisk(older);
  node(3).LoseData();
  node(1).FollowerLostData(3);
  const std::size_t answered = cluster_.answered_reads();
  cluster_.Read(1);
  // Its answer to the heartbeat, before it has any entry.
  static_cast<void>(member(1).TakeReady());
  for (const Message& message : std::exchange(cluster_.network(), {}))
    if (message.to == 3 && message.type == MessageType::kHeartbeat) cluster_.Deliver(message);
  static_cast<void>(member(3).TakeReady());
  for (const Message& message : std::exchange(cluster_.network(), {}))
    if (message.type == MessageType::kHeartbeatResp) {
      EXPECT_TRUE(message.context.empty());
      cluster_.Deliver(message);
    }
  static_cast<void>(member(1).TakeReady());
  EXPECT_EQ(cluster_.answered_reads(), answered);
  Tick(10);
  EXPECT_EQ(cluster_.answered_reads(), answered + 1);
}

// Its request would be an answer to the leader's round, given beforehand.
TEST_F(LostDataTest, ItsOwnReadSaysNothingOfTheTermUntilItIsWhole) {
  Start(3);
  Write(5);
  const Disk older = member(3).disk();
  Write(5);
  const Message whole{.type = MessageType::kReadIndex,
                      .to = 1,
                      .from = 3,
                      .term = node(1).term(),
                      .entries = {{.data = EncodeContext(7)}}};
  const auto are_answered_at_once = [&](const Message& request) {
    EXPECT_TRUE(node(1).Step(request).has_value());
    return std::ranges::any_of(member(1).TakeReady().messages, [](const Message& message) {
      return message.type == MessageType::kReadIndexResp;
    });
  };
  EXPECT_TRUE(are_answered_at_once(whole));
  cluster_.network().clear();
  member(3).ReplaceDisk(older);
  node(3).LoseData();
  node(1).FollowerLostData(3);
  EXPECT_FALSE(are_answered_at_once(whole)) << "sent before the leader was told";
  for (const Message& message : std::exchange(cluster_.network(), {}))
    if (message.to == 3 && message.type == MessageType::kHeartbeat) cluster_.Deliver(message);
  ASSERT_TRUE(node(3).lost_data().stands());
  EXPECT_EQ(node(3).ReadIndex(8), Dropped::kNot);
  const Ready ready = member(3).TakeReady();
  const auto request = std::ranges::find(ready.messages, MessageType::kReadIndex, &Message::type);
  ASSERT_NE(request, ready.messages.end());
  EXPECT_EQ(request->term, 0);
}

TEST_F(LostDataTest, ToldSoItWaitsForWhatItMayHaveAcknowledgedToThisLeader) {
  Start(3);
  Write(3);
  const Disk older = OlderCopyOf(3, 10);
  member(3).ReplaceDisk(older);
  node(3).LoseData();
  EXPECT_EQ(node(3).lost_data().index(), 1);
  // The first append of this term tells how much is committed.
  const Index last = node(3).log().last_index();
  ASSERT_TRUE(node(3)
                  .Step({.type = MessageType::kApp,
                         .to = 3,
                         .from = 1,
                         .term = node(1).term(),
                         .log_term = node(3).log().last_term(),
                         .index = last,
                         .commit = node(1).log().committed()})
                  .has_value());
  EXPECT_TRUE(node(3).lost_data().stands());
  EXPECT_EQ(node(3).lost_data().index(), node(1).log().committed());
  Tick(10);
  EXPECT_FALSE(node(3).lost_data().stands());
}

TEST_F(LostDataTest, ToldSoWhenItIsFilledAlreadyItIsWholeThoughNobodyWrites) {
  Start(3);
  Write(5);
  node(3).LoseData();
  EXPECT_TRUE(node(3).lost_data().stands());
  Tick(10);
  EXPECT_FALSE(node(3).lost_data().stands());
}

TEST_F(LostDataTest, ALateRefusalProvesNothing) {
  Start(3);
  Write(5);
  const Index match = node(1).tracker().progress().at(3).match;
  for (int i = 0; i < 20; ++i) {
    // An old one comes again and again, between acknowledgements.
    ASSERT_TRUE(node(1)
                    .Step({.type = MessageType::kAppResp,
                           .reject = true,
                           .to = 1,
                           .from = 3,
                           .term = node(1).term(),
                           .index = 4,
                           .reject_hint = 3})
                    .has_value());
    Tick(1);
  }
  EXPECT_FALSE(Saw(1, EventType::kFollowerLostData));
  EXPECT_EQ(node(1).tracker().progress().at(3).match, match);
  Write(1);
  EXPECT_TRUE(HasEverything(3));
}

TEST_F(LostDataTest, ALeaderThatNeverForgetsIsAnsweredOnceAHeartbeat) {
  Start(3);
  Write(10);
  const Message append{.type = MessageType::kApp,
                       .to = 3,
                       .from = 1,
                       .term = node(1).term(),
                       .log_term = node(1).term(),
                       .index = node(1).log().last_index(),
                       .commit = node(1).log().committed()};
  member(3).ReplaceDisk({});
  const auto answers = [&] {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(node(3).Step(append).has_value());
  };
  const auto count = [&] {
    cluster_.network().clear();
    answers();
    static_cast<void>(member(3).TakeReady());
    member(3).Persist();
    static_cast<void>(member(3).TakeReady());
    return std::ranges::count(cluster_.network(), MessageType::kAppResp, &Message::type);
  };
  EXPECT_LE(count(), 1);
  node(3).Tick();
  EXPECT_EQ(count(), 1);
  node(3).Tick();
  EXPECT_EQ(count(), 1);
}

TEST_F(LostDataTest, ALearnerIsFilledAgainAndNotPromotedBefore) {
  StartWithLearner();
  ASSERT_TRUE(HasEverything(2));
  const Index all = node(1).log().last_index();
  EXPECT_TRUE(node(1).HasLately(2, all));
  EXPECT_FALSE(node(1).HasLately(2, all + 1));
  EXPECT_FALSE(node(2).HasLately(2, all)) << "it does not lead";
  member(2).ReplaceDisk({});
  for (int i = 0; i < 20 && !Saw(1, EventType::kFollowerLostData); ++i) {
    for (const std::uint64_t id : {std::uint64_t{1}, std::uint64_t{2}}) node(id).Tick();
    while (!Saw(1, EventType::kFollowerLostData) && Work(1) != 0) {
    }
  }
  ASSERT_TRUE(Saw(1, EventType::kFollowerLostData));
  EXPECT_FALSE(node(1).HasLately(2, all));
  Tick(6);
  EXPECT_TRUE(HasEverything(2));
  EXPECT_FALSE(node(2).lost_data().stands());
  EXPECT_TRUE(node(1).HasLately(2, all));
}

TEST_F(LostDataTest, WhatALearnerSaidLongAgoPromotesItNoMore) {
  StartWithLearner();
  const Index all = node(1).log().last_index();
  ASSERT_TRUE(node(1).HasLately(2, all));
  member(2).Crash();
  Tick(30);
  EXPECT_FALSE(node(1).HasLately(2, all));
  member(2).Start();
  Tick(3);
  EXPECT_TRUE(node(1).HasLately(2, all));
}

TEST_F(LostDataTest, InAJointConfigurationBothHalvesWait) {
  Start(3);
  cluster_.Add({.id = 4, .seed = 4, .takes_conf_change_v2 = true});
  ConfChangeV2 change{.transition = ConfChangeTransition::kJointExplicit,
                      .changes = {{.type = ConfChangeType::kAddNode, .node_id = 4},
                                  {.type = ConfChangeType::kRemoveNode, .node_id = 2}}};
  node(1).ProposeConfChange(EntryType::kConfChangeV2, SharedBytes::Own(Encode(change)));
  Tick(5);
  ASSERT_TRUE(node(3).tracker().IsJoint());
  cut_off_ = {MemberId{2}};
  const Disk older = OlderCopyOf(3, 10);
  member(3).ReplaceDisk(older);
  node(3).LoseData();
  member(1).Crash();
  cut_off_.clear();
  // 2 and 3 are a majority of the outgoing voters, 3 and 4 of the incoming ones; but 2 lacks the
  // last ten, and 3 may not help 4, either, which has them: it does not know that.
  Tick(200);
  EXPECT_FALSE(HasLeader());
  member(1).Start();
  Tick(200);
  EXPECT_TRUE(HasLeader());
  EXPECT_FALSE(node(3).lost_data().stands());
}

TEST_F(LostDataTest, AMemberThatIsAloneHasNobodyToWaitFor) {
  Start(1);
  Write(5);
  node(1).LoseData();
  EXPECT_FALSE(node(1).lost_data().stands());
  EXPECT_EQ(node(1).role(), Role::kLeader);
}

TEST_F(LostDataTest, AWipedMemberIsNotAloneWhereItHasGotNoMoreThanItsOwnAddition) {
  Start(3, 1);  // an entry a message
  Write(3);
  node(1).TransferLeadership(2);
  Tick(3);
  ASSERT_EQ(node(2).role(), Role::kLeader);
  member(1).ReplaceDisk({});
  node(1).LoseData();
  node(2).FollowerLostData(1);
  GetFirstEntry();
  ASSERT_TRUE(node(1).tracker().IsOnlyVoter(1)) << "entry 1 adds member 1; 2 and 3 are not known";
  DeliverHeartbeat(2, 1);
  EXPECT_TRUE(node(1).lost_data().stands());
  cut_off_ = {MemberId{1}};
  Tick(100);
  EXPECT_EQ(node(1).role(), Role::kFollower) << "it would lead without what is committed";
  EXPECT_EQ(node(1).log().last_index(), 1);
  // A restart does not make it forget.
  member(1).Crash();
  member(1).Start();
  Tick(100);
  EXPECT_EQ(node(1).role(), Role::kFollower);
  cut_off_.clear();
  Tick(50);
  EXPECT_FALSE(node(1).lost_data().stands());
  EXPECT_EQ(node(1).log().applied(), node(2).log().last_index());
}

TEST_F(LostDataTest, WhoIsToldSoWhileALeaderFillsItIsNotAlone) {
  Start(3, 1);
  Write(3);
  node(1).TransferLeadership(2);
  Tick(3);
  ASSERT_EQ(node(2).role(), Role::kLeader);
  member(1).ReplaceDisk({});
  node(2).FollowerLostData(1);
  GetFirstEntry();
  node(1).LoseData();
  EXPECT_TRUE(node(1).lost_data().stands());
  Tick(50);
  EXPECT_FALSE(node(1).lost_data().stands());
  EXPECT_EQ(node(1).log().applied(), node(2).log().last_index());
}

TEST_F(LostDataTest, AnOlderCopysEntriesThatWereNeverCommittedAreNotCommittedByAHeartbeat) {
  Start(3);
  Write(3);
  // 1 sends an entry to 3 before its own disk has it, and loses power.
  std::vector<SharedBytes> batch = {SharedBytes::Static("never committed")};
  ASSERT_EQ(node(1).Propose(batch).accepted, 1);
  static_cast<void>(member(1).TakeReady());
  member(1).Crash();
  cut_off_ = {MemberId{2}};
  Work();
  const Disk older = member(3).disk();
  const Index index = node(3).log().last_index();
  member(1).Start();
  ASSERT_LT(node(1).log().last_index(), index);
  // 2 leads with the vote of 1, puts another entry in its place, and 3 acknowledges that.
  cut_off_ = {MemberId{3}};
  node(1).Tick();
  for (int i = 0; i < 100 && !HasLeader(); ++i) Tick(1);
  cut_off_.clear();
  Tick(10);
  const std::uint64_t leader = node(1).role() == Role::kLeader ? 1 : 2;
  ASSERT_EQ(node(leader).role(), Role::kLeader);
  ASSERT_EQ(node(leader).log().last_index(), index);
  ASSERT_EQ(node(leader).tracker().progress().at(3).match, index);
  for (const bool is_told : {false, true}) {
    member(3).ReplaceDisk(older);
    if (is_told) node(3).LoseData();
    DeliverHeartbeat(leader, 3);
    EXPECT_LT(node(3).log().committed(), index) << "its entry is another one";
    Tick(30);
    EXPECT_EQ(node(3).log().applied(), index);
    EXPECT_FALSE(node(3).lost_data().stands());
  }
}

TEST_F(LostDataTest, AMemberThatIsAloneForgetsTheMarkWithWhichItStarts) {
  Start(1);
  Write(5);
  Disk marked = member(1).disk();
  marked.lost_data = 1;
  member(1).ReplaceDisk(marked);
  EXPECT_TRUE(node(1).lost_data().stands());
  Tick(50);
  EXPECT_FALSE(node(1).lost_data().stands());
  EXPECT_EQ(node(1).role(), Role::kLeader);
}

TEST_F(LostDataTest, ItHasNoSecondVoteInTheTermOfTheLeaderThatFillsIt) {
  Start(3);
  Write(5);
  const Term term = node(1).term();
  // Its lost disk held a vote for 2, which has not won.
  member(3).ReplaceDisk({});
  node(3).LoseData();
  node(1).FollowerLostData(3);
  Tick(10);
  ASSERT_FALSE(node(3).lost_data().stands());
  member(3).Crash();
  member(3).Start();
  ASSERT_EQ(node(3).term(), term);
  ASSERT_TRUE(node(3)
                  .Step({.type = MessageType::kVote,
                         .to = 3,
                         .from = 2,
                         .term = term,
                         .log_term = term,
                         .index = node(3).log().last_index()})
                  .has_value());
  cluster_.network().clear();
  static_cast<void>(member(3).TakeReady());
  ASSERT_EQ(cluster_.network().size(), 1);
  EXPECT_EQ(cluster_.network().front().type, MessageType::kVoteResp);
  EXPECT_TRUE(cluster_.network().front().reject);
}

TEST_F(LostDataTest, ALeaderThatIsToldSoLeadsNoLonger) {
  Start(3);
  Write(5);
  node(1).LoseData();
  EXPECT_EQ(node(1).role(), Role::kFollower);
  Tick(100);
  EXPECT_TRUE(HasLeader());
  EXPECT_FALSE(node(1).lost_data().stands());
}

}  // namespace
}  // namespace kvorum::raft
