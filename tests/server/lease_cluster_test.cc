// Leases in clusters of three: who decides about them when leaders stall, die and come back, and
// what clients see of it at each member. The incidents are those of pitfalls, section 1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/live_stream.h"
#include "tests/server/peer/small_poster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr std::size_t kSize = 3;

class LeaseClusterTest : public testing::Test {
 protected:
  explicit LeaseClusterTest(std::function<void(LocalMemberOptions&)> options = {})
      : cluster_(kSize, 7, std::move(options)), posts_(cluster_) {
    EXPECT_TRUE(cluster_.StartAll().has_value());
    for (std::size_t i = 0; i < kSize; ++i) Plug(i);
    EXPECT_TRUE(cluster_.WaitForLeader().has_value());
    EXPECT_TRUE(cluster_.CatchUp());
  }
  ~LeaseClusterTest() override {
    for (const auto& stream : streams_) stream->Drop();
    for (std::size_t i = 0; i < kSize; ++i) Kill(i);
  }

  void Plug(std::size_t i) {
    services_[i] = std::make_unique<MemberServices>(cluster_, i);
    posts_.Plug(i, services_[i].get());
  }
  void Kill(std::size_t i) {
    posts_.Plug(i, nullptr);
    if (cluster_.is_up(i)) cluster_.Kill(i);
    services_[i].reset();
  }
  void Restart(std::size_t i) {
    ASSERT_TRUE(cluster_.Start(i).has_value());
    Plug(i);
  }
  std::size_t Leader() { return *cluster_.Leader(); }
  // One that does not lead.
  std::size_t Follower(std::size_t n = 0) { return (Leader() + 1 + n) % kSize; }
  // Waits for a leader that is not this one.
  std::size_t NextLeader(std::size_t old) {
    EXPECT_TRUE(cluster_.RunUntil([&] { return cluster_.Leader().value_or(old) != old; }));
    return Leader();
  }

  template <class Response>
  Result<Response> Call(std::size_t i, std::string_view path, const std::string& request) {
    return services_[i]->Call<Response>(path, request);
  }
  Result<etcdserverpb::LeaseGrantResponse> Grant(std::size_t i, std::int64_t id,
                                                 std::int64_t ttl_s) {
    return Call<etcdserverpb::LeaseGrantResponse>(i, kLeaseGrantPath,
                                                  EncodeLeaseGrant({.ttl_s = ttl_s, .id = id}));
  }
  bool Put(std::size_t i, std::string_view key, std::int64_t lease) {
    std::string body = PutBody(key, "v");
    wire::AppendInt(body, 3, lease);
    return Call<etcdserverpb::PutResponse>(i, kPutPath, body).has_value();
  }
  bool Revoke(std::size_t i, std::int64_t id) {
    return Call<etcdserverpb::LeaseRevokeResponse>(i, kLeaseRevokePath, EncodeLeaseId(id))
        .has_value();
  }
  Result<etcdserverpb::LeaseTimeToLiveResponse> TimeToLive(std::size_t i, std::int64_t id) {
    etcdserverpb::LeaseTimeToLiveRequest request;
    request.set_id(id);
    request.set_keys(true);
    return Call<etcdserverpb::LeaseTimeToLiveResponse>(i, kLeaseTimeToLivePath,
                                                       request.SerializeAsString());
  }

  std::shared_ptr<LiveStream> KeepAlive(std::size_t i) {
    auto stream = std::make_shared<LiveStream>(cluster_.member(i).lanes().io());
    services_[i]->router().Find(kLeaseKeepAlivePath)->stream(stream);
    streams_.push_back(stream);
    return stream;
  }
  static std::int64_t TtlOf(const LiveStream& stream, std::size_t n) {
    etcdserverpb::LeaseKeepAliveResponse response;
    EXPECT_TRUE(response.ParseFromString(stream.messages().at(n)));
    return response.ttl();
  }
  // One request on a separate stream; returns the time to live, or nullopt if the stream ended.
  std::optional<std::int64_t> Renew(std::size_t i, std::int64_t id) {
    const auto stream = KeepAlive(i);
    stream->Send(EncodeLeaseId(id));
    cluster_.RunUntil([&] { return !stream->messages().empty() || stream->status().has_value(); });
    if (stream->messages().empty()) return std::nullopt;
    return TtlOf(*stream, 0);
  }

  bool Exists(std::size_t i, std::int64_t id) {
    return cluster_.member(i).local_member().leases().LeaseExists(id);
  }
  bool HasKey(std::size_t i, const std::string& key) {
    return cluster_.member(i).Get(key, 0)->has_value();
  }
  void ExpectEqualMembers() {
    ASSERT_TRUE(cluster_.CatchUp());
    const auto first = cluster_.member(0).store().HashKv(0);
    for (std::size_t i = 1; i < kSize; ++i) {
      EXPECT_EQ(cluster_.member(i).store().HashKv(0)->hash, first->hash) << i;
      EXPECT_EQ(cluster_.member(i).store().revision(), cluster_.member(0).store().revision());
      EXPECT_EQ(cluster_.member(i).local_member().leases().size(),
                cluster_.member(0).local_member().leases().size());
    }
  }

  SmallCluster cluster_;
  SmallPosts posts_;
  std::array<std::unique_ptr<MemberServices>, kSize> services_;
  std::vector<std::shared_ptr<LiveStream>> streams_;
};

class CheckpointedLeaseTest : public LeaseClusterTest {
 protected:
  CheckpointedLeaseTest()
      : LeaseClusterTest([](LocalMemberOptions& options) {
          options.lease.checkpoints = true;
          options.lease.checkpoint_interval = seconds(5);
        }) {}
};

TEST_F(LeaseClusterTest, AnyMemberServesLeases) {
  const std::size_t follower = Follower();
  ASSERT_TRUE(Grant(follower, 7, 10).has_value());
  ASSERT_TRUE(Put(follower, "a", 7));
  EXPECT_EQ(Renew(Leader(), 7), 10);
  const std::size_t before = posts_.posted();
  EXPECT_EQ(Renew(follower, 7), 10);
  EXPECT_EQ(posts_.posted(), before + 1);
  cluster_.RunFor(milliseconds(1500));
  for (std::size_t i = 0; i < kSize; ++i) {
    const auto times = TimeToLive(i, 7);
    ASSERT_TRUE(times.has_value()) << times.error().message;
    EXPECT_EQ(times->ttl(), 8);
    EXPECT_EQ(times->grantedttl(), 10);
    EXPECT_THAT(times->keys(), ElementsAre("a"));
    EXPECT_EQ(times->header().member_id(), cluster_.id(i));
    EXPECT_GT(times->header().revision(), 0);
  }
}

TEST_F(LeaseClusterTest, AnyMemberKnowsOfALeaseThatIsNotThere) {
  for (std::size_t i = 0; i < kSize; ++i) {
    EXPECT_EQ(Renew(i, 99), 0);
    const auto times = TimeToLive(i, 99);
    ASSERT_TRUE(times.has_value());
    EXPECT_EQ(times->ttl(), -1);
  }
}

TEST_F(LeaseClusterTest, ExpiryIsAppliedByAllAtOneRevision) {
  Grant(0, 7, 3);
  for (const char* key : {"a", "b", "c"}) Put(0, key, 7);
  const std::int64_t before = cluster_.member(0).store().revision();
  cluster_.RunFor(milliseconds(2900));
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_TRUE(Exists(i, 7));
  cluster_.RunFor(seconds(1));
  for (std::size_t i = 0; i < kSize; ++i) {
    EXPECT_FALSE(Exists(i, 7));
    EXPECT_EQ(cluster_.member(i).store().revision(), before + 1);
  }
  ExpectEqualMembers();
}

// --- incidents ---------------------------------------------------------------------------------

// etcd issue 15247: a leader that was stopped goes on, believes that it leads, and finds leases
// expired that its successor has renewed.
class StalledLeaderTest : public LeaseClusterTest, public testing::WithParamInterface<int> {};

TEST_P(StalledLeaderTest, RevokesNothingThatItsSuccessorRenewed) {
  Grant(0, 7, 5);
  Put(0, "a", 7);
  cluster_.RunFor(milliseconds(4500));  // it is about to expire
  const std::size_t old = Leader();
  cluster_.Pause(old, true);
  const TimePoint resume = cluster_.scheduler().clock().Now() + milliseconds(GetParam());
  const std::size_t follower = (old + 1) % kSize;
  bool resumed = false;
  const TimePoint end = resume + seconds(20);
  std::shared_ptr<LiveStream> stream = KeepAlive(follower);
  std::size_t answers = 0;
  while (cluster_.scheduler().clock().Now() < end) {
    if (!resumed && cluster_.scheduler().clock().Now() >= resume) {
      cluster_.Pause(old, false);
      resumed = true;
    }
    if (stream->status().has_value()) {
      stream = KeepAlive(follower);
      answers = 0;
    }
    if (stream->messages().size() >= answers) {
      stream->Send(EncodeLeaseId(7));
      ++answers;
    }
    cluster_.RunFor(milliseconds(100));
    for (std::size_t i = 0; i < kSize; ++i) ASSERT_TRUE(Exists(i, 7)) << "lost by member " << i;
  }
  ASSERT_TRUE(resumed);
  EXPECT_GT(stream->messages().size(), 10U);
  EXPECT_EQ(TtlOf(*stream, stream->messages().size() - 1), 5);
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_TRUE(HasKey(i, "a"));
  ExpectEqualMembers();
}

INSTANTIATE_TEST_SUITE_P(ForMilliseconds, StalledLeaderTest,
                         testing::Values(1500, 3000, 8300, 30000));

// The same, with the revocations in flight: they are in the old leader's log and nowhere else.
TEST_F(LeaseClusterTest, RevocationsOfACutOffLeaderAreNobodysElse) {
  Grant(0, 7, 3);
  Put(0, "a", 7);
  cluster_.RunFor(milliseconds(2800));
  const std::size_t old = Leader();
  cluster_.Isolate(old);
  const std::size_t next = NextLeader(old);
  cluster_.RunFor(milliseconds(500));
  EXPECT_EQ(Renew(next, 7), 3);
  cluster_.network().MendAll();
  cluster_.RunFor(milliseconds(2000));
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_TRUE(Exists(i, 7));
  cluster_.RunFor(seconds(4));  // it was renewed once, and not since
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_FALSE(Exists(i, 7));
  ExpectEqualMembers();
}

// A renewal requested from a stalled leader is not answered from its own state.
TEST_F(LeaseClusterTest, AStalledLeaderAnswersNoRenewalByItself) {
  Grant(0, 7, 5);
  const std::size_t old = Leader();
  const auto stream = KeepAlive(old);
  cluster_.Isolate(old);
  stream->Send(EncodeLeaseId(7));
  NextLeader(old);
  cluster_.RunFor(seconds(20));
  EXPECT_TRUE(stream->messages().empty());
  ASSERT_TRUE(stream->status().has_value());
  EXPECT_NE(stream->status()->code, Code::kOk);
  for (std::size_t i = 0; i < kSize; ++i) {
    if (i == old) continue;
    EXPECT_FALSE(Exists(i, 7));  // not renewed
  }
}

// etcd issue 13932 and its kin.
TEST_F(LeaseClusterTest, KeepAliveRacingExpiryIsAnsweredWhenTheLeaseIsGone) {
  Grant(0, 7, 3);
  Put(0, "a", 7);
  const std::size_t leader = Leader();
  cluster_.RunFor(milliseconds(2500));
  // The revocation waits at the leader: nothing of it reaches the others.
  bool holds = true;
  cluster_.network().SetFilter([&](raft::Message& message) {
    return holds && message.type == raft::MessageType::kApp && !message.entries.empty();
  });
  cluster_.RunFor(milliseconds(800));
  const auto stream = KeepAlive(leader);
  const auto at_follower = KeepAlive((leader + 1) % kSize);
  stream->Send(EncodeLeaseId(7));
  at_follower->Send(EncodeLeaseId(7));
  cluster_.RunFor(milliseconds(300));
  ASSERT_TRUE(Exists(leader, 7));
  EXPECT_TRUE(stream->messages().empty());  // neither renewed nor gone
  EXPECT_TRUE(at_follower->messages().empty());
  holds = false;
  cluster_.RunFor(seconds(3));
  for (const auto& each : {stream, at_follower}) {
    ASSERT_EQ(each->messages().size(), 1U);
    EXPECT_EQ(TtlOf(*each, 0), 0);
  }
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_FALSE(HasKey(i, "a"));
}

TEST_F(LeaseClusterTest, KeepAliveRacingExpiryIsDecidedByTheNextLeader) {
  Grant(0, 7, 3);
  Put(0, "a", 7);
  const std::size_t old = Leader();
  cluster_.RunFor(milliseconds(2500));
  cluster_.Isolate(old);  // its revocation goes nowhere
  cluster_.RunFor(milliseconds(700));
  const auto stream = KeepAlive(old);
  stream->Send(EncodeLeaseId(7));
  NextLeader(old);
  cluster_.RunFor(milliseconds(500));
  cluster_.network().MendAll();
  // The next leader gave it its whole time: the renewal reaches it, or comes too late.
  ASSERT_TRUE(cluster_.RunUntil([&] { return !stream->messages().empty(); }));
  if (TtlOf(*stream, 0) == 3) {
    cluster_.RunFor(seconds(2));
    for (std::size_t i = 0; i < kSize; ++i) EXPECT_TRUE(HasKey(i, "a"));
  } else {
    EXPECT_EQ(TtlOf(*stream, 0), 0);
    EXPECT_FALSE(HasKey(Leader(), "a"));
  }
}

TEST_F(LeaseClusterTest, KeepAliveRacingAGrantFindsTheLease) {
  for (std::int64_t id = 1; id <= 30; ++id) {
    const std::size_t at = static_cast<std::size_t>(id) % kSize;
    ASSERT_TRUE(Grant(at, id, 10).has_value());
    ASSERT_EQ(Renew((at + 1) % kSize, id), 10) << id;
  }
}

TEST_F(LeaseClusterTest, ARevokedLeaseIsRenewedByNobody) {
  for (std::int64_t id = 1; id <= 30; ++id) {
    const std::size_t at = static_cast<std::size_t>(id) % kSize;
    ASSERT_TRUE(Grant(at, id, 10).has_value());
    ASSERT_TRUE(Revoke(at, id));
    ASSERT_EQ(Renew((at + 1) % kSize, id), 0) << id;
    ASSERT_EQ(TimeToLive((at + 2) % kSize, id)->ttl(), -1) << id;
  }
}

// --- leaders come and go -----------------------------------------------------------------------

TEST_F(LeaseClusterTest, ANewLeaderExtendsByTheElectionTimeout) {
  Grant(0, 7, 10);
  cluster_.RunFor(seconds(9));
  const std::size_t old = Leader();
  Kill(old);
  const std::size_t next = NextLeader(old);
  ASSERT_TRUE(cluster_.RunUntil(
      [&] { return cluster_.member(next).local_member().leases().primary_term() != 0; }));
  EXPECT_EQ(TimeToLive(next, 7)->ttl(), 10);
  cluster_.RunFor(milliseconds(10800));
  EXPECT_TRUE(Exists(next, 7));
  cluster_.RunFor(milliseconds(700));
  EXPECT_FALSE(Exists(next, 7));
}

TEST_F(LeaseClusterTest, WithoutALeaderNothingExpires) {
  Grant(0, 7, 3);
  const std::size_t leader = Leader();
  Kill((leader + 1) % kSize);
  Kill((leader + 2) % kSize);
  cluster_.RunFor(seconds(30));
  EXPECT_TRUE(Exists(leader, 7));
  Restart((leader + 1) % kSize);
  ASSERT_TRUE(cluster_.WaitForLeader().has_value());
  cluster_.RunFor(seconds(6));
  EXPECT_FALSE(Exists(leader, 7));
}

TEST_F(LeaseClusterTest, AMemberThatCannotReachTheLeaderSaysSo) {
  Grant(0, 7, 60);
  const std::size_t follower = Follower();
  cluster_.Isolate(follower);
  const auto stream = KeepAlive(follower);
  stream->Send(EncodeLeaseId(7));
  ASSERT_TRUE(cluster_.RunUntil([&] { return stream->status().has_value(); }));
  EXPECT_THAT(stream->status()->message, kErrNoLeader.message);
  EXPECT_TRUE(stream->messages().empty());
}

TEST_F(LeaseClusterTest, ASnapshotBringsTheLeases) {
  Grant(0, 7, 60);
  Put(0, "a", 7);
  const std::size_t follower = Follower();
  Kill(follower);
  ASSERT_TRUE(Grant(Leader(), 8, 60).has_value());
  ASSERT_TRUE(Put(Leader(), "b", 8));
  ASSERT_TRUE(Put(Leader(), "a", 8));
  ASSERT_TRUE(Revoke(Leader(), 7));
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(Put(Leader(), "filler", 0));
  Restart(follower);
  ASSERT_TRUE(cluster_.CatchUp());
  EXPECT_GT(cluster_.network().snapshots_delivered(), 0U);
  EXPECT_FALSE(Exists(follower, 7));
  ASSERT_TRUE(Exists(follower, 8));
  EXPECT_THAT(cluster_.member(follower).local_member().leases().KeysOf(8), ElementsAre("a", "b"));
  ASSERT_TRUE(Revoke(follower, 8));
  ExpectEqualMembers();
  EXPECT_FALSE(HasKey(follower, "a"));
}

TEST_F(LeaseClusterTest, LeadersThatDieOverAndOverLoseNoLeaseThatIsKeptAlive) {
  Grant(0, 7, 5);
  Put(0, "a", 7);
  for (int round = 0; round < 6; ++round) {
    const std::size_t old = Leader();
    Kill(old);
    const std::size_t next = NextLeader(old);
    ASSERT_EQ(Renew((old + 1) % kSize, 7), 5);
    ASSERT_EQ(Renew(next, 7), 5);
    Restart(old);
    cluster_.RunFor(seconds(2));
    ASSERT_EQ(Renew(old, 7), 5);
  }
  ExpectEqualMembers();
  EXPECT_TRUE(HasKey(0, "a"));
}

// --- checkpoints -------------------------------------------------------------------------------

TEST_F(LeaseClusterTest, WithoutCheckpointsALeaderChangeGivesTheWholeTimeAnew) {
  Grant(0, 7, 60);
  cluster_.RunFor(seconds(40));
  const std::size_t old = Leader();
  Kill(old);
  const std::size_t next = NextLeader(old);
  cluster_.RunFor(seconds(1));
  EXPECT_GT(TimeToLive(next, 7)->ttl(), 55);
}

TEST_F(CheckpointedLeaseTest, ALeaderChangeDoesNotResetALongLease) {
  Grant(0, 7, 60);
  cluster_.RunFor(seconds(40));
  EXPECT_LE(TimeToLive(Leader(), 7)->ttl(), 20);
  const std::size_t old = Leader();
  Kill(old);
  const std::size_t next = NextLeader(old);
  cluster_.RunFor(seconds(1));
  const std::int64_t left = TimeToLive(next, 7)->ttl();
  EXPECT_LE(left, 27);  // the time left at the last checkpoint, and an election
  EXPECT_GE(left, 15);
}

TEST_F(CheckpointedLeaseTest, ARenewalOutlivesTheLeaderThatAnsweredIt) {
  Grant(0, 7, 60);
  cluster_.RunFor(seconds(58));
  EXPECT_EQ(Renew(Follower(), 7), 60);
  const std::size_t old = Leader();
  Kill(old);
  const std::size_t next = NextLeader(old);
  cluster_.RunFor(seconds(50));
  EXPECT_TRUE(Exists(next, 7));
  cluster_.RunFor(seconds(15));
  EXPECT_FALSE(Exists(next, 7));
}

// A checkpoint that the leader proposed waits for its quorum, and a renewal comes meanwhile.
TEST_F(CheckpointedLeaseTest, ARenewalBesideACheckpointOnItsWayOutlivesTheLeader) {
  Grant(0, 7, 60);
  const std::size_t old = Leader();
  cluster_.RunFor(milliseconds(4500));
  bool holds = true;
  cluster_.network().SetFilter([&](raft::Message& message) {
    return holds && message.type == raft::MessageType::kApp && !message.entries.empty();
  });
  cluster_.RunFor(milliseconds(700));  // the checkpoint says 55 s
  const auto stream = KeepAlive(old);
  stream->Send(EncodeLeaseId(7));
  cluster_.RunFor(milliseconds(200));
  EXPECT_TRUE(stream->messages().empty());  // it waits for the checkpoint
  holds = false;
  ASSERT_TRUE(cluster_.RunUntil([&] { return !stream->messages().empty(); }));
  EXPECT_EQ(TtlOf(*stream, 0), 60);
  Kill(old);
  const std::size_t next = NextLeader(old);
  ASSERT_TRUE(cluster_.RunUntil(
      [&] { return cluster_.member(next).local_member().leases().primary_term() != 0; }));
  EXPECT_GE(TimeToLive(next, 7)->ttl(), 59);
}

TEST_F(CheckpointedLeaseTest, TheBucketsAreEqual) {
  Grant(0, 7, 60);
  Grant(0, 8, 3);
  cluster_.RunFor(seconds(22));
  ExpectEqualMembers();
  std::vector<std::string> first;
  for (std::size_t i = 0; i < kSize; ++i) {
    std::vector<std::string> stored;
    cluster_.member(i).store().Flush([] {});
    cluster_.RunFor(milliseconds(300));
    ASSERT_TRUE(
        cluster_.member(i)
            .store()
            .ForEach(mvcc::Bucket::kLease,
                     [&](std::string_view, std::string_view value) { stored.emplace_back(value); })
            .has_value());
    ASSERT_EQ(stored.size(), 1U);
    EXPECT_EQ(lease::DecodeLease(stored[0])->remaining_s, 40);
    if (i == 0) first = stored;
    EXPECT_EQ(stored, first);
  }
}

}  // namespace
}  // namespace kvorum::server
