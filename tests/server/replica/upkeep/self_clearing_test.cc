// The alarm of the quota in whole members: raised by a write that does not fit, and ended by the
// member itself once compaction has made room.
#include <gtest/gtest.h>

#include <string>

#include "base/api_errors.h"
#include "tests/server/replica/log_file.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kQuotaBytes = 256 * 1024;

class SelfClearing : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.emplace(3, 5, [](LocalMemberOptions& options) { options.quota_bytes = kQuotaBytes; });
    ASSERT_TRUE(cluster_->StartAll().has_value());
    ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  }
  std::size_t leader() { return cluster_->Leader().value(); }
  Result<ApplyResult::Value> Propose(RequestKind kind, const std::string& body) {
    return cluster_->Propose(leader(), kind, body);
  }
  Result<ApplyResult::Value> Put(const std::string& key) {
    return Propose(RequestKind::kPut, PutBody(key, std::string(8'000, 'v')));
  }
  // Overwrites one key until a put is refused.
  void Fill() {
    for (int i = 0; i < 200; ++i) {
      if (!Put("k").has_value()) break;
    }
    ASSERT_TRUE(cluster_->RunUntil([&] { return Stands(); }));
  }
  void Compact() {
    const std::int64_t newest = cluster_->member(leader()).store().revision();
    ASSERT_TRUE(Propose(RequestKind::kCompaction, CompactBody(newest, true)).has_value());
  }
  bool Stands() {
    return cluster_->member(leader()).local_member().alarms().Stands(AlarmType::kNoSpace);
  }
  bool Ends() {
    return cluster_->RunUntil([&] { return !Stands(); });
  }

  std::optional<SmallCluster> cluster_;
};

TEST_F(SelfClearing, TheAlarmStandsUntilThereIsRoomAndThenEndsByItself) {
  {
    const LogFile log;
    ASSERT_NO_FATAL_FAILURE(Fill());
    EXPECT_FALSE(log.LinesWith("message exceeded backend quota; raising alarm").empty());
  }
  cluster_->RunFor(seconds(30));
  ASSERT_TRUE(Stands()) << "nothing has changed";
  EXPECT_TRUE(Put("k").error() == kErrNoSpace.ToError());
  ASSERT_NO_FATAL_FAILURE(Compact());
  ASSERT_TRUE(Ends());
  EXPECT_TRUE(Put("k").has_value());
  ASSERT_TRUE(cluster_->CatchUp());
  for (std::size_t i = 0; i < cluster_->size(); ++i)
    EXPECT_TRUE(cluster_->member(i).local_member().alarms().List().empty());
}

TEST_F(SelfClearing, AnOperatorsDisarmIsNotInItsWay) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_NO_FATAL_FAILURE(Compact());
  for (const Alarm& alarm : cluster_->member(leader()).local_member().alarms().List()) {
    const AlarmRequest disarm{.action = AlarmAction::kDeactivate, .alarm = alarm};
    ASSERT_TRUE(Propose(RequestKind::kAlarm, EncodeAlarmRequest(disarm)).has_value());
  }
  EXPECT_TRUE(Put("k").has_value());
  cluster_->RunFor(seconds(30));
  EXPECT_FALSE(Stands());
}

TEST_F(SelfClearing, ItIsRaisedAgainWhenThereIsNoRoomAgain) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(Fill());
    ASSERT_NO_FATAL_FAILURE(Compact());
    ASSERT_TRUE(Ends());
  }
}

// Its member does not know whether it has room, so it is unknown.
TEST_F(SelfClearing, TheAlarmOfAMemberThatIsDownStaysUntilItIsBack) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const auto raised = cluster_->member(leader()).local_member().alarms().List();
  ASSERT_FALSE(raised.empty());
  std::size_t down = 0;
  while (cluster_->id(down) != raised.front().member) ++down;
  cluster_->Kill(down);
  ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  ASSERT_NO_FATAL_FAILURE(Compact());
  cluster_->RunFor(seconds(30));
  ASSERT_TRUE(Stands());
  ASSERT_TRUE(cluster_->Start(down).has_value());
  EXPECT_TRUE(Ends());
}

// Alarms with which a client freezes the cluster name no member.
TEST_F(SelfClearing, AnAlarmInTheNameOfNoMemberStays) {
  const AlarmRequest raise{.action = AlarmAction::kActivate,
                           .alarm = {.member = raft::MemberId{7}, .type = AlarmType::kNoSpace}};
  ASSERT_TRUE(Propose(RequestKind::kAlarm, EncodeAlarmRequest(raise)).has_value());
  cluster_->RunFor(seconds(60));
  EXPECT_TRUE(Stands());
}

}  // namespace
}  // namespace kvorum::server
