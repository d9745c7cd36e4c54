// A member's view of elections: the first one may be hurried, and a client without an answer may
// get an election or a lost connection as the reason.
#include <gtest/gtest.h>

#include <map>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "server/peer/codec/transport.h"
#include "server/replica/drive/first_election.h"
#include "server/replica/drive/refusal_log.h"
#include "server/replica/drive/timeout_cause.h"
#include "tests/server/replica/replica_node.h"

namespace kvorum::server {
namespace {

constexpr Duration kOneSecond = std::chrono::seconds(1);

class ConnectedTo final : public Transport {
 public:
  void Send(std::vector<raft::Message>) override {}
  void SendSnapshot(raft::Message, std::unique_ptr<mvcc::SnapshotSource>) override {}
  void SetMembers(std::shared_ptr<const MembershipView>) override {}
  std::optional<TimePoint> ActiveSince(raft::MemberId peer) const override {
    const auto found = since.find(peer);
    return found == since.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<raft::MemberId, TimePoint> since;
};

// Node 1's leader says so.
void Follow(raft::Node& node, raft::MemberId leader) {
  ASSERT_TRUE(node.Step({.type = raft::MessageType::kHeartbeat,
                         .to = 1,
                         .from = leader,
                         .term = node.term() + 1})
                  .has_value());
}

class ElectionWatchTest : public ::testing::Test {
 protected:
  ElectionWatchTest() { SetLogLevel(LogLevel::kError); }

  std::int64_t LeftOut() { return first_.TicksToLeaveOut(*node_, transport_, now_, 10); }
  Error Cause() { return cause_.Explain(*node_, transport_, now_); }

  std::unique_ptr<raft::Node> node_ = MakeNode({1, 2, 3});
  ConnectedTo transport_;
  TimePoint now_{std::chrono::nanoseconds(100 * kOneSecond).count()};
  FirstElection first_;
  TimeoutCause cause_{7 * kOneSecond, kOneSecond};
};

TEST_F(ElectionWatchTest, TheFirstElectionIsHurriedOnceAMajorityIsConnected) {
  first_.Begin(now_);
  EXPECT_EQ(LeftOut(), 0);
  transport_.since[2] = now_;
  EXPECT_EQ(LeftOut(), 8) << "but for the last two ticks";
  EXPECT_EQ(LeftOut(), 0) << "once";
}

TEST_F(ElectionWatchTest, ItIsNotHurriedUnlessTold) {
  transport_.since[2] = now_;
  EXPECT_EQ(LeftOut(), 0);
}

TEST_F(ElectionWatchTest, ItIsNotHurriedWhereThereIsALeader) {
  first_.Begin(now_);
  Follow(*node_, 2);
  transport_.since[2] = now_;
  EXPECT_EQ(LeftOut(), 0);
}

TEST_F(ElectionWatchTest, ItIsNotHurriedLongAfterTheStart) {
  first_.Begin(now_);
  now_ = now_ + FirstElection::kLimit + Duration(1);
  transport_.since[2] = now_;
  EXPECT_EQ(LeftOut(), 0);
}

TEST_F(ElectionWatchTest, WhoAskedBeforeAnElectionIsToldOfIt) {
  EXPECT_EQ(Cause(), kErrTimeout.ToError());
  cause_.Elected(now_ - 6 * kOneSecond);  // asked 7 s ago, within two time-outs before it
  EXPECT_EQ(Cause(), kErrTimeoutDueToLeaderFail.ToError());
  now_ = now_ + kOneSecond;  // asked when it was elected
  EXPECT_EQ(Cause(), kErrTimeout.ToError());
}

TEST_F(ElectionWatchTest, WhoseLeaderWasNotConnectedAllTheTimeIsToldSo) {
  Follow(*node_, 2);
  EXPECT_EQ(Cause(), kErrTimeoutDueToConnectionLost.ToError());
  transport_.since[2] = now_ - 8 * kOneSecond;
  EXPECT_EQ(Cause(), kErrTimeout.ToError());
  transport_.since[2] = now_ - 6 * kOneSecond;
  EXPECT_EQ(Cause(), kErrTimeoutDueToConnectionLost.ToError());
}

TEST(RefusalLogTest, OfOneSenderOneLineAMinuteIsWritten) {
  SetLogLevel(LogLevel::kError);
  RefusalLog log;
  const Error error{Code::kInvalidArgument, "nonsense"};
  TimePoint now{1};
  EXPECT_TRUE(log.Refused(2, error, now));
  EXPECT_FALSE(log.Refused(2, error, now));
  EXPECT_TRUE(log.Refused(3, error, now)) << "another one";
  now = now + RefusalLog::kPause - Duration(1);
  EXPECT_FALSE(log.Refused(2, error, now));
  EXPECT_TRUE(log.Refused(2, error, now + Duration(1)));
}

TEST(RefusalLogTest, ForgetsSendersPastItsBound) {
  SetLogLevel(LogLevel::kError);
  RefusalLog log;
  const Error error{Code::kInvalidArgument, "nonsense"};
  for (raft::MemberId from = 1; from <= RefusalLog::kMaxSenders; ++from)
    EXPECT_TRUE(log.Refused(from, error, {1}));
  EXPECT_FALSE(log.Refused(1, error, {1})) << "those it knows it keeps";
  EXPECT_TRUE(log.Refused(1000, error, {1}));
  EXPECT_TRUE(log.Refused(1, error, {1})) << "forgotten with the others";
}

}  // namespace
}  // namespace kvorum::server
