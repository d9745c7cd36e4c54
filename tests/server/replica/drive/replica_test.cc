// A member's replica among others: reads on every member, what happens without a leader or a
// majority, a leader whose disk stalls, and peers that send nonsense.
#include "server/replica/drive/replica.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "api/lease_messages.h"
#include "base/api_errors.h"
#include "base/rng.h"
#include "raft/node.h"
#include "raft/read_queue.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Asks for a read and remembers how it ended.
struct Read {
  Read(SmallCluster& cluster, std::size_t member) {
    cluster.replica(member).ReadIndex([end = ended](const Result<void>& result) { *end = result; });
  }
  bool has_ended() const { return ended->has_value(); }
  bool is_confirmed() const { return has_ended() && (*ended)->has_value(); }
  Error error() const { return (*ended)->error(); }
  std::shared_ptr<std::optional<Result<void>>> ended =
      std::make_shared<std::optional<Result<void>>>();
};

class ReplicaTest : public testing::Test {
 protected:
  // Starts a cluster that has a leader and a key; its number.
  std::size_t Start(std::size_t size, std::function<void(LocalMemberOptions&)> options = {}) {
    cluster_ = std::make_unique<SmallCluster>(size, 7, std::move(options));
    EXPECT_TRUE(cluster_->StartAll().has_value());
    const std::size_t leader = cluster_->WaitForLeader().value();
    EXPECT_TRUE(Put(leader, "before").has_value());
    EXPECT_TRUE(cluster_->CatchUp());
    return leader;
  }
  Result<ApplyResult::Value> Put(std::size_t member, const std::string& value) {
    return cluster_->Propose(member, RequestKind::kPut, PutBody("key", value));
  }
  std::string Value(std::size_t member) {
    return cluster_->member(member).Get("key", 0).value().value_or("");
  }
  std::size_t FollowerOf(std::size_t leader) { return leader == 0 ? 1 : 0; }

  std::unique_ptr<SmallCluster> cluster_;
};

TEST_F(ReplicaTest, MembersThatStartTogetherDoNotWaitOutAnElectionTimeout) {
  const auto time_to_lead = [](bool hurry, std::uint64_t seed) {
    SmallCluster cluster(3, seed, [hurry](LocalMemberOptions& options) {
      options.replica.hurry_first_election = hurry;
    });
    EXPECT_TRUE(cluster.StartAll().has_value());
    const TimePoint begin = cluster.scheduler().clock().Now();
    EXPECT_TRUE(cluster.WaitForLeader().has_value());
    return cluster.scheduler().clock().Now() - begin;
  };
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Duration patient = time_to_lead(false, seed);
    EXPECT_GE(patient, seconds(1)) << seed;
    EXPECT_EQ(patient - time_to_lead(true, seed), milliseconds(800)) << seed;
  }
}

TEST_F(ReplicaTest, AMemberThatFindsALeaderAtItsStartDoesNotDisturbIt) {
  const std::size_t leader = Start(3);
  const raft::Term term = cluster_->replica(leader).term();
  const std::size_t follower = FollowerOf(leader);
  cluster_->Kill(follower);
  ASSERT_TRUE(cluster_->Start(follower).has_value());
  cluster_->RunFor(seconds(5));
  EXPECT_EQ(cluster_->Leader(), leader);
  EXPECT_EQ(cluster_->replica(follower).term(), term);
}

TEST_F(ReplicaTest, AMemberAloneAmongThreeDoesNotHurry) {
  SmallCluster cluster(3, 7);
  ASSERT_TRUE(cluster.Start(0).has_value());
  cluster.RunFor(milliseconds(900));
  EXPECT_EQ(cluster.member(0).local_member().replica().term(), 1U);
  EXPECT_FALSE(cluster.Leader().has_value());
}

TEST_F(ReplicaTest, AllReadsOfAFollowerThatWaitShareOneQuestion) {
  const std::size_t leader = Start(3);
  const std::size_t follower = FollowerOf(leader);
  std::size_t questions = 0;
  cluster_->network().SetFilter([&](raft::Message& message) {
    questions += message.type == raft::MessageType::kReadIndex ? 1 : 0;
    return false;
  });
  std::vector<Read> reads;
  reads.emplace_back(*cluster_, follower);
  ASSERT_TRUE(cluster_->RunUntil([&] { return questions == 1; }));
  for (int i = 0; i < 999; ++i) reads.emplace_back(*cluster_, follower);
  ASSERT_TRUE(cluster_->RunUntil([&] {
    return std::ranges::all_of(reads, [](const Read& read) { return read.is_confirmed(); });
  }));
  EXPECT_EQ(questions, 2U);
}

TEST_F(ReplicaTest, AReadWhoseQuestionIsLostIsAskedAgainUnderAnotherName) {
  const std::size_t leader = Start(3);
  const std::size_t follower = FollowerOf(leader);
  std::set<std::uint64_t> names;
  cluster_->network().SetFilter([&](raft::Message& message) {
    if (message.type != raft::MessageType::kReadIndex) return false;
    names.insert(raft::DecodeContext(message.entries.front().data));
    return names.size() < 3;
  });
  const TimePoint begin = cluster_->scheduler().clock().Now();
  const Read read(*cluster_, follower);
  ASSERT_TRUE(cluster_->RunUntil([&] { return read.is_confirmed(); }));
  EXPECT_EQ(names.size(), 3U);
  const Duration took = cluster_->scheduler().clock().Now() - begin;
  EXPECT_GE(took, seconds(1));
  EXPECT_LT(took, milliseconds(1500));
}

TEST_F(ReplicaTest, AnAnswerToAnEarlierQuestionConfirmsNothing) {
  const std::size_t leader = Start(3);
  const std::size_t follower = FollowerOf(leader);
  // The first answer is held back; the second is never given.
  std::optional<raft::Message> answer;
  cluster_->network().SetFilter([&](raft::Message& message) {
    if (message.type != raft::MessageType::kReadIndexResp) return false;
    if (!answer.has_value()) answer = message;
    return true;
  });
  const Read read(*cluster_, follower);
  cluster_->RunFor(milliseconds(800));
  ASSERT_TRUE(answer.has_value());
  cluster_->member(follower).local_member().Receive(*answer);
  cluster_->RunFor(milliseconds(50));
  EXPECT_FALSE(read.has_ended());
  cluster_->network().SetFilter({});
  EXPECT_TRUE(cluster_->RunUntil([&] { return read.is_confirmed(); }, seconds(1)));
}

TEST_F(ReplicaTest, AReadOutlivesTheLeaderThatItWasAskedOf) {
  const std::size_t leader = Start(3);
  const std::size_t follower = FollowerOf(leader);
  cluster_->Kill(leader);
  const Read read(*cluster_, follower);
  ASSERT_TRUE(cluster_->RunUntil([&] { return read.has_ended(); }));
  EXPECT_TRUE(read.is_confirmed());
}

TEST_F(ReplicaTest, AReadIsAnsweredFromNoStateThatLacksWhatWasWrittenBeforeIt) {
  const std::size_t leader = Start(3);
  const std::size_t follower = FollowerOf(leader);
  Lanes& lanes = cluster_->member(follower).lanes();
  lanes.Hold(lanes.apply(), true);
  ASSERT_TRUE(Put(leader, "after").has_value());
  const Read read(*cluster_, follower);
  cluster_->RunFor(seconds(3));
  EXPECT_FALSE(read.has_ended());
  lanes.Hold(lanes.apply(), false);
  ASSERT_TRUE(cluster_->RunUntil([&] { return read.is_confirmed(); }));
  EXPECT_EQ(Value(follower), "after");
}

TEST_F(ReplicaTest, AReadThatWaitsForApplyTooLongSaysSo) {
  const std::size_t leader = Start(3);
  const std::size_t follower = FollowerOf(leader);
  Lanes& lanes = cluster_->member(follower).lanes();
  lanes.Hold(lanes.apply(), true);
  ASSERT_TRUE(Put(leader, "after").has_value());
  const Read read(*cluster_, follower);
  ASSERT_TRUE(cluster_->RunUntil([&] { return read.has_ended(); }, seconds(8)));
  EXPECT_EQ(read.error(), kErrTimeoutWaitApplied.ToError());
}

TEST_F(ReplicaTest, ACutOffLeaderConfirmsNoRead) {
  const std::size_t leader = Start(3);
  cluster_->Isolate(leader);
  const Read read(*cluster_, leader);
  const std::size_t follower = FollowerOf(leader);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->Leader() != leader; }));
  ASSERT_TRUE(Put(follower, "after").has_value());
  ASSERT_TRUE(cluster_->RunUntil([&] { return read.has_ended(); }, seconds(10)));
  EXPECT_EQ(read.error(), kErrTimeout.ToError());
}

TEST_F(ReplicaTest, FiveMembersWithTwoDeadServeEverything) {
  const std::size_t leader = Start(5);
  cluster_->Kill(leader);
  cluster_->Kill((leader + 1) % 5);
  ASSERT_TRUE(cluster_->WaitForLeader().has_value());
  for (std::size_t i = 0; i < 5; ++i) {
    if (!cluster_->is_up(i)) continue;
    ASSERT_TRUE(Put(i, std::to_string(i)).has_value());
    ASSERT_TRUE(cluster_->ReadIndex(i).has_value());
    EXPECT_EQ(Value(i), std::to_string(i));
  }
}

TEST_F(ReplicaTest, FiveMembersWithThreeDeadRefuseInTimeAndServeWhatNeedsNobodyElse) {
  const std::size_t leader = Start(5);
  for (std::size_t dead = 1; dead <= 3; ++dead) cluster_->Kill((leader + dead) % 5);
  for (const std::size_t member : {leader, (leader + 4) % 5}) {
    const TimePoint begin = cluster_->scheduler().clock().Now();
    const Read read(*cluster_, member);
    const auto put = Put(member, "after");
    ASSERT_FALSE(put.has_value());
    EXPECT_EQ(put.error().code, Code::kUnavailable);
    EXPECT_TRUE(put.error().message.starts_with("etcdserver: request timed out"));
    ASSERT_TRUE(cluster_->RunUntil([&] { return read.has_ended(); }, seconds(1)));
    EXPECT_EQ(read.error(), kErrTimeout.ToError());
    EXPECT_LT(cluster_->scheduler().clock().Now() - begin, milliseconds(7500));
    EXPECT_EQ(Value(member), "before");
    EXPECT_EQ(cluster_->replica(member).leader(), raft::kNone);
  }
}

TEST_F(ReplicaTest, WhatWaitsWithoutALeaderIsBounded) {
  const std::size_t leader = Start(3, [](LocalMemberOptions& options) {
    options.replica.max_waiting_reads = 10;
    options.replica.max_waiting_proposals = 10;
  });
  cluster_->Kill((leader + 1) % 3);
  cluster_->Kill((leader + 2) % 3);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return cluster_->replica(leader).leader() == raft::kNone; }));
  std::vector<Read> reads;
  for (int i = 0; i < 12; ++i) reads.emplace_back(*cluster_, leader);
  EXPECT_FALSE(reads[9].has_ended());
  ASSERT_TRUE(reads[10].has_ended());
  EXPECT_EQ(reads[11].error(), kErrTooManyRequests.ToError());
  std::vector<Error> refused;
  for (int i = 0; i < 12; ++i) {
    cluster_->member(leader).Propose(
        RequestKind::kPut, PutBody("key", "x"),
        [&](const Result<ApplyResult::Value>& outcome) { refused.push_back(outcome.error()); });
  }
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(refused[0], kErrTooManyRequests.ToError());
  // All get their answer, and there is room again.
  ASSERT_TRUE(cluster_->RunUntil([&] { return refused.size() == 12 && reads[9].has_ended(); }));
  const Read again(*cluster_, leader);
  cluster_->RunFor(seconds(1));
  EXPECT_FALSE(again.has_ended());
}

// Writes that wait for the watchers of their member.
class WatchersBehindTest : public ReplicaTest {
 protected:
  // Every member has the bound, and the lag that the test says.
  std::size_t StartBounded(std::size_t size) {
    return Start(size, [this](LocalMemberOptions& options) {
      options.replica.max_watch_lag = 3;
      options.watch_lag = [this, name = options.name] { return lags_[name]; };
    });
  }
  std::int64_t& LagOf(std::size_t member) { return lags_[SmallCluster::NameOf(member)]; }
  // Proposes without waiting; the outcome goes to `outcomes_`.
  void Send(std::size_t member, RequestKind kind, const std::string& body) {
    cluster_->member(member).Propose(kind, body, [this](Result<ApplyResult::Value> outcome) {
      outcomes_.push_back(outcome.has_value() ? Error{} : outcome.error());
    });
  }
  std::size_t Held(std::size_t member) {
    return cluster_->replica(member).waiting_proposals().held_for_watchers();
  }

  std::map<std::string, std::int64_t> lags_;
  std::vector<Error> outcomes_;
};

TEST_F(WatchersBehindTest, WritesOfKeysWaitInOrderAndNothingElseDoes) {
  const std::size_t leader = StartBounded(1);
  LagOf(leader) = 3;
  for (int i = 1; i <= 9; ++i) Send(leader, RequestKind::kPut, PutBody("key", std::to_string(i)));
  cluster_->RunFor(milliseconds(100));
  EXPECT_EQ(Held(leader), 9U);
  EXPECT_EQ(Value(leader), "before");
  Send(leader, RequestKind::kLeaseGrant, EncodeLeaseGrant({.ttl_s = 60, .id = 7}));
  ASSERT_TRUE(cluster_->RunUntil([&] { return outcomes_.size() == 1; }));
  EXPECT_EQ(Held(leader), 9U);
  LagOf(leader) = 1;
  ASSERT_TRUE(cluster_->RunUntil([&] { return outcomes_.size() == 10; }));
  EXPECT_EQ(Value(leader), "9");
  for (const Error& error : outcomes_) EXPECT_EQ(error, Error{});
}

TEST_F(WatchersBehindTest, AWriteThatWaitsInVainTimesOutAndIsGone) {
  const std::size_t leader = StartBounded(1);
  LagOf(leader) = 100;
  Send(leader, RequestKind::kPut, PutBody("key", "late"));
  ASSERT_TRUE(cluster_->RunUntil([&] { return outcomes_.size() == 1; }));
  EXPECT_EQ(outcomes_[0], kErrTimeout.ToError());
  EXPECT_EQ(Held(leader), 0U);
  LagOf(leader) = 0;
  EXPECT_TRUE(Put(leader, "after").has_value());
  EXPECT_EQ(Value(leader), "after");
}

TEST_F(WatchersBehindTest, TheBoundIsOfTheMemberThatTheClientAsks) {
  const std::size_t leader = StartBounded(3);
  const std::size_t follower = FollowerOf(leader);
  LagOf(follower) = 3;
  Send(follower, RequestKind::kPut, PutBody("key", "held"));
  cluster_->RunFor(milliseconds(500));
  EXPECT_EQ(Held(follower), 1U);
  EXPECT_TRUE(Put(leader, "passes").has_value());
  LagOf(follower) = 2;
  ASSERT_TRUE(cluster_->RunUntil([&] { return outcomes_.size() == 1; }));
  EXPECT_EQ(Value(follower), "held");
}

TEST_F(WatchersBehindTest, WhatWasHeldGoesOnUnderTheNextLeader) {
  const std::size_t leader = StartBounded(3);
  const std::size_t follower = FollowerOf(leader);
  LagOf(follower) = 3;
  for (int i = 1; i <= 5; ++i) Send(follower, RequestKind::kPut, PutBody("key", std::to_string(i)));
  cluster_->RunFor(milliseconds(100));
  cluster_->Kill(leader);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return cluster_->replica(follower).leader() == raft::kNone; }));
  LagOf(follower) = 0;
  ASSERT_TRUE(cluster_->RunUntil([&] { return outcomes_.size() == 5; }));
  for (const Error& error : outcomes_) EXPECT_EQ(error, Error{});
  EXPECT_EQ(Value(follower), "5");
}

TEST_F(WatchersBehindTest, AMemberThatStopsTellsThoseThatWait) {
  const std::size_t leader = StartBounded(1);
  LagOf(leader) = 3;
  Send(leader, RequestKind::kPut, PutBody("key", "held"));
  cluster_->RunFor(milliseconds(100));
  EXPECT_TRUE(cluster_->Stop(leader));
  ASSERT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(outcomes_[0], kErrStopped.ToError());
}

TEST_F(WatchersBehindTest, WithoutABoundNobodyAsks) {
  const std::size_t leader = Start(1, [](LocalMemberOptions& options) {
    options.watch_lag = [] {
      ADD_FAILURE() << "asked";
      return INT64_MAX;
    };
  });
  EXPECT_TRUE(Put(leader, "after").has_value());
}

TEST_F(ReplicaTest, AProposalWithoutALeaderWaitsForOne) {
  const std::size_t leader = Start(3);
  cluster_->Kill(leader);
  const std::size_t follower = FollowerOf(leader);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return cluster_->replica(follower).leader() == raft::kNone; }));
  EXPECT_TRUE(Put(follower, "after").has_value());
}

// A member sends it once, but a proxy between them may send it again. A stalled leader's proposals
// about leases must not be taken by any other leader, nor by itself in a later term.
TEST_F(ReplicaTest, AProposalOfOneTermIsTakenByTheLeaderOfThatTermAlone) {
  const std::size_t leader = Start(3);
  const raft::Term term = cluster_->replica(leader).term();
  const auto propose = [&](std::size_t member, raft::Term only_in_term) {
    return cluster_->Propose(member, RequestKind::kPut, PutBody("key", "in its term"), {},
                             only_in_term);
  };
  EXPECT_EQ(propose(FollowerOf(leader), term).error(), kErrNotPrimary);
  EXPECT_EQ(propose(leader, term - 1).error(), kErrNotPrimary);
  EXPECT_EQ(propose(leader, term + 1).error(), kErrNotPrimary);
  EXPECT_EQ(Value(leader), "before");
  EXPECT_TRUE(propose(leader, term).has_value());
  EXPECT_EQ(Value(leader), "in its term");
}

TEST_F(ReplicaTest, AForwardedProposalThatComesAgainUndoesNothing) {
  const std::size_t leader = Start(3);
  std::optional<raft::Message> forwarded;
  cluster_->network().SetFilter([&](raft::Message& message) {
    if (message.type == raft::MessageType::kProp) forwarded = message;
    return false;
  });
  ASSERT_TRUE(Put(FollowerOf(leader), "1").has_value());
  ASSERT_TRUE(forwarded.has_value());
  ASSERT_TRUE(Put(leader, "2").has_value());
  ASSERT_TRUE(cluster_->replica(leader).Receive(*forwarded));
  // One more after it, so that everything that came is applied.
  ASSERT_TRUE(cluster_->Propose(leader, RequestKind::kPut, PutBody("other", "3")).has_value());
  EXPECT_EQ(Value(leader), "2");
  EXPECT_EQ(cluster_->replica(leader).repeated_proposals(), 1U);
}

// Also in front of and among others that are new.
TEST_F(ReplicaTest, WhatIsNewInAForwardedMessageIsTaken) {
  const std::size_t leader = Start(3);
  std::vector<raft::Message> forwarded;
  cluster_->network().SetFilter([&](raft::Message& message) {
    if (message.type != raft::MessageType::kProp) return false;
    forwarded.push_back(message);
    return forwarded.size() > 1;  // the second is lost
  });
  const std::size_t follower = FollowerOf(leader);
  ASSERT_TRUE(Put(follower, "1").has_value());
  cluster_->member(follower).Propose(RequestKind::kPut, PutBody("key", "2"), [](const auto&) {});
  ASSERT_TRUE(cluster_->RunUntil([&] { return forwarded.size() == 2; }));
  raft::Message both = forwarded[0];
  both.entries.push_back(forwarded[1].entries.front());
  ASSERT_TRUE(cluster_->replica(leader).Receive(both));
  ASSERT_TRUE(cluster_->RunUntil([&] { return Value(leader) == "2"; }));
  EXPECT_EQ(cluster_->replica(leader).repeated_proposals(), 1U);
}

// A proposal forwarded to a leader that died is lost with it, and its outcome unknown. The next
// leader tells the reason; the third member only knows that it took too long.
TEST_F(ReplicaTest, AProposalForwardedToADyingLeaderTimesOutForThatReason) {
  const std::size_t leader = Start(3);
  std::map<std::size_t, Error> failed;
  cluster_->Isolate(leader);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i == leader) continue;
    ASSERT_EQ(cluster_->replica(i).leader(), cluster_->id(leader));
    cluster_->member(i).Propose(RequestKind::kPut, PutBody("key", "lost"),
                                [&failed, i](const Result<ApplyResult::Value>& outcome) {
                                  if (!outcome.has_value()) failed[i] = outcome.error();
                                });
  }
  cluster_->RunFor(milliseconds(50));  // it is in flight
  cluster_->Kill(leader);
  const std::size_t next = cluster_->WaitForLeader().value();
  ASSERT_TRUE(cluster_->RunUntil([&] { return failed.size() == 2; }));
  EXPECT_EQ(failed[next], kErrTimeoutDueToLeaderFail.ToError());
  EXPECT_EQ(failed[3 - leader - next], kErrTimeout.ToError());
  EXPECT_EQ(Value(next), "before");
}

TEST_F(ReplicaTest, ALeaderWhoseDiskStallsIsSucceededBeforeAnybodyMissesIt) {
  const std::size_t leader = Start(3);
  Lanes& lanes = cluster_->member(leader).lanes();
  lanes.Hold(lanes.wal(), true);
  const std::size_t follower = FollowerOf(leader);
  const TimePoint begin = cluster_->scheduler().clock().Now();
  ASSERT_TRUE(Put(follower, "after").has_value());
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->Leader() != leader; }, seconds(3)));
  ASSERT_TRUE(Put(follower, "later").has_value());
  // One election time-out to see that the disk is stuck, none to find a successor.
  EXPECT_LT(cluster_->scheduler().clock().Now() - begin, milliseconds(1400));
  const raft::Term term = cluster_->replica(follower).term();
  cluster_->RunFor(seconds(20));
  EXPECT_EQ(cluster_->replica(follower).term(), term) << "it stood for election";
  lanes.Hold(lanes.wal(), false);
  ASSERT_TRUE(cluster_->ReadIndex(leader).has_value());
  EXPECT_EQ(Value(leader), "later");
  EXPECT_EQ(cluster_->replica(follower).term(), term);
}

TEST_F(ReplicaTest, AFollowerWhoseDiskStallsDisturbsNobody) {
  const std::size_t leader = Start(3);
  const std::size_t follower = FollowerOf(leader);
  const raft::Term term = cluster_->replica(leader).term();
  Lanes& lanes = cluster_->member(follower).lanes();
  lanes.Hold(lanes.wal(), true);
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(Put(leader, std::to_string(i)).has_value());
    cluster_->RunFor(milliseconds(500));
  }
  EXPECT_EQ(cluster_->replica(leader).term(), term);
  EXPECT_EQ(cluster_->Leader(), leader);
  lanes.Hold(lanes.wal(), false);
  ASSERT_TRUE(cluster_->ReadIndex(follower).has_value());
  EXPECT_EQ(Value(follower), "29");
}

TEST_F(ReplicaTest, APausedLeaderComesBackAsAFollowerAndReadsNothingStale) {
  const std::size_t leader = Start(3);
  const Read read(*cluster_, leader);
  cluster_->Pause(leader, true);
  const std::size_t follower = FollowerOf(leader);
  ASSERT_TRUE(cluster_->RunUntil(
      [&] { return cluster_->replica(follower).leader() != cluster_->id(leader); }));
  ASSERT_TRUE(Put(follower, "after").has_value());
  cluster_->Pause(leader, false);
  const Read second(*cluster_, leader);
  ASSERT_TRUE(cluster_->RunUntil([&] { return second.is_confirmed(); }));
  EXPECT_EQ(Value(leader), "after");
  EXPECT_TRUE(read.has_ended());
}

TEST_F(ReplicaTest, AFloodOfPeersMessagesIsDroppedPastTheBound) {
  const std::size_t leader =
      Start(3, [](LocalMemberOptions& options) { options.replica.max_waiting_messages = 100; });
  Lanes& lanes = cluster_->member(leader).lanes();
  lanes.Hold(lanes.raft(), true);
  for (int i = 0; i < 1000; ++i) {
    cluster_->member(leader).local_member().Receive({.type = raft::MessageType::kHeartbeatResp,
                                                     .to = cluster_->id(leader),
                                                     .from = cluster_->id(FollowerOf(leader)),
                                                     .term = 1});
  }
  EXPECT_EQ(cluster_->replica(leader).refused_messages(), 900U);
  lanes.Hold(lanes.raft(), false);
  EXPECT_TRUE(Put(leader, "after").has_value());
}

TEST_F(ReplicaTest, AnAppliedEntryThatIsNotCommittedIsABrokenInvariant) {
  const std::size_t leader = Start(1);
  const Replica& replica = cluster_->replica(leader);
  auto& status = const_cast<RaftStatus&>(replica.status());
  status.SetApplied(status.commit_index() + 1);
  EXPECT_DEATH(replica.CheckInvariants(), "an entry is applied that is not committed");
  status.SetApplied(status.commit_index());
}

// Clients are served while a peer sends nonsense.
TEST_F(ReplicaTest, NonsenseOfAPeerKeepsNobodyFromBeingServed) {
  const std::size_t leader = Start(3);
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {
      raft::Message message{
          .type = static_cast<raft::MessageType>(rng.Below(24)),
          .reject = rng.OneIn(2),
          .to = cluster_->id(i),
          .from = rng.OneIn(2) ? cluster_->id((i + 1) % 3) : raft::MemberId{rng()},
          .term = raft::Term{rng.OneIn(2) ? rng.Below(2) : kMax / 2 + rng.Below(9)}};
      message.log_term = raft::Term{rng.Below(3)};
      message.index = raft::Index{kMax - rng.Below(10)};
      message.commit = raft::Index{kMax - rng.Below(10)};
      message.reject_hint = raft::Index{kMax};
      if (rng.OneIn(2))
        message.entries.push_back(
            {.term = raft::Term{kMax}, .index = raft::Index{kMax}, .data = {}});
      cluster_->member(i).local_member().Receive(std::move(message));
    }
    if (round % 10 == 0) {
      ASSERT_TRUE(Put(rng.Below(3), std::to_string(round)).has_value());
    }
  }
  EXPECT_EQ(cluster_->Leader(), leader);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(cluster_->replica(i).refused_messages(), 50U);
    EXPECT_FALSE(cluster_->member(i).fatal().has_value());
    ASSERT_TRUE(cluster_->ReadIndex(i).has_value());
    EXPECT_EQ(Value(i), "190");
  }
}

// An entry that joint configurations need cannot be applied here (docs/decisions/0018), and so gets
// into no member's log, from any sender.
TEST_F(ReplicaTest, AJointConfigurationOfAPeerEndsNobodyAndMakesNoOtherState) {
  const std::size_t leader = Start(3);
  const std::size_t follower = FollowerOf(leader);
  const raft::Log& log = cluster_->replica(follower).node().log();
  const raft::Index last = log.last_index();
  const raft::ConfChangeV2 change{
      .changes = {{raft::ConfChangeType::kRemoveNode, cluster_->id(leader)},
                  {raft::ConfChangeType::kAddNode, 99}}};
  const raft::Entry joint{.term = log.last_term(),
                          .index = last + 1,
                          .type = raft::EntryType::kConfChangeV2,
                          .data = SharedBytes::Own(Encode(change))};
  cluster_->member(follower).local_member().Receive({.type = raft::MessageType::kApp,
                                                     .to = cluster_->id(follower),
                                                     .from = cluster_->id(leader),
                                                     .term = cluster_->replica(follower).term(),
                                                     .log_term = joint.term,
                                                     .index = last,
                                                     .commit = joint.index,
                                                     .entries = {joint}});
  cluster_->member(leader).local_member().Receive({.type = raft::MessageType::kProp,
                                                   .to = cluster_->id(leader),
                                                   .from = cluster_->id(follower),
                                                   .entries = {joint}});
  cluster_->RunFor(seconds(2));
  EXPECT_EQ(cluster_->replica(follower).refused_messages(), 1U);
  EXPECT_EQ(cluster_->replica(leader).refused_messages(), 1U);
  EXPECT_EQ(log.last_index(), last);

  ASSERT_TRUE(Put(follower, "after").has_value());
  ASSERT_TRUE(cluster_->CatchUp());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(cluster_->member(i).fatal().has_value());
    EXPECT_EQ(Value(i), "after");
    EXPECT_EQ(cluster_->replica(i).node().conf_state().voters.size(), 3U);
    EXPECT_FALSE(cluster_->replica(i).node().tracker().IsJoint());
  }
}

}  // namespace
}  // namespace kvorum::server
