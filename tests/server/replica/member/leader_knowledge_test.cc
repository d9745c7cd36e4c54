// The time in which a member learns that it has no leader, or no longer leads: within two election
// time-outs of the last message that it heard, whenever that was, for everybody who asks it.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

#include "base/api_errors.h"
#include "server/call/leader_streams.h"
#include "server/call/quarantine.h"
#include "server/call/reads.h"
#include "server/services/maintenance/health.h"
#include "server/services/maintenance/http_handlers.h"
#include "tests/server/live_stream.h"
#include "tests/server/member_services.h"
#include "tests/server/peer/keeping_sink.h"
#include "tests/server/replica/small_cluster.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTick = milliseconds(100);
// For a message in flight when the link was cut, and one check of LeaderStreams.
constexpr Duration kSlack = milliseconds(60);

// Three members with an election time-out of this many ticks, one of which can be asked.
class LeaderKnowledge : public testing::TestWithParam<int> {
 protected:
  LeaderKnowledge() { EXPECT_TRUE(cluster_.StartAll().has_value()); }

  Duration election_timeout() const { return GetParam() * kTick; }
  std::size_t Elect() {
    cluster_.network().MendAll();
    const std::size_t leader = cluster_.WaitForLeader().value();
    EXPECT_TRUE(cluster_.ReadIndex(leader).has_value());
    return leader;
  }
  std::size_t AFollower() { return (Elect() + 1) % cluster_.size(); }
  // Cuts a member off, at a different moment between two ticks and two of its checks each time, and
  // measures when it, a stream that requires a leader, and a health check learn of that.
  void CutOffAndLook(std::size_t i, Duration phase) {
    cluster_.RunFor(phase);
    ASSERT_NE(cluster_.replica(i).leader(), raft::kNone);
    MemberServices services(cluster_, i);
    Executor& io = cluster_.member(i).lanes().io();
    LeaderStreams streams(io, election_timeout(),
                          [&] { return cluster_.replica(i).is_leaderless(); });
    streams.Start();
    const auto stream = std::make_shared<LiveStream>(io);
    streams.Add(std::static_pointer_cast<rpc::ServerStream>(stream));
    Quarantine quarantine(cluster_.disk(i), SmallMember::kQuarantineFile);
    Health checks(services.parts().services.reads, quarantine, streams);
    const rpc::HttpHandler http =
        rpc::HttpMux::ToHandler(ClientRoutes(services.parts().services.cluster.membership, checks));
    const auto health = std::make_shared<KeepingSink>();
    cluster_.Isolate(i);
    rpc::HttpRequest request;
    request.method = "GET";
    request.target = "/health";
    http(std::move(request), rpc::HttpReply(health));
    const TimePoint cut = cluster_.scheduler().clock().Now();
    ASSERT_TRUE(cluster_.RunUntil([&] { return cluster_.replica(i).leader() == raft::kNone; }));
    EXPECT_LE(cluster_.scheduler().clock().Now() - cut, 2 * election_timeout());
    ASSERT_TRUE(cluster_.RunUntil([&] { return stream->status() && health->kept; }));
    EXPECT_LE(cluster_.scheduler().clock().Now() - cut, 2 * election_timeout() + kSlack);
    EXPECT_EQ(*stream->status(), kErrNoLeader.ToError());
    EXPECT_EQ(StatusAndBody(*health->kept),
              "503 {\"health\":\"false\",\"reason\":\"RAFT NO LEADER\"}\n");
    cluster_.Kill(i);
    ASSERT_TRUE(cluster_.Start(i).has_value());
  }

  SmallCluster cluster_{3, 5, [ticks = GetParam()](LocalMemberOptions& options) {
                          options.raft.election_ticks = ticks;
                          options.replica.tick = kTick;
                          options.replica.election_timeout = ticks * kTick;
                        }};
};

INSTANTIATE_TEST_SUITE_P(ElectionTimeouts, LeaderKnowledge, testing::Values(5, 10),
                         [](const auto& info) { return std::to_string(100 * info.param) + "ms"; });

TEST_P(LeaderKnowledge, ALeaderWithoutItsMajorityHasItSoon) {
  for (int part = 0; part < 2 * GetParam(); ++part)
    CutOffAndLook(Elect(), part * kTick + milliseconds(part * 7 % 100));
}

TEST_P(LeaderKnowledge, AFollowerWithoutItsLeaderHasItSoon) {
  for (int part = 0; part < 10; ++part) CutOffAndLook(AFollower(), part * milliseconds(37));
}

TEST_P(LeaderKnowledge, AnOrdinaryElectionEndsNoStream) {
  int cut_off = 0;
  for (int round = 0; round < 20; ++round) {
    const std::size_t old = Elect();
    cluster_.Kill(old);
    bool is_leaderless = false;
    ASSERT_TRUE(cluster_.RunUntil([&] {
      std::size_t know = 0;
      for (std::size_t i = 0; i < cluster_.size(); ++i) {
        if (i == old) continue;
        is_leaderless |= cluster_.replica(i).is_leaderless();
        const raft::MemberId leader = cluster_.replica(i).leader();
        know += leader != raft::kNone && leader != cluster_.id(old) ? 1 : 0;
      }
      return know == 2;
    }));
    cut_off += is_leaderless ? 1 : 0;
    ASSERT_TRUE(cluster_.Start(old).has_value());
  }
  EXPECT_LE(cut_off, 3) << "only where the first round had no winner";
}

}  // namespace
}  // namespace kvorum::server
