// The small parts of a Node: its time, leadership transfer, pending changes, restored snapshots,
// and the first check of a message.
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "raft/leadership_transfer.h"
#include "raft/message_check.h"
#include "raft/pending_conf_change.h"
#include "raft/restored_snapshot.h"
#include "raft/timers.h"

namespace kvorum::raft {
namespace {

constexpr int kElectionTicks = 10;

// The number of ticks that a follower waits before it campaigns.
int TicksToElection(Timers& timers) {
  int ticks = 1;
  while (!timers.TickFollower()) ++ticks;
  return ticks;
}

// Raft: paper 5.2
TEST(TimersTest, AFollowerStandsBetweenOneAndTwoTimeOuts) {
  Timers timers(1, kElectionTicks, 1);
  std::set<int> seen;
  for (int round = 0; round < 500; ++round) {
    timers.Restart();
    seen.insert(TicksToElection(timers));
  }
  EXPECT_EQ(*seen.begin(), kElectionTicks);
  EXPECT_EQ(*seen.rbegin(), 2 * kElectionTicks - 1);
  EXPECT_EQ(seen.size(), std::size_t{kElectionTicks}) << "each in between, too";
}

TEST(TimersTest, OneSeedIsOneSequenceOfTimeOuts) {
  Timers one(7, kElectionTicks, 1);
  Timers other(7, kElectionTicks, 1);
  for (int round = 0; round < 100; ++round) {
    one.Restart();
    other.Restart();
    EXPECT_EQ(TicksToElection(one), TicksToElection(other));
  }
}

TEST(TimersTest, ATimeOutThatIsOverStaysOver) {
  Timers timers(1, kElectionTicks, 1);
  timers.Restart();
  TicksToElection(timers);
  EXPECT_TRUE(timers.TickFollower());
  timers.RestartElection();
  EXPECT_FALSE(timers.TickFollower());
}

TEST(TimersTest, WhoseLeaderDepartsStandsWithinHalfATimeOut) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Timers timers(seed, kElectionTicks, 1);
    timers.Restart();
    timers.HurryElection();
    EXPECT_LE(TicksToElection(timers), kElectionTicks / 2);
  }
}

TEST(TimersTest, ALeaderCountsElectionTimeOutsAndHeartbeats) {
  Timers timers(1, 3, 2);
  timers.Restart();
  const auto count = [](auto tick) {
    std::vector<bool> over;
    for (int i = 0; i < 6; ++i) over.push_back(tick());
    return over;
  };
  EXPECT_EQ(count([&] { return timers.TickLeader(); }),
            (std::vector<bool>{false, false, true, false, false, true}));
  EXPECT_EQ(count([&] { return timers.TickHeartbeat(); }),
            (std::vector<bool>{false, true, false, true, false, true}));
}

TEST(TimersTest, AQuorumIsLostAfterOneAndAHalfTimeOutsOfSilence) {
  Timers timers(1, kElectionTicks, 1);
  for (int i = 0; i < 14; ++i) timers.Advance();
  EXPECT_FALSE(timers.IsQuorumLost(0));
  timers.Advance();
  EXPECT_TRUE(timers.IsQuorumLost(0));
  EXPECT_FALSE(timers.IsQuorumLost(1));
}

TEST(TimersTest, TheSilenceCountsFromTheLastWord) {
  Timers timers(1, kElectionTicks, 1);
  for (int i = 0; i < 5; ++i) timers.Advance();
  EXPECT_EQ(timers.ticks_without_leader(), 5U);
  timers.HeardOfQuorum(3);
  timers.HeardOfQuorum(2);  // older news does not count
  EXPECT_EQ(timers.ticks_without_leader(), 2U);
  timers.HeardOfLeader();
  EXPECT_EQ(timers.ticks_without_leader(), 0U);
}

TEST(LeadershipTransferTest, AnOrderCountsAsLongAsTheLeaderWaits) {
  LeadershipTransfer transfer;
  EXPECT_FALSE(transfer.HasOrder());
  EXPECT_FALSE(transfer.TakeOrder(0));
  transfer.PostponeOrder(10);
  EXPECT_TRUE(transfer.HasOrder());
  EXPECT_TRUE(transfer.TakeOrder(9));
  EXPECT_FALSE(transfer.HasOrder()) << "obeyed once";
  transfer.PostponeOrder(10);
  EXPECT_FALSE(transfer.TakeOrder(10));
  transfer.PostponeOrder(10);
  transfer.ForgetOrder();
  EXPECT_FALSE(transfer.TakeOrder(9));
}

TEST(LeadershipTransferTest, AStalledDiskAllowsOneTry) {
  LeadershipTransfer transfer;
  EXPECT_TRUE(transfer.MayTryWithoutDisk());
  EXPECT_FALSE(transfer.MayTryWithoutDisk());
  transfer.DiskChanged();
  EXPECT_TRUE(transfer.MayTryWithoutDisk());
}

TEST(LeadershipTransferTest, EndsOnce) {
  LeadershipTransfer transfer;
  transfer.Start(3);
  EXPECT_TRUE(transfer.is_under_way());
  EXPECT_EQ(transfer.End(), 3U);
  EXPECT_FALSE(transfer.is_under_way());
  EXPECT_EQ(transfer.End(), kNone);
}

Entry ChangeEntry(Index index, ConfChangeType type, MemberId id) {
  return {.term = 1,
          .index = index,
          .type = EntryType::kConfChange,
          .data = SharedBytes::Own(Encode(ConfChange{.type = type, .node_id = id}))};
}

// Raft: thesis 4.1
TEST(PendingConfChangeTest, TheNextOneWaitsUntilTheLastIsApplied) {
  PendingConfChange pending;
  EXPECT_FALSE(pending.IsPending(0));
  pending.WaitFor(7);
  EXPECT_TRUE(pending.IsPending(6));
  EXPECT_FALSE(pending.IsPending(7));
}

TEST(PendingConfChangeTest, KnowsThatALeaderIsToLeave) {
  const ConfState conf{.voters = {1, 2, 3}};
  PendingConfChange pending;
  pending.WaitFor(7);
  pending.NoteIfLeaving(ChangeEntry(7, ConfChangeType::kRemoveNode, 2), conf, 1);
  EXPECT_FALSE(pending.is_leaving());
  pending.NoteIfLeaving(ChangeEntry(7, ConfChangeType::kRemoveNode, 1), conf, 1);
  EXPECT_TRUE(pending.is_leaving());
  EXPECT_FALSE(pending.IsLeavingCertain(6));
  EXPECT_TRUE(pending.IsLeavingCertain(7));
  pending.Applied(6);
  EXPECT_TRUE(pending.is_leaving());
  pending.Applied(7);
  EXPECT_FALSE(pending.is_leaving()) << "the configuration says so now";
}

TEST(PendingConfChangeTest, AChangeThatIsNoneOrIsRefusedEndsNothing) {
  const ConfState alone{.voters = {1}};
  PendingConfChange pending;
  pending.NoteIfLeaving(ChangeEntry(7, ConfChangeType::kRemoveNode, 1), alone, 1);
  EXPECT_FALSE(pending.is_leaving()) << "nobody would be left";
  Entry nonsense = ChangeEntry(7, ConfChangeType::kRemoveNode, 1);
  nonsense.data = SharedBytes::Static("\xff\xff");
  pending.NoteIfLeaving(nonsense, {.voters = {1, 2}}, 1);
  EXPECT_FALSE(pending.is_leaving());
}

TEST(RestoredSnapshotTest, IsDurableWhenItsOwnWriteIs) {
  RestoredSnapshot restored;
  EXPECT_TRUE(restored.IsDurable());
  const auto snapshot = std::make_shared<const Snapshot>();
  restored.Begin(snapshot, {.voters = {1, 2}});
  EXPECT_TRUE(restored.IsToBeWritten());
  EXPECT_FALSE(restored.IsDurable());
  EXPECT_EQ(restored.GiveOut(5), snapshot);
  EXPECT_FALSE(restored.IsToBeWritten());
  EXPECT_FALSE(restored.IsDurable());
  restored.Persisted(4);
  EXPECT_FALSE(restored.IsDurable());
  restored.Persisted(5);
  EXPECT_TRUE(restored.IsDurable());
}

TEST(RestoredSnapshotTest, TheLastOnesConfigurationCountsOnce) {
  RestoredSnapshot restored;
  EXPECT_FALSE(restored.HasConfState());
  restored.Begin(std::make_shared<const Snapshot>(), {.voters = {1, 2}});
  restored.Begin(std::make_shared<const Snapshot>(), {.voters = {1, 2, 3}});
  ASSERT_TRUE(restored.HasConfState());
  EXPECT_EQ(restored.TakeConfState(), (ConfState{.voters = {1, 2, 3}}));
  EXPECT_FALSE(restored.HasConfState());
}

class MessageCheckTest : public testing::Test {
 protected:
  static constexpr Receiver kReceiver{.id = 1, .term = 5};

  static Message Append() {
    return {.type = MessageType::kApp,
            .to = 1,
            .from = 2,
            .term = 5,
            .log_term = 4,
            .index = 10,
            .entries = {{.term = 4, .index = 11}, {.term = 5, .index = 12}}};
  }
  static std::string Refusal(const Message& message, const Receiver& receiver = kReceiver) {
    const Result<void> checked = CheckMessage(message, receiver);
    return checked.has_value() ? "" : checked.error().message;
  }
};

TEST_F(MessageCheckTest, TakesWhatACorrectMemberSends) {
  EXPECT_EQ(Refusal(Append()), "");
  EXPECT_EQ(Refusal({.type = MessageType::kHeartbeat, .to = 1, .from = 2, .term = 5}), "");
  EXPECT_EQ(Refusal({.type = MessageType::kTransferLeader, .to = 1, .from = 1}), "")
      << "the sender of this one is who is to lead";
}

TEST_F(MessageCheckTest, RefusesWrongAddresses) {
  Message message = Append();
  message.from = kNone;
  EXPECT_EQ(Refusal(message), "raft: refused App: sender");
  message.from = 1;
  EXPECT_EQ(Refusal(message), "raft: refused App: sender");
  message = Append();
  message.to = 3;
  EXPECT_EQ(Refusal(message), "raft: refused App: receiver");
  EXPECT_EQ(Refusal({.type = MessageType::kHup, .to = 1, .from = 2, .term = 5}),
            "raft: refused Hup: not for members to send");
}

TEST_F(MessageCheckTest, RefusesTermsAndIndexesThatCannotBe) {
  Message message = Append();
  message.index = Index{kMaxNumber + 1};
  EXPECT_EQ(Refusal(message), "raft: refused App: a term or index that cannot be");
  message = Append();
  message.term = Term{5 + (std::uint64_t{1} << 32) + 1};
  EXPECT_EQ(Refusal(message), "raft: refused App: a term too far ahead");
  EXPECT_EQ(Refusal(message, {.id = 1, .knows_nothing = true}), "");
  message.term = 0;
  message.entries.clear();
  EXPECT_EQ(Refusal(message), "raft: refused App: no term");
}

TEST_F(MessageCheckTest, RefusesEntriesThatDoNotFollow) {
  Message message = Append();
  message.entries[1].index = 13;
  EXPECT_EQ(Refusal(message), "raft: refused App: entries that do not follow each other");
  message = Append();
  message.entries[1].term = 3;
  EXPECT_EQ(Refusal(message), "raft: refused App: entries that do not follow each other");
  message = Append();
  message.entries[1].term = 6;
  EXPECT_EQ(Refusal(message), "raft: refused App: an entry of a later term");
}

TEST_F(MessageCheckTest, RefusesSnapshotsThatCannotBe) {
  Message message{.type = MessageType::kSnap, .to = 1, .from = 2, .term = 5};
  EXPECT_EQ(Refusal(message), "raft: refused Snap: no snapshot");
  const auto refusal_of = [&](SnapshotMetadata metadata) {
    message.snapshot = std::make_shared<const Snapshot>(Snapshot{.metadata = std::move(metadata)});
    return Refusal(message);
  };
  EXPECT_EQ(refusal_of({.conf_state = {.voters = {1, 2}}, .index = 9, .term = 5}), "");
  EXPECT_EQ(refusal_of({.conf_state = {.voters = {1, 2}}, .index = 9, .term = 6}),
            "raft: refused Snap: a snapshot that cannot be");
  EXPECT_EQ(refusal_of({.index = 9, .term = 5}),
            "raft: refused Snap: its configuration has no voters");
  EXPECT_NE(refusal_of({.conf_state = {.voters = {1, 1}}, .index = 9, .term = 5}), "");
}

TEST_F(MessageCheckTest, RefusesConfigurationChangesThatTheDriverCannotApply) {
  constexpr Receiver kTakesThem{.id = 1, .term = 5, .takes_conf_change_v2 = true};
  Message message = Append();
  message.entries[1].type = EntryType::kConfChange;
  EXPECT_EQ(Refusal(message), "");
  message.entries[1].type = EntryType::kConfChangeV2;
  EXPECT_EQ(Refusal(message),
            "raft: refused App: a configuration change of a kind that is not supported");
  EXPECT_EQ(Refusal(message, kTakesThem), "");
  message = {.type = MessageType::kSnap, .to = 1, .from = 2, .term = 5};
  message.snapshot = std::make_shared<const Snapshot>(Snapshot{
      .metadata = {
          .conf_state = {.voters = {1, 2}, .voters_outgoing = {2, 3}}, .index = 9, .term = 5}});
  EXPECT_EQ(Refusal(message), "raft: refused Snap: a joint configuration, which is not supported");
  EXPECT_EQ(Refusal(message, kTakesThem), "");
}

TEST_F(MessageCheckTest, RefusesReadsWithoutOneShortContext) {
  Message message{.type = MessageType::kReadIndex, .to = 1, .from = 2};
  EXPECT_EQ(Refusal(message), "raft: refused ReadIndex: no context");
  message.entries.push_back({.data = SharedBytes::Own(std::string(65, 'x'))});
  EXPECT_EQ(Refusal(message), "raft: refused ReadIndex: a context that is too long");
  message.entries.front().data = SharedBytes::Own(std::string(64, 'x'));
  EXPECT_EQ(Refusal(message), "");
  EXPECT_EQ(Refusal({.type = MessageType::kProp, .to = 1, .from = 2}),
            "raft: refused Prop: no entries");
}

}  // namespace
}  // namespace kvorum::raft
