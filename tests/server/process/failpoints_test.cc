// The points that fault-injection tools set by name, in a member that does everything once: those
// that have a place in one node are reached, the others are known and are reached elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/api_errors.h"
#include "base/failpoint/failpoint_control.h"
#include "proto/rpc.pb.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

const std::set<std::string> kReached = {
    "raftBeforeLeaderSend",
    "raftBeforeFollowerSend",
    "raftBeforeSave",
    "raftAfterSave",
    "raftBeforeAdvance",
    "raftBeforeWALSaveSnaphot",
    "logSnapshotBeforeFile",
    "logSnapshotAfterMarker",
    "logSnapshotAfterRelease",
    "walBeforeSync",
    "walAfterSync",
    "beforeApplyOneConfChange",
    "beforeApplyOneEntryNormal",
    "beforeCommit",
    "afterCommit",
    "beforeStartDBTxn",
    "afterStartDBTxn",
    "beforeWritebackBuf",
    "afterWritebackBuf",
    "commitBeforePreCommitHook",
    "commitAfterPreCommitHook",
    "defragBeforeCopy",
    "defragBeforeRename",
    "defragOpenFileError",
    "defragdbFail",
    "compactBeforeCommitBatch",
    "compactAfterCommitBatch",
    "compactBeforeCommitScheduledCompact",
    "compactAfterCommitScheduledCompact",
    "compactBeforeSetFinishedCompact",
    "compactAfterSetFinishedCompact",
    "compactAfterAcquiredBatchTxLock",
    "beforeRangeStreamChunk",
    "afterIsMemberExist",
};

// One node that does this does not come to them.
const std::set<std::string> kPointsElsewhere = {
    "applyAfterOpenSnapshot",  // snapshots from the leader
    "applyBeforeOpenSnapshot",
    "raftBeforeSaveSnap",
    "raftAfterSaveSnap",
    "raftBeforeApplySnap",
    "raftAfterApplySnap",
    "raftAfterWALRelease",
    "snapDBRenameBeforeDirSync",
    "snapDBDirSyncError",
    "raftDropHeartbeat",             // streams between members
    "beforeCheckpointInLeaseRenew",  // leases
    "beforeServeHTTPLeaseRenew",
    "beforeLookupWhenLeaseTimeToLive",
    "beforeLookupWhenForwardLeaseTimeToLive",
    "beforeSendWatchResponse",  // watches
};

class FailpointsTest : public testing::Test {
 protected:
  ~FailpointsTest() override { failpoint::ClearAll(); }
};

TEST_F(FailpointsTest, EveryNameIsKnownAndThoseOfOneNodeAreReached) {
  for (const auto& names : {kReached, kPointsElsewhere}) {
    for (const std::string& name : names) {
      const auto set = failpoint::Set(name, "sleep(0)");
      ASSERT_TRUE(set.has_value()) << name << ": " << set.error().message;
    }
  }
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(served.Call("/etcdserverpb.KV/Put", PutBody("k", std::to_string(i))).has_value());
  }
  ASSERT_TRUE(
      served.Call("/etcdserverpb.KV/Compact", CompactBody(30, /*physical=*/true)).has_value());
  ASSERT_TRUE(served.Call("/etcdserverpb.Maintenance/Defragment", "").has_value());
  EXPECT_TRUE(served.RunUntilFinished(
      *served.OpenStream("/etcdserverpb.KV/RangeStream", RangeBody({.key = "k"}))));
  served.lanes().RunFor(std::chrono::seconds(2));

  std::set<std::string> reached;
  for (const auto& [name, term] : failpoint::List()) {
    if (failpoint::Count(name).value_or(0) > 0) reached.insert(name);
  }
  EXPECT_EQ(reached, kReached);
}

// So that one of them that sleeps stops a leader's heartbeats, and it loses its lead.
TEST_F(FailpointsTest, EachReadyOfAnIdleClusterPassesThoseOfTheRaftLoop) {
  const std::vector<std::string> names = {"raftBeforeSave", "raftAfterSave", "raftBeforeLeaderSend",
                                          "raftBeforeFollowerSend", "raftBeforeAdvance"};
  SmallCluster cluster(3, 1);
  ASSERT_TRUE(cluster.StartAll().has_value());
  ASSERT_TRUE(cluster.WaitForLeader().has_value());
  ASSERT_TRUE(cluster.CatchUp());
  cluster.RunFor(std::chrono::seconds(1));
  for (const std::string& name : names)
    ASSERT_TRUE(failpoint::Set(name, "sleep(0)").has_value()) << name;
  cluster.RunFor(std::chrono::seconds(1));
  // Ten heartbeats, which two followers answer.
  for (const std::string& name : names) EXPECT_GE(failpoint::Count(name).value_or(0), 9U) << name;
}

// A renewal that is held up delays no others, and checks the lease again afterwards.
TEST_F(FailpointsTest, EachRenewalOfALeaseThatLivesPassesItsPoint) {
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  const auto call = [&](std::string_view name, const google::protobuf::Message& request) {
    const std::string path = "/etcdserverpb.Lease/" + std::string(name);
    return served.Call(path, request.SerializeAsString()).has_value();
  };
  etcdserverpb::LeaseGrantRequest grant;
  grant.set_id(7);
  grant.set_ttl(60);
  ASSERT_TRUE(call("LeaseGrant", grant));
  ASSERT_TRUE(failpoint::Set("beforeCheckpointInLeaseRenew", "sleep(0)").has_value());
  std::optional<Result<std::int64_t>> renewed;
  const auto renew = [&](lease::LeaseId id) {
    renewed.reset();
    served.lease().access().Renew(nullptr, id, [&](Result<std::int64_t> ttl) { renewed = ttl; });
  };
  for (const std::uint64_t passed : {1U, 2U}) {
    renew(7);
    ASSERT_TRUE(served.lanes().RunUntil([&] { return renewed.has_value(); }));
    EXPECT_EQ(*renewed, 60);
    EXPECT_EQ(failpoint::Count("beforeCheckpointInLeaseRenew").value_or(0), passed);
  }
  renew(8);
  ASSERT_TRUE(served.lanes().RunUntil([&] { return renewed.has_value(); }));
  EXPECT_FALSE(renewed->has_value());
  EXPECT_EQ(failpoint::Count("beforeCheckpointInLeaseRenew").value_or(0), 2U) << "there is none";

  served.lanes().Hold(served.lanes().readers(), true);
  renew(7);
  served.lanes().RunFor(std::chrono::seconds(3));
  EXPECT_FALSE(renewed.has_value());
  etcdserverpb::LeaseRevokeRequest revoke;
  revoke.set_id(7);
  ASSERT_TRUE(call("LeaseRevoke", revoke));
  served.lanes().Hold(served.lanes().readers(), false);
  ASSERT_TRUE(served.lanes().RunUntil([&] { return renewed.has_value(); }));
  EXPECT_EQ(ErrorOf(*renewed).message, "etcdserver: requested lease not found");
}

class LeasePointsTest : public FailpointsTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(served_.Start().has_value());
    etcdserverpb::LeaseGrantRequest grant;
    grant.set_id(7);
    grant.set_ttl(60);
    ASSERT_TRUE(
        served_.Call("/etcdserverpb.Lease/LeaseGrant", grant.SerializeAsString()).has_value());
  }
  // A call that passes the point waits on the readers' lane from now on.
  void HoldUpAt(const char* name) {
    ASSERT_TRUE(failpoint::Set(name, "sleep(0)").has_value());
    served_.lanes().Hold(served_.lanes().readers(), true);
  }
  void LetGo() { served_.lanes().Hold(served_.lanes().readers(), false); }
  void Revoke() {
    etcdserverpb::LeaseRevokeRequest revoke;
    revoke.set_id(7);
    ASSERT_TRUE(
        served_.Call("/etcdserverpb.Lease/LeaseRevoke", revoke.SerializeAsString()).has_value());
  }
  template <class Value>
  using Outcome = std::shared_ptr<std::optional<Result<Value>>>;
  Outcome<std::int64_t> RenewForMember() {
    auto told = std::make_shared<std::optional<Result<std::int64_t>>>();
    access().RenewForMember(7, [told](Result<std::int64_t> ttl) { *told = ttl; });
    return told;
  }
  Outcome<LeaseTimes> Ask(bool for_member) {
    auto told = std::make_shared<std::optional<Result<LeaseTimes>>>();
    const auto callback = [told](Result<LeaseTimes> times) { *told = std::move(times); };
    if (for_member) {
      access().TimeToLiveForMember({.id = 7}, callback);
    } else {
      access().TimeToLive(nullptr, {.id = 7}, callback);
    }
    return told;
  }
  template <class Value>
  Error Await(const Outcome<Value>& told) {
    if (!served_.lanes().RunUntil([&] { return told->has_value(); }))
      return {Code::kDeadlineExceeded, "never answered"};
    return ErrorOf(**told);
  }
  LeaseAccess& access() { return served_.lease().access(); }

  ServedMember served_;
};

TEST_F(LeasePointsTest, AMembersRenewalIsHeldUpBeforeItIsMadeAndAClientsIsNot) {
  ASSERT_NO_FATAL_FAILURE(HoldUpAt("beforeServeHTTPLeaseRenew"));
  const auto held_up = RenewForMember();
  std::optional<Result<std::int64_t>> renewed;
  access().Renew(nullptr, 7, [&](Result<std::int64_t> ttl) { renewed = ttl; });
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return renewed.has_value(); }));
  EXPECT_EQ(*renewed, 60);
  served_.lanes().RunFor(std::chrono::seconds(3));
  EXPECT_FALSE(held_up->has_value());
  ASSERT_NO_FATAL_FAILURE(Revoke());
  LetGo();
  EXPECT_EQ(Await(held_up), kErrLeaseNotFound.ToError()) << "it was not made before";
  EXPECT_EQ(failpoint::Count("beforeServeHTTPLeaseRenew").value_or(0), 1U);
}

// Two points, of which a client's question passes one, and a member's the other.
TEST_F(LeasePointsTest, ALookUpIsHeldUpAfterItsLeaderIsConfirmed) {
  const char* const names[] = {"beforeLookupWhenLeaseTimeToLive",
                               "beforeLookupWhenForwardLeaseTimeToLive"};
  for (const bool for_member : {false, true}) {
    SCOPED_TRACE(for_member ? "for a member" : "for a client");
    ASSERT_NO_FATAL_FAILURE(HoldUpAt(names[for_member ? 1 : 0]));
    const auto held_up = Ask(for_member);
    const auto other = Ask(!for_member);
    EXPECT_EQ(Await(other).code, Code::kOk);
    served_.lanes().RunFor(std::chrono::seconds(3));
    EXPECT_FALSE(held_up->has_value());
    LetGo();
    EXPECT_EQ(Await(held_up).code, Code::kOk);
    EXPECT_EQ(failpoint::Count(names[for_member ? 1 : 0]).value_or(0), 1U);
    EXPECT_EQ(failpoint::Count(names[for_member ? 0 : 1]).value_or(0), 0U);
    failpoint::ClearAll();
  }
  for (const char* name : names) ASSERT_NO_FATAL_FAILURE(HoldUpAt(name));
  const auto for_client = Ask(false);
  const auto for_member = Ask(true);
  ASSERT_NO_FATAL_FAILURE(Revoke());
  LetGo();
  EXPECT_EQ(Await(for_client), kErrLeaseNotFound.ToError()) << "it was not looked up before";
  EXPECT_EQ(Await(for_member), kErrLeaseNotFound.ToError()) << "it was not looked up before";
}

// It is held up on a separate thread, not on the loop of other calls.
TEST_F(FailpointsTest, AWatchResponseThatIsHeldUpHoldsUpNothingElse) {
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  etcdserverpb::WatchRequest create;
  create.mutable_create_request()->set_key("k");
  const auto stream = std::make_shared<FakeStream>(
      served.lanes().io(), std::deque<std::string>{create.SerializeAsString()});
  stream->StayOpen();
  served.router().Find("/etcdserverpb.Watch/Watch")->stream(stream);
  ASSERT_TRUE(served.lanes().RunUntil([&] { return stream->messages().size() == 1; }));
  ASSERT_TRUE(failpoint::Set("beforeSendWatchResponse", "sleep(0)").has_value());
  served.lanes().Hold(served.lanes().readers(), true);
  for (const char* value : {"1", "2"})
    ASSERT_TRUE(served.Call("/etcdserverpb.KV/Put", PutBody("k", value)).has_value());
  served.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(stream->messages().size(), 1U);
  served.lanes().Hold(served.lanes().readers(), false);
  ASSERT_TRUE(served.lanes().RunUntil([&] { return stream->messages().size() == 3; }));
  stream->context().Cancel({Code::kCanceled, "context canceled"});
}

TEST_F(FailpointsTest, AFailedSyncOfTheLogEndsTheMember) {
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  ASSERT_TRUE(failpoint::Set("walSyncError", "return(\"injected\")").has_value());
  const auto answer = served.Send("/etcdserverpb.KV/Put", PutBody("k", "v"));
  ASSERT_TRUE(served.lanes().RunUntil([&] { return served.member().fatal().has_value(); }));
  EXPECT_EQ(served.member().fatal()->message, "injected");
  EXPECT_EQ(answer->times, 0) << "nothing is acknowledged on a log that may be gone";
}

TEST_F(FailpointsTest, AFailedDefragmentationIsAnAnswerAndLosesNothing) {
  ServedMember served;
  ASSERT_TRUE(served.Start().has_value());
  ASSERT_TRUE(served.Call("/etcdserverpb.KV/Put", PutBody("k", "v")).has_value());
  for (const char* name : {"defragdbFail", "defragOpenFileError"}) {
    ASSERT_TRUE(failpoint::Set(name, "return(\"injected\")").has_value());
    const auto answer = served.Call("/etcdserverpb.Maintenance/Defragment", "");
    ASSERT_TRUE(failpoint::Clear(name).has_value());
    ASSERT_FALSE(answer.has_value()) << name;
    EXPECT_EQ(answer.error().message, "injected") << name;
    EXPECT_FALSE(served.member().fatal().has_value()) << name;
    EXPECT_TRUE(served.Call("/etcdserverpb.KV/Put", PutBody("k", "v")).has_value());
  }
}

}  // namespace
}  // namespace kvorum::server
