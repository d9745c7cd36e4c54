// Majorities, progress of followers, configuration changes, the queues of reads and writes.
#include "raft/quorum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/rng.h"
#include "raft/conf_change.h"
#include "raft/progress.h"
#include "raft/read_queue.h"
#include "raft/tracker.h"
#include "raft/write_queue.h"

namespace kvorum::raft {
namespace {

TEST(QuorumTest, TheMajoritysValueIsWhatMoreThanHalfHave) {
  const auto value = [](const std::vector<std::uint64_t>& values) {
    std::vector<MemberId> members(values.size());
    for (std::size_t i = 0; i < members.size(); ++i) members[i] = MemberId{i};
    return MajorityValue(members, [&](MemberId id) { return values[id.value()]; });
  };
  EXPECT_EQ(value({}), UINT64_MAX);
  EXPECT_EQ(value({7}), 7U);
  EXPECT_EQ(value({7, 9}), 7U);
  EXPECT_EQ(value({7, 9, 1}), 7U);
  EXPECT_EQ(value({5, 4, 3, 2}), 3U);
  EXPECT_EQ(value({5, 4, 3, 2, 1}), 3U);
}

TEST(QuorumTest, TheMajoritysValueIsThatOfItsDefinition) {
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<MemberId> members(1 + rng.Below(7));
    std::map<MemberId, std::uint64_t> values;
    for (std::size_t i = 0; i < members.size(); ++i)
      values[members[i] = MemberId{i}] = rng.Below(5);
    std::uint64_t expected = 0;
    for (std::uint64_t v = 0; v < 5; ++v) {
      const auto have = std::ranges::count_if(values, [&](auto& item) { return item.second >= v; });
      if (static_cast<std::size_t>(have) > members.size() / 2) expected = v;
    }
    EXPECT_EQ(MajorityValue(members, [&](MemberId id) { return values[id]; }), expected);
  }
}

// Raft: thesis 4.3
TEST(QuorumTest, BothHalvesOfAJointConfigurationMustAgree) {
  const ConfState conf{.voters = {1, 2, 3}, .voters_outgoing = {3, 4, 5}};
  std::map<MemberId, std::uint64_t> values = {
      {MemberId{1}, 9}, {MemberId{2}, 9}, {MemberId{3}, 1}, {MemberId{4}, 1}, {MemberId{5}, 1}};
  const auto value_of = [&](MemberId id) { return values[id]; };
  EXPECT_EQ(QuorumValue(conf, value_of), 1U);
  values.at(3) = values.at(4) = 8;
  EXPECT_EQ(QuorumValue(conf, value_of), 8U);
}

TEST(TrackerTest, CountsVotes) {
  Tracker tracker;
  tracker.SetConfState({.voters = {1, 2, 3}, .learners = {4}}, 1, 0);
  EXPECT_EQ(tracker.CountVotes(), VoteResult::kPending);
  tracker.RecordVote(4, true);  // a learner
  tracker.RecordVote(1, true);
  EXPECT_EQ(tracker.CountVotes(), VoteResult::kPending);
  tracker.RecordVote(2, false);
  tracker.RecordVote(2, true);  // the first word counts
  EXPECT_EQ(tracker.CountVotes(), VoteResult::kPending);
  tracker.RecordVote(3, false);
  EXPECT_EQ(tracker.CountVotes(), VoteResult::kLost);
  tracker.ClearVotes();
  tracker.RecordVote(3, true);
  tracker.RecordVote(1, true);
  EXPECT_EQ(tracker.CountVotes(), VoteResult::kWon);
}

TEST(TrackerTest, KeepsTheProgressOfWhoStays) {
  Tracker tracker;
  tracker.SetConfState({.voters = {1, 2}}, 5, 0);
  tracker.Find(1)->Advance(4);
  tracker.SetConfState({.voters = {1, 3}, .learners = {4}}, 9, 7);
  EXPECT_EQ(tracker.Find(1)->match, 4U);
  EXPECT_EQ(tracker.Find(2), nullptr);
  EXPECT_EQ(tracker.Find(3)->next, 9U);
  EXPECT_TRUE(tracker.Find(3)->is_active) << "it has the time to say something";
  EXPECT_EQ(tracker.Find(3)->heard_at, 7U);
  EXPECT_FALSE(tracker.IsVoter(4));
  EXPECT_TRUE(tracker.IsMember(4));
  EXPECT_FALSE(tracker.IsOnlyVoter(1));
  tracker.CheckInvariants();
}

TEST(ProgressTest, AnswersToOtherProbesAreOld) {
  Progress progress{.next = 10};
  EXPECT_FALSE(progress.Retreat(7, 3));
  EXPECT_TRUE(progress.Retreat(9, 3));
  EXPECT_EQ(progress.next, 4U);
  EXPECT_TRUE(progress.Retreat(3, 99));
  EXPECT_EQ(progress.next, 3U) << "never further than what was refused";
}

TEST(ProgressTest, NeverRetreatsBehindWhatMatches) {
  Progress progress{.next = 10};
  progress.Advance(6);
  progress.BecomeReplicate();
  EXPECT_EQ(progress.next, 7U);
  EXPECT_FALSE(progress.Retreat(6, 2)) << "refused before it was taken";
  EXPECT_TRUE(progress.Retreat(8, 2));
  EXPECT_EQ(progress.next, 7U);
}

TEST(ProgressTest, ASnapshotThatWasTakenMovesOn) {
  Progress progress{.next = 10};
  progress.BecomeSnapshot(20);
  progress.CheckInvariants();
  progress.BecomeProbe();
  EXPECT_EQ(progress.next, 21U);
  progress.CheckInvariants();
}

// Raft: thesis 10.2.2
TEST(ProgressTest, TheWindowIsFullByMessagesOrBytes) {
  Inflights inflights;
  inflights.Add(3, 100);
  inflights.Add(5, 100);
  EXPECT_TRUE(inflights.IsFull(2, 1000));
  EXPECT_TRUE(inflights.IsFull(9, 200));
  EXPECT_FALSE(inflights.IsFull(3, 201));
  inflights.FreeUpTo(4);
  EXPECT_EQ(inflights.size(), 1U);
  EXPECT_EQ(inflights.size_bytes(), 100U);
  inflights.FreeUpTo(99);
  EXPECT_EQ(inflights.size_bytes(), 0U);
}

constexpr auto kAdd = ConfChangeType::kAddNode;
constexpr auto kRemove = ConfChangeType::kRemoveNode;
constexpr auto kLearn = ConfChangeType::kAddLearnerNode;

TEST(ConfChangeTest, SimpleChangesApplyAtOnce) {
  const ConfState conf{.voters = {1, 2}, .learners = {3}};
  const auto apply = [&](ConfChangeType type, MemberId id) {
    return ApplyChange(conf, {.changes = {{type, id}}}).value();
  };
  EXPECT_EQ(apply(kAdd, 4), (ConfState{.voters = {1, 2, 4}, .learners = {3}}));
  EXPECT_EQ(apply(kAdd, 3), (ConfState{.voters = {1, 2, 3}})) << "promotion";
  EXPECT_EQ(apply(kLearn, 2), (ConfState{.voters = {1}, .learners = {2, 3}})) << "demotion";
  EXPECT_EQ(apply(kRemove, 1), (ConfState{.voters = {2}, .learners = {3}}));
  EXPECT_EQ(apply(kRemove, 9), conf);
  EXPECT_EQ(apply(ConfChangeType::kUpdateNode, 1), conf);
  EXPECT_EQ(apply(kAdd, kNone), conf) << "a change that was refused on the way";
}

TEST(ConfChangeTest, JointChangesKeepTheOldHalf) {
  const ConfState conf{.voters = {1, 2}};
  const ConfState joint =
      ApplyChange(conf, {.changes = {{kAdd, 3}, {kLearn, 2}, {kLearn, 4}}}).value();
  EXPECT_EQ(joint, (ConfState{.voters = {1, 3},
                              .learners = {4},
                              .voters_outgoing = {1, 2},
                              .learners_next = {2},
                              .auto_leave = true}));
  EXPECT_TRUE(LeavesJoint({}));
  EXPECT_EQ(ApplyChange(joint, {}).value(), (ConfState{.voters = {1, 3}, .learners = {2, 4}}));
}

TEST(ConfChangeTest, ImpossibleChangesAreRefused) {
  const ConfState conf{.voters = {1}};
  const ConfState joint{.voters = {1}, .voters_outgoing = {1, 2}};
  EXPECT_FALSE(ApplyChange(conf, {.changes = {{kRemove, 1}}}).has_value()) << "no voters";
  EXPECT_FALSE(ApplyChange(conf, {}).has_value()) << "not joint";
  EXPECT_FALSE(ApplyChange(joint, {.changes = {{kAdd, 3}}}).has_value());
  EXPECT_FALSE(ApplyChange(joint, {.changes = {{kAdd, 3}, {kAdd, 4}}}).has_value());
  EXPECT_FALSE(ApplyChange({}, {.changes = {{kAdd, 3}, {kAdd, 4}}}).has_value())
      << "joint from nothing";
}

TEST(ConfChangeTest, ConfigurationsFromOutsideAreChecked) {
  EXPECT_EQ(CheckConfState({.voters = {3, 1, 2}}).value().voters, (std::vector<MemberId>{1, 2, 3}));
  EXPECT_FALSE(CheckConfState({.voters = {1, 1}}).has_value());
  EXPECT_FALSE(CheckConfState({.voters = {0}}).has_value());
  EXPECT_FALSE(CheckConfState({.voters = {1}, .learners = {1}}).has_value());
  EXPECT_FALSE(CheckConfState({.voters = {1}, .learners_next = {2}}).has_value());
  EXPECT_FALSE(CheckConfState({.voters_outgoing = {1}}).has_value());
  EXPECT_TRUE(CheckConfState({}).has_value());
}

TEST(ReadQueueTest, ALateAnswerConfirmsNoLaterRound) {
  ReadQueue reads;
  reads.Add(1, EncodeContext(10), 5);
  EXPECT_TRUE(reads.NeedsRound());
  EXPECT_EQ(reads.StartRound(), 1U);
  EXPECT_FALSE(reads.NeedsRound());
  reads.Add(1, EncodeContext(11), 6);
  reads.StartRound();
  reads.Acknowledge(2, 1);
  reads.Acknowledge(2, 99);  // not a round of ours
  EXPECT_EQ(reads.AcknowledgedBy(2), 1U);
  const std::vector<PendingRead> confirmed = reads.TakeConfirmed(1);
  ASSERT_EQ(confirmed.size(), 1U);
  EXPECT_EQ(DecodeContext(confirmed.front().context), 10U);
  EXPECT_EQ(reads.RoundToRepeat(), 2U);
  reads.Clear();
  EXPECT_EQ(reads.RoundToRepeat(), 0U);
  EXPECT_EQ(reads.StartRound(), 3U) << "numbers are never used again";
}

TEST(ReadQueueTest, ContextsAreBigEndian) {
  EXPECT_EQ(EncodeContext(0x0102030405060708).view(), "\x01\x02\x03\x04\x05\x06\x07\x08");
  EXPECT_EQ(DecodeContext(SharedBytes::Static("short")), 0U);
}

// Raft: thesis 3.8
TEST(WriteQueueTest, PromisesLeaveWithTheWriteThatHoldsThem) {
  WriteQueue writes;
  std::vector<Message> out;
  writes.Promise({.type = MessageType::kAppResp, .index = 1});
  writes.Settle(out);
  EXPECT_EQ(out.size(), 1U) << "nothing to wait for";
  writes.Add({.ready_number = 1, .last_index = 4});
  writes.Add({.ready_number = 2, .last_index = 6});
  writes.Promise({.type = MessageType::kAppResp, .index = 6});
  writes.Settle(out);
  EXPECT_EQ(out.size(), 1U);
  writes.TruncateFrom(5);
  const std::vector<Write> done = writes.TakeUpTo(2);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].last_index, 4U);
  EXPECT_TRUE(done[0].messages.empty());
  EXPECT_EQ(done[1].last_index, 4U) << "its later entries were replaced";
  EXPECT_EQ(done[1].messages.size(), 1U);
  EXPECT_TRUE(writes.empty());
}

}  // namespace
}  // namespace kvorum::raft
