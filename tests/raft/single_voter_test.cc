// A single voter: committed entries survive every crash, in any order in which the disk and the
// state machine report back.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "raft/bootstrap.h"
#include "raft/node.h"
#include "tests/raft/cluster.h"
#include "tests/raft/describe.h"

namespace kvorum::raft {
namespace {

constexpr MemberId kId = 7;

Disk BootstrappedDisk() {
  const FirstMember member{.id = kId, .context = SharedBytes::Static("{}")};
  Bootstrap bootstrap = MakeBootstrap({&member, 1});
  return {.hard_state = bootstrap.hard_state, .entries = std::move(bootstrap.entries)};
}

// A voter whose Readys, disk and state machine are worked on at once.
class SingleVoterTest : public testing::Test {
 protected:
  void Start(Config config = {.id = kId}) { member_ = &cluster_.Add(config, BootstrappedDisk()); }
  void Settle() {
    while (node().HasReady() || member_->HasWrites() || member_->HasToApply()) {
      Ready ready = member_->TakeReady();
      std::ranges::move(ready.read_states, std::back_inserter(read_states_));
      member_->Persist();
      member_->ApplyAll();
    }
  }
  void Lead() {
    Settle();
    node().Campaign();
    Settle();
    ASSERT_EQ(node().role(), Role::kLeader);
  }
  ProposeResult Propose(std::vector<std::string> data) {
    std::vector<SharedBytes> batch;
    for (std::string& item : data) batch.push_back(SharedBytes::Own(std::move(item)));
    return node().Propose(batch);
  }
  Node& node() { return member_->node(); }

  Cluster cluster_;
  Member* member_ = nullptr;
  std::vector<ReadState> read_states_;
};

TEST_F(SingleVoterTest, BecomesAMemberByItsFirstEntryAndThenLeads) {
  Start();
  EXPECT_EQ(node().conf_state(), ConfState{});
  node().Campaign();
  EXPECT_EQ(node().role(), Role::kFollower) << "it is no member before the entry is applied";
  Lead();
  EXPECT_EQ(node().conf_state().voters, std::vector<MemberId>{kId});
  EXPECT_EQ(node().term(), 2U);
  ASSERT_EQ(cluster_.history().size(), 2U);
  EXPECT_TRUE(cluster_.history()[1].data.empty()) << "an empty entry starts the term";
}

TEST_F(SingleVoterTest, LeadsByItselfAfterAtMostTwoElectionTimeouts) {
  Start({.id = kId, .election_ticks = 10});
  Settle();
  for (int tick = 0; tick < 20; ++tick) node().Tick();
  Settle();
  EXPECT_EQ(node().role(), Role::kLeader);
}

// Raft: thesis 3.8
TEST_F(SingleVoterTest, DoesNotLeadBeforeItsVoteIsOnDisk) {
  Start();
  Settle();
  node().Campaign();
  EXPECT_EQ(node().role(), Role::kCandidate);
  const Ready ready = member_->TakeReady();
  EXPECT_TRUE(ready.must_sync);
  ASSERT_TRUE(ready.hard_state.has_value());
  EXPECT_EQ(ready.hard_state->vote, kId);
  EXPECT_EQ(node().role(), Role::kCandidate);
  member_->Persist();
  EXPECT_EQ(node().role(), Role::kLeader);
}

TEST_F(SingleVoterTest, CommitsOnlyWhatIsOnDisk) {
  Start();
  Lead();
  EXPECT_EQ(Propose({"a", "b"}).accepted, 2U);
  Ready ready = member_->TakeReady();
  EXPECT_EQ(ready.entries.size(), 2U);
  EXPECT_TRUE(ready.must_sync);
  EXPECT_TRUE(ready.committed.empty());
  EXPECT_FALSE(node().HasReady());
  member_->Persist();
  EXPECT_TRUE(node().HasReady());
  ready = member_->TakeReady();
  EXPECT_EQ(ready.committed.size(), 2U);
  EXPECT_FALSE(ready.must_sync) << "a new commit index alone need not be synced";
  EXPECT_FALSE(node().HasReady());
}

TEST_F(SingleVoterTest, WritesOfSeveralReadysAreReportedAtOnce) {
  Start();
  Lead();
  std::uint64_t last = 0;
  for (const char* data : {"a", "b", "c"}) {
    Propose({data});
    last = member_->TakeReady().number;
  }
  member_->Persist(last);
  EXPECT_EQ(member_->TakeReady().committed.size(), 3U);
}

TEST_F(SingleVoterTest, SharesTheDataOfItsProposals) {
  Start();
  Lead();
  std::vector<SharedBytes> batch = {SharedBytes::Own("data that nobody copies")};
  const char* data = batch.front().data();
  node().Propose(batch);
  EXPECT_EQ(member_->TakeReady().entries.front().data.data(), data);
  member_->Persist();
  EXPECT_EQ(member_->TakeReady().committed.front().data.data(), data);
}

TEST_F(SingleVoterTest, DropsProposalsPastTheBoundOfWhatIsUncommitted) {
  Start({.id = kId, .max_uncommitted_size_bytes = 10});
  Lead();
  std::vector<SharedBytes> batch;
  for (int i = 0; i < 4; ++i) batch.push_back(SharedBytes::Copy("1234"));
  const ProposeResult result = node().Propose(batch);
  EXPECT_EQ(result.accepted, 2U);
  EXPECT_EQ(result.dropped, Dropped::kTooMuchPending);
  EXPECT_TRUE(batch[1].empty());
  EXPECT_EQ(batch[2].view(), "1234") << "what was not taken is left to the caller";
  EXPECT_EQ(node().log().uncommitted_data_bytes(), 8U);
  Settle();
  EXPECT_EQ(node().log().uncommitted_data_bytes(), 0U);
  EXPECT_EQ(Propose({std::string(100, 'x')}).accepted, 1U) << "one may always go alone";
  EXPECT_EQ(ProposalDropped().message, "raft proposal dropped");
}

TEST_F(SingleVoterTest, DropsProposalsPastTheBoundOfWhatIsNotApplied) {
  Start({.id = kId, .max_unapplied_size_bytes = 2 * (sizeof(Entry) + 4)});
  Lead();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Propose({"1234"}).accepted, 1U);
    member_->TakeReady();
    member_->Persist();
  }
  EXPECT_EQ(Propose({"1234"}).dropped, Dropped::kTooMuchPending) << "committed, but not applied";
  member_->TakeReady();
  member_->ApplyOne();
  EXPECT_EQ(Propose({"12"}).accepted, 1U);
  Settle();
  EXPECT_EQ(Propose({std::string(1000, 'x')}).accepted, 1U) << "one may always go alone";
}

TEST_F(SingleVoterTest, DropsProposalsAndReadsWithoutALeader) {
  Start();
  Settle();
  const ProposeResult result = Propose({"a"});
  EXPECT_EQ(result.accepted, 0U);
  EXPECT_EQ(result.dropped, Dropped::kNoLeader);
  EXPECT_EQ(node().ReadIndex(1), Dropped::kNoLeader);
}

TEST_F(SingleVoterTest, GivesOutWhatIsToBeAppliedWithinABound) {
  Start({.id = kId, .max_applying_size_bytes = 3 * (sizeof(Entry) + 1)});
  Lead();
  Propose({"1", "2", "3", "4", "5"});
  member_->TakeReady();
  member_->Persist();
  EXPECT_EQ(member_->TakeReady().committed.size(), 3U);
  EXPECT_FALSE(node().HasReady());
  member_->ApplyOne();
  EXPECT_EQ(member_->TakeReady().committed.size(), 1U);
  Settle();
  EXPECT_EQ(node().log().applied(), node().log().last_index());
}

TEST_F(SingleVoterTest, AnswersReadsAtTheCommitIndex) {
  Start();
  Lead();
  Propose({"a"});
  Settle();
  const Index committed = node().log().committed();
  EXPECT_EQ(node().ReadIndex(41), Dropped::kNot);
  EXPECT_EQ(node().ReadIndex(42), Dropped::kNot);
  Settle();
  EXPECT_EQ(read_states_, (std::vector<ReadState>{{41, committed}, {42, committed}}));
}

// Raft: thesis 6.4
TEST_F(SingleVoterTest, AnswersNoReadBeforeItHasCommittedInItsTerm) {
  Start();
  Settle();
  node().Campaign();
  member_->TakeReady();
  member_->Persist();
  ASSERT_EQ(node().role(), Role::kLeader);
  EXPECT_EQ(node().ReadIndex(5), Dropped::kNot);
  EXPECT_TRUE(member_->TakeReady().read_states.empty());
  member_->Persist();  // the empty entry
  EXPECT_EQ(member_->TakeReady().read_states, (std::vector<ReadState>{{5, 2}}));
}

TEST_F(SingleVoterTest, ReadsThatWaitAreBounded) {
  Start({.id = kId, .max_pending_reads = 2});
  Settle();
  node().Campaign();
  member_->TakeReady();
  member_->Persist();
  EXPECT_EQ(node().ReadIndex(1), Dropped::kNot);
  EXPECT_EQ(node().ReadIndex(2), Dropped::kNot);
  EXPECT_EQ(node().ReadIndex(3), Dropped::kTooMuchPending);
}

TEST_F(SingleVoterTest, CompactionKeepsEntriesForFollowersWithinBothBounds) {
  Start({.id = kId, .catch_up_entries = 3, .catch_up_size_bytes = 10000});
  Lead();
  Propose({"a", "b", "c", "d", "e"});
  Settle();
  EXPECT_EQ(node().log().size(), 7U);
  node().Compact(4);
  EXPECT_EQ(node().log().first_index(), 5U);
  node().Compact(7);
  EXPECT_EQ(node().log().first_index(), 5U) << "three are kept";
  Propose({std::string(9990, 'x')});
  Settle();
  node().Compact(8);
  EXPECT_EQ(node().log().size(), 0U) << "a large one is not";
  EXPECT_EQ(node().log().last_index(), 8U);
  EXPECT_EQ(node().log().TermAt(8), node().term());
  Propose({"f"});
  Settle();
  EXPECT_EQ(cluster_.history().back().data.view(), "f");
}

TEST_F(SingleVoterTest, CompactionNeverDropsWhatIsNotApplied) {
  Start({.id = kId, .catch_up_entries = 0});
  Lead();
  Propose({"a", "b"});
  member_->TakeReady();
  member_->Persist();
  node().Compact(4);
  EXPECT_EQ(node().log().first_index(), 3U);
}

TEST_F(SingleVoterTest, APeersNonsenseIsRefusedAndChangesNothing) {
  Start();
  Lead();
  const HardState before = node().hard_state();
  for (int type = 0; type <= 23; ++type) {
    const auto step = [&](Message message) {
      message.type = static_cast<MessageType>(type);
      return node().Step(std::move(message)).has_value();
    };
    EXPECT_FALSE(step({.term = 1})) << "no sender";
    EXPECT_FALSE(step({.to = 99, .from = 3, .term = 1})) << "another receiver";
    EXPECT_FALSE(step({.from = 3, .term = Term{UINT64_MAX}})) << "a term that cannot be";
    node().CheckInvariants();
  }
  EXPECT_FALSE(node().Step({.type = MessageType::kSnap, .from = 3, .term = 9}).has_value());
  EXPECT_FALSE(node()
                   .Step({.type = MessageType::kApp,
                          .from = 3,
                          .term = 9,
                          .index = 1,
                          .entries = {{.term = 1, .index = 3}}})
                   .has_value());
  EXPECT_EQ(node().hard_state(), before);
}

TEST_F(SingleVoterTest, RefusesADiskThatContradictsItself) {
  const auto code = [](Restart restart) {
    return Node::Create({.id = kId}, std::move(restart)).error().code;
  };
  const Entry first{.term = 1, .index = 1};
  EXPECT_EQ(code({.hard_state = {.term = 1, .commit = 1}}), Code::kDataLoss);
  EXPECT_EQ(code({.entries = {{.term = 1, .index = 2}}}), Code::kDataLoss);
  EXPECT_EQ(code({.entries = {first, first}}), Code::kDataLoss);
  EXPECT_EQ(code({.entries = {{.term = 2, .index = 1}, {.term = 1, .index = 2}}}), Code::kDataLoss);
  EXPECT_EQ(code({.entries = {first}, .applied = 2}), Code::kDataLoss);
  EXPECT_EQ(code({.snapshot_index = 5, .snapshot_term = 1, .applied = 4}), Code::kDataLoss);
  EXPECT_EQ(code({.conf_state = {.voters = {1, 1}}}), Code::kFailedPrecondition);
  EXPECT_FALSE(Node::Create({.id = kNone}, {}).has_value());
  EXPECT_FALSE(
      Node::Create({.id = kId, .heartbeat_ticks = 5, .election_ticks = 5}, {}).has_value());
}

// Raft: paper 5.5
TEST_F(SingleVoterTest, AHardStateTornOffItsEntriesIsMadeUp) {
  // The entries of term 3 reached the disk, the hard state after them did not.
  Cluster cluster;
  Member& member = cluster.Add({.id = kId}, {.hard_state = {.term = 2, .vote = 9, .commit = 0},
                                             .entries = {{.term = 3, .index = 1}}});
  EXPECT_EQ(member.node().hard_state(), (HardState{.term = 3}));
  EXPECT_EQ(member.TakeReady().hard_state, (HardState{.term = 3}));
}

TEST_F(SingleVoterTest, TheFirstOfTwoConfigurationChangesInALogIsCommitted) {
  // The second one was proposed when the first one was applied; the hard state that said so is torn
  // off.
  const auto change = [](Index index, MemberId id) {
    const ConfChange change{.type = ConfChangeType::kAddNode, .node_id = id};
    return Entry{.term = 1,
                 .index = index,
                 .type = EntryType::kConfChange,
                 .data = SharedBytes::Own(Encode(change))};
  };
  Cluster cluster;
  Member& member = cluster.Add({.id = kId}, {.hard_state = {.term = 1},
                                             .entries = {change(1, kId),
                                                         {.term = 1, .index = 2},
                                                         change(3, 8),
                                                         {.term = 1, .index = 4},
                                                         change(5, 9)}});
  EXPECT_EQ(member.node().hard_state().commit, 3U);
}

// --- random interleavings ----------------------------------------------------------------------

// Runs one history from a seed and returns all of its Readys as text.
std::string RunRandomHistory(std::uint64_t seed) {
  Rng rng(seed);
  Cluster cluster;
  const Config config{.id = kId,
                      .seed = seed,
                      .max_uncommitted_size_bytes = 100 + rng.Below(400),
                      .max_unapplied_size_bytes = 100 + rng.Below(400),
                      .max_applying_size_bytes = 100 + rng.Below(400),
                      .catch_up_entries = rng.Below(5)};
  Member& member = cluster.Add(config, BootstrappedDisk());
  std::string text;
  std::vector<Entry> acknowledged;  // applied, so a client may know
  int proposals = 0;
  for (unsigned step = 0; step < 400; ++step) {
    switch (rng.Below(10)) {
      case 0:
      case 1: {
        std::vector<SharedBytes> batch(1 + rng.Below(4));
        for (SharedBytes& data : batch)
          data = SharedBytes::Own("data " + std::to_string(++proposals));
        member.node().Propose(batch);
        break;
      }
      case 2:
      case 3:
        if (member.node().HasReady()) text += Describe(member.TakeReady());
        break;
      case 4:
      case 5:
        // Now and then only up to an older Ready.
        if (member.HasWrites()) member.Persist(rng.OneIn(2) ? 0 : 1 + rng.Below(step + 1UL));
        break;
      case 6:
        if (member.HasToApply()) member.ApplyOne();
        break;
      case 7:
        cluster.Read(kId);
        break;
      case 8:
        if (rng.OneIn(3)) member.Checkpoint();
        for (int ticks = static_cast<int>(rng.Below(25)); ticks > 0; --ticks) member.node().Tick();
        break;
      default:
        if (!rng.OneIn(4)) break;
        acknowledged = cluster.history();
        member.Crash(rng.Below(member.UnsyncedSteps() + 1));
        member.Start();
        member.CheckHolds(acknowledged);
        text += "restart\n" + DescribeStatus(member.node());
        break;
    }
    member.node().CheckInvariants();
  }
  return text;
}

TEST(SingleVoterHistoryTest, WhatWasAppliedSurvivesEveryCrash) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    RunRandomHistory(seed);
  }
}

TEST(SingleVoterHistoryTest, OneSeedIsOneHistory) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(RunRandomHistory(seed), RunRandomHistory(seed));
  EXPECT_NE(RunRandomHistory(1), RunRandomHistory(2));
}

}  // namespace
}  // namespace kvorum::raft
