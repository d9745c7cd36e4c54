// A member whose database is wrong gets its leader's, also after failures on the way.
#include "server/services/maintenance/reseed.h"

#include <gtest/gtest.h>

#include <string>

#include "base/api_errors.h"
#include "tests/server/integrity/checked_cluster.h"

namespace kvorum::server {
namespace {

using mvcc::SpoilKind;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class ReseedTest : public testing::Test {
 protected:
  // A follower is out of service.
  void Begin() {
    t_.StartAll();
    for (int i = 0; i < 20; ++i) t_.Put("key" + std::to_string(i % 7), "value");
    t_.PutDurably("key7", "value");
    leader_ = t_.leader();
    victim_ = t_.follower();
    t_.SpoilWhileDown(victim_, "key3", SpoilKind::kChange);
    t_.Start(victim_);
    ASSERT_TRUE(t_.RunUntil([&] { return t_.is_out(victim_); }, seconds(20)));
  }
  std::size_t third() const { return 3 - leader_ - victim_; }
  std::size_t snapshots() { return t_.members().network().snapshots_delivered(); }
  void ExpectWhole() {
    t_.PutDurably("through", "all");
    EXPECT_EQ(t_.outs(), 0u);
    const auto hash = t_.members().member(third()).store().HashKv(0);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(t_.members().member(i).store().HashKv(0)->hash, hash->hash) << "member " << i;
    // And it stays so.
    t_.RunFor(minutes(1));
    EXPECT_EQ(t_.outs(), 0u);
    EXPECT_TRUE(t_.counters(victim_).agrees);
    EXPECT_EQ(t_.counters(victim_).compared, 3u);
  }
  // Applies an entry that no other member does, so that its revision is ahead.
  void ApplyAlone(std::size_t i, int times) {
    for (int n = 0; n < times; ++n) {
      mvcc::WriteTxn txn = t_.members().member(i).store().Begin();
      ASSERT_TRUE(txn.Put({.key = "key1", .value = "other"}).has_value());
      txn.End();
    }
    t_.Flush();
  }
  // True if the member's keys differ from those that the one that was always right had then.
  bool Differs(std::size_t i) {
    const auto own = t_.members().member(i).store().HashKv(0);
    const auto right = t_.members().member(third()).store().HashKv(own->revision);
    return own->hash != right->hash;
  }
  // The next questions for a snapshot get this answer.
  void AnswerReseeds(std::function<Result<PeerAnswer>()> answer) {
    t_.SetScript(
        [answer = std::move(answer)](std::size_t, std::size_t,
                                     std::string_view path) -> std::optional<Result<PeerAnswer>> {
          if (!path.starts_with(kReseedPrefix)) return std::nullopt;
          return answer();
        });
  }

  CheckedCluster t_{5};
  std::size_t leader_ = 0;
  std::size_t victim_ = 0;
};

TEST_F(ReseedTest, ServesAgainWithTheLeadersDatabase) {
  Begin();
  const auto done = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_TRUE((*done)->has_value());
  EXPECT_FALSE(t_.is_out(victim_)) << "it ends when the member serves";
  EXPECT_EQ(snapshots(), 1u);
  ExpectWhole();
}

TEST_F(ReseedTest, AHealthyMemberMayBeReseededToo) {
  t_.StartAll();
  t_.PutDurably("key", "value");
  leader_ = t_.leader();
  victim_ = t_.follower();
  const auto done = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_TRUE((*done)->has_value());
  ExpectWhole();
}

TEST_F(ReseedTest, AskedTwiceItIsDoneOnce) {
  Begin();
  const auto first = t_.Reseed(victim_);
  const auto second = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(first));
  ASSERT_TRUE(t_.Ends(second));
  EXPECT_TRUE((*first)->has_value());
  EXPECT_TRUE((*second)->has_value());
  EXPECT_EQ(t_.reseeds_asked(), 1u);
  ExpectWhole();
  EXPECT_EQ(snapshots(), 1u);
}

TEST_F(ReseedTest, AfterOneThatIsDoneAnotherMayFollow) {
  Begin();
  for (std::size_t round = 1; round < 4; ++round) {
    const auto done = t_.Reseed(victim_);
    ASSERT_TRUE(t_.Ends(done));
    EXPECT_TRUE((*done)->has_value());
    EXPECT_EQ(snapshots(), round);
  }
  ExpectWhole();
}

TEST_F(ReseedTest, TheLeaderRefusesForItself) {
  Begin();
  const auto done = t_.Reseed(leader_);
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_EQ((*done)->error().code, Code::kFailedPrecondition);
  EXPECT_EQ(t_.reseeds_asked(), 0u);
}

TEST_F(ReseedTest, ALeaderOfAnotherProgramIsNoHelp) {
  Begin();
  AnswerReseeds([] { return PeerAnswer{.status = 404, .cluster_id = {}, .body = "404"}; });
  const auto done = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_EQ((*done)->error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(t_.is_out(victim_));
}

TEST_F(ReseedTest, ALeaderThatRefusesIsAskedAgain) {
  Begin();
  int refusals = 0;
  t_.SetScript(
      [&](std::size_t, std::size_t, std::string_view path) -> std::optional<Result<PeerAnswer>> {
        if (!path.starts_with(kReseedPrefix) || ++refusals > 3) return std::nullopt;
        if (refusals == 1) return Fail(Code::kUnavailable, "refused");
        return PeerAnswer{.status = 503, .cluster_id = {}, .body = "no leader"};
      });
  const auto done = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_TRUE((*done)->has_value());
  ExpectWhole();
}

TEST_F(ReseedTest, TimeRunsOutWhereNobodyAnswers) {
  Begin();
  AnswerReseeds([] { return Fail(Code::kUnavailable, "refused"); });
  const auto done = t_.Reseed(victim_, seconds(30));
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_EQ((*done)->error().message, kErrTimeout.ToError().message);
  EXPECT_TRUE(t_.is_out(victim_));
  // It may be asked once more.
  t_.SetScript({});
  const auto again = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(again));
  EXPECT_TRUE((*again)->has_value());
  ExpectWhole();
}

TEST_F(ReseedTest, ALeaderThatDiesInTheMiddleIsFollowedByTheNext) {
  for (const Duration moment : {Duration{}, Duration{milliseconds(1)}, Duration{milliseconds(5)},
                                Duration{milliseconds(20)}}) {
    Begin();
    const auto done = t_.Reseed(victim_);
    ASSERT_TRUE(t_.RunUntil([&] { return t_.reseeds_asked() > 0; }));
    if (moment > Duration{}) t_.RunFor(moment);
    t_.Kill(leader_);
    // No majority is left beside the member: no write waits for the snapshot.
    t_.RunFor(seconds(40));
    const TimePoint before = t_.members().scheduler().clock().Now();
    t_.Put("key1", "meanwhile");
    EXPECT_LT(t_.members().scheduler().clock().Now() - before, seconds(1));
    t_.Start(leader_);
    ASSERT_TRUE(t_.Ends(done));
    EXPECT_TRUE((*done)->has_value());
    ExpectWhole();
    if (HasFailure()) return;
  }
}

TEST_F(ReseedTest, ALeaderThatIsCutOffInTheMiddleIsFollowedByTheNext) {
  Begin();
  const auto done = t_.Reseed(victim_);
  ASSERT_TRUE(t_.RunUntil([&] { return t_.reseeds_asked() > 0; }));
  t_.RunFor(milliseconds(3));
  t_.members().Isolate(leader_);
  t_.RunFor(seconds(40));
  t_.members().network().MendAll();
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_TRUE((*done)->has_value());
  ExpectWhole();
}

TEST(ReseedOfTwo, IsRefusedAtOnce) {
  CheckedCluster two(5, ReplicaCheckAction::kQuarantine, 2);
  two.StartAll();
  const auto done = two.Reseed(two.follower());
  ASSERT_TRUE(two.Ends(done, seconds(1)));
  EXPECT_EQ((*done)->error().code, Code::kFailedPrecondition);
  EXPECT_TRUE((*done)->error().message.ends_with("add it anew"));
}

TEST_F(ReseedTest, AQuarantinedLeaderHandsOverAndIsReseeded) {
  Begin();
  const auto first = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(first));
  victim_ = t_.leader();
  leader_ = (victim_ + 1) % 3;
  t_.Spoil(victim_, "key4", SpoilKind::kLose);
  ASSERT_TRUE(t_.RunUntil([&] { return t_.is_out(victim_); }, minutes(1)));
  // It leads, or has just handed over.
  const auto second = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(second));
  EXPECT_TRUE((*second)->has_value());
  ExpectWhole();
}

TEST_F(ReseedTest, ADamagedLeaderThatServesOnGivesItsDatabaseToNobody) {
  Begin();
  // One member is out already, so the leader serves on: without it there would be no majority.
  t_.Spoil(leader_, "key4", SpoilKind::kChange);
  ASSERT_TRUE(t_.RunUntil([&] { return t_.counters(leader_).is_damaged.load(); }, minutes(1)));
  ASSERT_FALSE(t_.is_out(leader_));
  const auto refused = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(refused));
  ASSERT_FALSE((*refused)->has_value());
  EXPECT_EQ((*refused)->error().code, Code::kFailedPrecondition);
  EXPECT_EQ(snapshots(), 0u);

  t_.parts(leader_).cluster.replica.MoveLeader(t_.members().id(third()),
                                               t_.members().scheduler().clock().Now() + seconds(5),
                                               [](const Result<void>&) {});
  ASSERT_TRUE(t_.RunUntil([&] { return t_.leader() == third(); }));
  const auto first = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(first));
  EXPECT_TRUE((*first)->has_value());
  const auto second = t_.Reseed(leader_);
  ASSERT_TRUE(t_.Ends(second));
  EXPECT_TRUE((*second)->has_value());
  ExpectWhole();
}

TEST_F(ReseedTest, LeadershipMayMoveInTheMiddle) {
  Begin();
  const auto done = t_.Reseed(victim_);
  ASSERT_TRUE(t_.RunUntil([&] { return t_.reseeds_asked() > 0; }));
  t_.parts(leader_).cluster.replica.MoveLeader(t_.members().id(third()),
                                               t_.members().scheduler().clock().Now() + seconds(5),
                                               [](const Result<void>&) {});
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_TRUE((*done)->has_value());
  ExpectWhole();
}

TEST_F(ReseedTest, ARestartInTheMiddleLeavesAMemberThatCanBeReseeded) {
  for (int steps = 0; steps < 40; steps += 3) {
    Begin();
    t_.Reseed(victim_);
    ASSERT_TRUE(t_.RunUntil([&] { return t_.reseeds_asked() > 0; }));
    t_.RunFor(milliseconds(steps));
    t_.Start(victim_);
    // From here on it has the old database and is out, or the new one and serves soon.
    const auto again = t_.Reseed(victim_);
    ASSERT_TRUE(t_.Ends(again)) << steps;
    EXPECT_TRUE((*again)->has_value());
    ExpectWhole();
    if (HasFailure()) return;
  }
}

// The leader is asked again after 20 s: that must not end the transfer.
TEST_F(ReseedTest, OneThatTakesMinutesIsSentOnce) {
  Begin();
  t_.members().network().SetChunkTime(seconds(25));
  const auto done = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(done, minutes(9)));
  EXPECT_TRUE((*done)->has_value());
  EXPECT_GT(t_.reseeds_asked(), 1u);
  EXPECT_EQ(snapshots(), 1u);
  t_.members().network().SetChunkTime(milliseconds(1));
  ExpectWhole();
}

TEST_F(ReseedTest, AMemberWhoseRevisionIsAheadGoesBackToTheClusters) {
  t_.StartAll();
  for (int i = 0; i < 20; ++i) t_.Put("key" + std::to_string(i % 7), "value");
  t_.PutDurably("key7", "value");
  leader_ = t_.leader();
  victim_ = t_.follower();
  ApplyAlone(victim_, 7);
  t_.PutDurably("key8", "value");
  ASSERT_TRUE(t_.RunUntil([&] { return t_.is_out(victim_); }, seconds(20)));
  ASSERT_GT(t_.members().member(victim_).store().revision(),
            t_.members().member(third()).store().revision() + 5);
  const auto done = t_.Reseed(victim_);
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_TRUE((*done)->has_value());
  EXPECT_FALSE(t_.members().member(victim_).fatal().has_value());
  EXPECT_EQ(t_.members().member(victim_).store().revision(),
            t_.members().member(third()).store().revision());
  ExpectWhole();
}

// The file that says so belongs to the database that was replaced.
TEST_F(ReseedTest, ARestartInTheMiddleIsOutExactlyWithTheOldDatabase) {
  int healed = 0;
  for (int steps = 0; steps < 40; steps += 2) {
    Begin();
    t_.Reseed(victim_);
    ASSERT_TRUE(t_.RunUntil([&] { return t_.reseeds_asked() > 0; }));
    t_.RunFor(milliseconds(steps));
    t_.Start(victim_);
    EXPECT_EQ(t_.is_out(victim_), Differs(victim_)) << steps;
    healed += t_.is_out(victim_) ? 0 : 1;
    const auto again = t_.Reseed(victim_);
    ASSERT_TRUE(t_.Ends(again)) << steps;
    ExpectWhole();
    if (HasFailure()) return;
  }
  EXPECT_GT(healed, 0);
}

TEST_F(ReseedTest, WritesGoOn) {
  Begin();
  const auto done = t_.Reseed(victim_);
  for (int i = 0; i < 60 && !done->has_value(); ++i)
    t_.Put("key" + std::to_string(i % 5), "during");
  ASSERT_TRUE(t_.Ends(done));
  EXPECT_TRUE((*done)->has_value());
  ExpectWhole();
}

}  // namespace
}  // namespace kvorum::server
