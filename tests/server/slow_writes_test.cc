// The marks of writes on their way, and what slow ones are charged to.
#include "server/call/slow_writes.h"

#include <gtest/gtest.h>

#include <chrono>

#include "rpc/io/loop.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using enum WriteStage;
using Kind = SlowWrites::Kind;
using Part = SlowWrites::Part;
using std::chrono::microseconds;

TimePoint At(std::int64_t us) { return TimePoint{} + microseconds(us); }

TEST(WriteStagesTest, AnEntryHasTheTimeOfTheFirstMarkAtItOrBehindIt) {
  WriteStages stages;
  EXPECT_FALSE(stages.When(kSynced, 1).has_value());
  stages.Mark(kSynced, 4, At(10));
  stages.Mark(kSynced, 5, At(20));
  stages.Mark(kSynced, 9, At(30));
  EXPECT_EQ(stages.When(kSynced, 1), At(10));
  EXPECT_EQ(stages.When(kSynced, 4), At(10));
  EXPECT_EQ(stages.When(kSynced, 5), At(20));
  EXPECT_EQ(stages.When(kSynced, 6), At(30));
  EXPECT_FALSE(stages.When(kSynced, 10).has_value());
  EXPECT_FALSE(stages.When(kApplied, 4).has_value()) << "the stages are apart";
}

TEST(WriteStagesTest, AnEntryWhoseMarkMayBeGoneHasNoTime) {
  WriteStages stages;
  constexpr int kMarks = 3 * static_cast<int>(WriteStages::kKept);
  for (int i = 1; i <= kMarks; ++i)
    stages.Mark(kApplied, raft::Index{static_cast<std::uint64_t>(i)}, At(i));
  EXPECT_EQ(stages.When(kApplied, kMarks), At(kMarks));
  EXPECT_EQ(stages.When(kApplied, kMarks - 500), At(kMarks - 500));
  EXPECT_FALSE(stages.When(kApplied, kMarks - 1'000).has_value());
  EXPECT_FALSE(stages.When(kApplied, 1).has_value());
}

class SlowWritesTest : public testing::Test {
 protected:
  void MarkAll(raft::Index index, std::array<std::int64_t, kWriteStages> us) {
    for (std::size_t i = 0; i < kWriteStages; ++i)
      stages_.Mark(static_cast<WriteStage>(i), index, At(us[i]));
  }
  void End(raft::Index index, std::int64_t started_us, std::int64_t took_us) {
    rpc::CallContext call;
    call.set_loop(&loop_);
    call.set_started(At(started_us));
    call.NotePlace(index.value());
    writes_.OnEnd(call, {.code = Code::kOk, .message = {}, .duration = microseconds(took_us)});
  }
  void EndOrdinary(int count) {
    for (int i = 0; i < count; ++i) End(1'000'000, 0, 100);
  }
  std::int64_t SlowUs(Part part) const {
    return static_cast<std::int64_t>(writes_.nanos(Kind::kSlow, part)) / 1'000;
  }

  WriteStages stages_;
  rpc::Loop loop_{0, "test-io"};
  SlowWrites writes_{stages_, 1};
};

TEST_F(SlowWritesTest, AWriteOfMoreThanThreeTimesTheMeanIsSlow) {
  EndOrdinary(10);
  End(1'000'000, 0, 299);
  EXPECT_EQ(writes_.writes(Kind::kSlow), 0U);
  End(1'000'000, 0, 310);
  EXPECT_EQ(writes_.writes(Kind::kSlow), 1U);
}

TEST_F(SlowWritesTest, EachPartIsChargedWithItsTime) {
  EndOrdinary(1);
  MarkAll(7, {1'010, 1'030, 1'700, 1'720, 1'725, 1'735});
  End(7, 1'000, 750);
  EXPECT_EQ(writes_.writes(Kind::kSlow), 1U);
  EXPECT_EQ(SlowUs(Part::kRaft), 10);
  EXPECT_EQ(SlowUs(Part::kLogTurn), 20);
  EXPECT_EQ(SlowUs(Part::kLogSync), 670);
  EXPECT_EQ(SlowUs(Part::kCommit), 20);
  EXPECT_EQ(SlowUs(Part::kApplyTurn), 5);
  EXPECT_EQ(SlowUs(Part::kApply), 10);
  EXPECT_EQ(SlowUs(Part::kAnswer), 15);
}

TEST_F(SlowWritesTest, ASyncThatTheLeaderDidNotWaitForIsNotCharged) {
  EndOrdinary(1);
  MarkAll(7, {1'010, 1'030, 9'000, 1'400, 1'410, 1'430});
  End(7, 1'000, 500);
  EXPECT_EQ(SlowUs(Part::kLogSync), 370) << "until it was committed";
  EXPECT_EQ(SlowUs(Part::kCommit), 0);
  EXPECT_EQ(SlowUs(Part::kAnswer), 70);
}

TEST_F(SlowWritesTest, TheWholeTimeIsChargedWhateverMarksAreMissing) {
  EndOrdinary(1);
  End(7, 1'000, 500);
  EXPECT_EQ(SlowUs(Part::kAnswer), 500);
  stages_.Mark(kCommitted, 8, At(1'600));
  End(8, 1'500, 900);
  EXPECT_EQ(SlowUs(Part::kCommit), 100);
  EXPECT_EQ(SlowUs(Part::kAnswer), 500 + 800);
}

TEST_F(SlowWritesTest, EverySixtyFourthWriteIsASample) {
  EndOrdinary(640);
  EXPECT_EQ(writes_.writes(Kind::kSampled), 10U);
  EXPECT_EQ(writes_.nanos(Kind::kSampled, Part::kAnswer), 10U * 100'000U);
}

TEST_F(SlowWritesTest, CallsWithoutAPlaceAreNoWrites) {
  EndOrdinary(1);
  End(0, 0, 10'000);
  EXPECT_EQ(writes_.writes(Kind::kSlow), 0U);
}

TEST(WritesOfAMember, PassTheStagesInOrderOnEveryMember) {
  SmallCluster cluster(3, 7, [](LocalMemberOptions&) {});
  ASSERT_TRUE(cluster.StartAll().has_value());
  ASSERT_TRUE(cluster.WaitForLeader().has_value());
  const std::size_t leader = cluster.Leader().value();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(cluster.Propose(leader, RequestKind::kPut, PutBody("k" + std::to_string(i), "v")));
  }
  cluster.RunFor(std::chrono::seconds(1));
  for (std::size_t i = 0; i < 3; ++i) {
    const RaftStatus& status = cluster.member(i).local_member().status();
    const raft::Index last = status.applied_index();
    ASSERT_GE(last, 20U);
    const auto when = [&](WriteStage stage) {
      const auto time = status.stages().When(stage, last);
      EXPECT_TRUE(time.has_value()) << "stage " << static_cast<int>(stage) << " of member " << i;
      return time.value_or(TimePoint{});
    };
    EXPECT_LE(when(kAppended), when(kWriteBegun));
    EXPECT_LE(when(kWriteBegun), when(kSynced));
    EXPECT_LE(when(kCommitted), when(kApplyBegun));
    EXPECT_LE(when(kApplyBegun), when(kApplied));
    EXPECT_LE(when(kAppended), when(kCommitted));
  }
}

}  // namespace
}  // namespace kvorum::server
