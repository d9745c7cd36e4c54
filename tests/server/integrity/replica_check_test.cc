// A member finds out that it is wrong, by its own database or by the others' hashes, and acts on
// itself alone, only while a majority beside it serves.
#include "server/integrity/replica_check.h"

#include <gtest/gtest.h>

#include <string>

#include "server/state/alarms.h"
#include "tests/server/integrity/checked_cluster.h"

namespace kvorum::server {
namespace {

using mvcc::SpoilKind;
using std::chrono::minutes;
using std::chrono::seconds;

class ReplicaCheckTest : public testing::Test {
 protected:
  void Begin(ReplicaCheckAction action = ReplicaCheckAction::kQuarantine, std::size_t size = 3) {
    t_ = std::make_unique<CheckedCluster>(7, action, size);
    t_->StartAll();
    for (int i = 0; i < 20; ++i) t_->Put("key" + std::to_string(i % 7), "value");
    t_->PutDurably("key7", "value");
    ASSERT_TRUE(t_->RunUntil([&] { return AreCompared(size); }));
    leader_ = t_->leader();
    victim_ = t_->follower();
    other_ = (victim_ + 1) % size == leader_ ? (victim_ + 2) % size : (victim_ + 1) % size;
  }
  bool AreCompared(std::size_t members) {
    for (std::size_t i = 0; i < t_->members().size(); ++i) {
      const auto& counters = t_->counters(i);
      if (counters.compared != members || !counters.agrees || counters.passes.value() == 0)
        return false;
    }
    return true;
  }
  // More than any check takes, without a write.
  void Wait() { t_->RunFor(minutes(1)); }
  // Applies an entry that no other member does: a bug, or a flipped bit in memory.
  void ApplyAlone(std::size_t i, const std::string& key) {
    mvcc::WriteTxn txn = t_->members().member(i).store().Begin();
    ASSERT_TRUE(txn.Put({.key = key, .value = "other"}).has_value());
    txn.End();
    t_->Flush();
  }
  bool HasAlarm(raft::MemberId member) {
    return t_->parts(leader_).cluster.alarms.Stands(
        {.member = member, .type = AlarmType::kCorrupt});
  }
  // Its peers' answers to this member.
  void Script(std::size_t asks, std::function<std::optional<Result<PeerAnswer>>(std::size_t)> of) {
    t_->SetScript(
        [asks, of = std::move(of)](std::size_t from, std::size_t to,
                                   std::string_view) -> std::optional<Result<PeerAnswer>> {
          if (from != asks) return std::nullopt;
          return of(to);
        });
  }

  std::unique_ptr<CheckedCluster> t_;
  std::size_t leader_ = 0;
  std::size_t victim_ = 0;
  std::size_t other_ = 0;
};

// ---- what is found ----

TEST_F(ReplicaCheckTest, EqualMembersServeOn) {
  Begin();
  for (int i = 0; i < 30; ++i) {
    t_->Put("key" + std::to_string(i % 3), std::to_string(i));
    t_->RunFor(seconds(3));
  }
  Wait();
  EXPECT_TRUE(AreCompared(3));
  EXPECT_EQ(t_->outs(), 0u);
}

TEST_F(ReplicaCheckTest, ARecordThatWasChangedUnderARunningMemberIsFoundWithoutWrites) {
  Begin();
  t_->Spoil(victim_, "key3", SpoilKind::kChange);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, minutes(1)));
  EXPECT_EQ(t_->outs(), 1u);
  EXPECT_TRUE(t_->counters(victim_).is_damaged);
  EXPECT_TRUE(t_->counters(other_).agrees) << "the others compare what was written";
}

TEST_F(ReplicaCheckTest, ALostRecordIsFoundWithinSecondsOfAWrite) {
  Begin();
  t_->Spoil(victim_, "key3", SpoilKind::kLose);
  t_->PutDurably("other", "value");
  ASSERT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, seconds(5)));
  EXPECT_EQ(t_->outs(), 1u);
}

TEST_F(ReplicaCheckTest, ADatabaseThatWasSpoiledWhileItsMemberWasDownIsFoundByComparing) {
  for (const SpoilKind kind : {SpoilKind::kChange, SpoilKind::kLose}) {
    Begin();
    t_->SpoilWhileDown(victim_, "key3", kind);
    t_->Start(victim_);
    ASSERT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, seconds(10)));
    EXPECT_EQ(t_->outs(), 1u);
    EXPECT_FALSE(t_->counters(victim_).is_damaged) << "it holds what it has found";
    ASSERT_TRUE(t_->RunUntil([&] { return !t_->counters(other_).agrees; }, seconds(5)));
  }
}

TEST_F(ReplicaCheckTest, WhoAppliesSomethingElseIsFoundByComparing) {
  Begin();
  ApplyAlone(victim_, "alone");
  t_->PutDurably("key1", "again");
  ASSERT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, seconds(10)));
  EXPECT_EQ(t_->outs(), 1u);
}

TEST_F(ReplicaCheckTest, ASpoiledLeaderHandsOver) {
  Begin();
  t_->Spoil(leader_, "key3", SpoilKind::kChange);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->is_out(leader_); }, minutes(1)));
  ASSERT_TRUE(t_->RunUntil([&] { return t_->leader() != leader_; }, seconds(30)));
  EXPECT_EQ(t_->outs(), 1u);
  // Also when it is elected again.
  ASSERT_FALSE(t_->is_out(t_->leader()));
}

TEST_F(ReplicaCheckTest, OfTwoThatAreOutNoneHandsTheLeadToTheOther) {
  Begin(ReplicaCheckAction::kQuarantine, 5);
  // Raft prefers the lowest id of those that have all of the log.
  std::size_t lowest = 0;
  for (std::size_t i = 1; i < 5; ++i) {
    if (t_->members().id(i) < t_->members().id(lowest)) lowest = i;
  }
  const std::size_t other = (lowest + 1) % 5;
  t_->Spoil(lowest, "key3", SpoilKind::kChange);
  t_->Spoil(other, "key3", SpoilKind::kChange);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->outs() == 2; }, minutes(1)));
  for (int i = 0; i < 5; ++i) {
    t_->parts(t_->leader())
        .cluster.replica.MoveLeader(t_->members().id(other),
                                    t_->members().scheduler().clock().Now() + seconds(5),
                                    [](const Result<void>&) {});
    ASSERT_TRUE(t_->RunUntil([&] { return t_->leader() == other; }));
    ASSERT_TRUE(t_->RunUntil([&] { return t_->leader() != other; }, seconds(30)));
    EXPECT_FALSE(t_->is_out(t_->leader())) << i;
  }
}

// ---- who may act ----

TEST_F(ReplicaCheckTest, WithoutAMajorityBesideItADamagedMemberServesOn) {
  Begin();
  t_->Kill(other_);
  t_->Spoil(victim_, "key3", SpoilKind::kChange);
  t_->PutDurably("other", "value");
  ASSERT_TRUE(t_->RunUntil([&] { return t_->counters(victim_).is_damaged.load(); }, minutes(1)));
  Wait();
  EXPECT_EQ(t_->outs(), 0u);
  // Once there is one again, it knows still.
  t_->Start(other_);
  EXPECT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, seconds(30)));
}

TEST_F(ReplicaCheckTest, AMemberThatReachesNobodyServesOn) {
  Begin();
  t_->members().Isolate(victim_);
  t_->Spoil(victim_, "key3", SpoilKind::kChange);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->counters(victim_).is_damaged.load(); }, minutes(1)));
  Wait();
  EXPECT_EQ(t_->outs(), 0u);
  t_->members().network().MendAll();
  EXPECT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, seconds(30)));
}

TEST_F(ReplicaCheckTest, OfTwoDamagedMembersOneServesOn) {
  Begin();
  t_->Spoil(victim_, "key3", SpoilKind::kChange);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, minutes(1)));
  t_->Spoil(other_, "key4", SpoilKind::kLose);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->counters(other_).is_damaged.load(); }, minutes(1)));
  Wait();
  EXPECT_EQ(t_->outs(), 1u) << "who else would serve";
}

TEST_F(ReplicaCheckTest, ThreeThatAllDifferAreReportedAndServeOn) {
  Begin();
  ApplyAlone(victim_, "one");
  ApplyAlone(other_, "another");
  t_->PutDurably("key1", "again");
  ASSERT_TRUE(t_->RunUntil([&] { return !t_->counters(leader_).agrees; }, seconds(10)));
  Wait();
  EXPECT_EQ(t_->outs(), 0u);
}

TEST_F(ReplicaCheckTest, ALearnersSumsCountAsAnybodys) {
  Begin(ReplicaCheckAction::kQuarantine, 5);
  t_->SpoilWhileDown(victim_, "key3", SpoilKind::kChange);
  t_->Start(victim_);
  t_->members().Isolate(other_);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, seconds(20)));
  EXPECT_EQ(t_->outs(), 1u);
}

// ---- peers of all kinds ----

TEST_F(ReplicaCheckTest, APeerThatDoesNotKnowTheQuestionIsLeftOut) {
  Begin();
  Script(victim_, [this](std::size_t to) -> std::optional<Result<PeerAnswer>> {
    if (to != other_) return std::nullopt;
    return PeerAnswer{.status = 404, .cluster_id = {}, .body = "404 page not found\n"};
  });
  t_->PutDurably("key1", "again");
  ASSERT_TRUE(t_->RunUntil([&] { return t_->counters(victim_).compared == 2; }, seconds(10)));
  EXPECT_TRUE(t_->counters(victim_).agrees);
  // Its silence does not make a majority for the wrong one.
  t_->Spoil(victim_, "key3", SpoilKind::kChange);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->counters(victim_).is_damaged.load(); }, minutes(1)));
  Wait();
  EXPECT_EQ(t_->outs(), 0u);
}

TEST_F(ReplicaCheckTest, PeersThatLagAreComparedWhereTheyWere) {
  Begin();
  const MemberHistory old = t_->HistoryOf(other_);
  // Beyond the points that all keep, so that the old answer has one of them.
  while (t_->members().member(leader_).store().revision() < mvcc::HistorySum::kInterval + 10)
    t_->Put("key1", "again");
  t_->PutDurably("key1", "last");
  Script(victim_, [&](std::size_t to) -> std::optional<Result<PeerAnswer>> {
    if (to != other_) return std::nullopt;
    return CheckedCluster::Telling(old);
  });
  Wait();
  EXPECT_TRUE(t_->counters(victim_).agrees);
  EXPECT_EQ(t_->counters(victim_).compared, 2u) << "the old place is no longer known";
  EXPECT_EQ(t_->outs(), 0u);
}

TEST_F(ReplicaCheckTest, OnePeerThatLiesConvincesNobody) {
  Begin();
  Script(victim_, [this](std::size_t to) -> std::optional<Result<PeerAnswer>> {
    if (to != other_) return std::nullopt;
    MemberHistory lie = t_->HistoryOf(other_);
    for (auto& point : lie.history.points) point.added += 1;
    return CheckedCluster::Telling(lie);
  });
  ASSERT_TRUE(t_->RunUntil([&] { return !t_->counters(victim_).agrees; }, seconds(10)));
  Wait();
  EXPECT_EQ(t_->outs(), 0u);
}

TEST_F(ReplicaCheckTest, OnePeerThatAnswersInEverybodysNameIsOneVoice) {
  Begin();
  for (const bool as_the_asker : {false, true}) {
    const raft::MemberId name = t_->members().id(as_the_asker ? victim_ : other_);
    Script(victim_, [this, name](std::size_t) -> std::optional<Result<PeerAnswer>> {
      MemberHistory lie = t_->HistoryOf(other_);
      lie.member = name;
      for (auto& point : lie.history.points) point.added += 1;
      return CheckedCluster::Telling(lie);
    });
    Wait();
    EXPECT_EQ(t_->outs(), 0u);
    EXPECT_LE(t_->counters(victim_).compared, 2u);
  }
}

TEST_F(ReplicaCheckTest, StrangersAndNonsenseAreNoVoices) {
  Begin();
  int round = 0;
  Script(victim_, [&](std::size_t to) -> std::optional<Result<PeerAnswer>> {
    MemberHistory lie = t_->HistoryOf(to);
    lie.member = raft::MemberId{1234};
    for (auto& point : lie.history.points) point.added += 1;
    PeerAnswer answer = CheckedCluster::Telling(lie);
    if (++round % 3 == 0) answer.body = std::string(1 << 16, '[');
    if (round % 3 == 1) answer.body = R"({"member":"1"})";
    return answer;
  });
  ASSERT_TRUE(t_->RunUntil([&] { return round > 12; }, minutes(1)));
  EXPECT_EQ(t_->outs(), 0u);
  EXPECT_TRUE(t_->counters(victim_).agrees);
}

// ---- the other actions ----

TEST_F(ReplicaCheckTest, ReportsOnly) {
  Begin(ReplicaCheckAction::kReport);
  t_->Spoil(victim_, "key3", SpoilKind::kChange);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->counters(victim_).is_damaged.load(); }, minutes(1)));
  Wait();
  EXPECT_EQ(t_->outs(), 0u);
  EXPECT_FALSE(t_->parts(leader_).cluster.alarms.Stands(AlarmType::kCorrupt));
}

TEST_F(ReplicaCheckTest, RaisesTheAlarmInItsOwnName) {
  Begin(ReplicaCheckAction::kAlarm);
  t_->SpoilWhileDown(victim_, "key3", SpoilKind::kChange);
  t_->Start(victim_);
  const raft::MemberId id = t_->members().id(victim_);
  ASSERT_TRUE(t_->RunUntil([&] { return HasAlarm(id); }, seconds(20)));
  EXPECT_EQ(t_->parts(leader_).cluster.alarms.List().size(), 1u);
  EXPECT_EQ(t_->outs(), 0u);
}

TEST_F(ReplicaCheckTest, RaisesTheAlarmInNobodysNameWhenNobodyKnowsWhoIsRight) {
  Begin(ReplicaCheckAction::kAlarm);
  ApplyAlone(victim_, "one");
  ApplyAlone(other_, "another");
  t_->PutDurably("key1", "again");
  ASSERT_TRUE(t_->RunUntil([&] { return HasAlarm(raft::kNone); }, seconds(20)));
}

TEST_F(ReplicaCheckTest, OffLooksAtNothing) {
  t_ = std::make_unique<CheckedCluster>(7, ReplicaCheckAction::kOff);
  t_->StartAll();
  t_->PutDurably("key3", "value");
  t_->Spoil(1, "key3", SpoilKind::kChange);
  Wait();
  EXPECT_EQ(t_->outs(), 0u);
  EXPECT_EQ(t_->counters(1).passes.value(), 0u);
}

// ---- across restarts ----

TEST_F(ReplicaCheckTest, ARestartServesNothingBeforeItHasComparedAgain) {
  Begin();
  t_->Spoil(victim_, "key3", SpoilKind::kLose);
  ASSERT_TRUE(t_->RunUntil([&] { return t_->is_out(victim_); }, minutes(1)));
  t_->Start(victim_);
  EXPECT_TRUE(t_->is_out(victim_)) << "from the first moment on";
  Wait();
  EXPECT_TRUE(t_->is_out(victim_)) << "only a new database ends it";
}

}  // namespace
}  // namespace kvorum::server
