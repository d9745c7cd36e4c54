// The points that fault-injection tools set by name, in a member that does everything once: those
// that have a place in one node are reached, the others are known and wait for theirs.
#ifdef KVORUM_FAILPOINTS

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/failpoint.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

const std::set<std::string> kReached = {
    "raftBeforeLeaderSend",
    "raftBeforeSave",
    "raftAfterSave",
    "raftBeforeAdvance",
    "raftBeforeSaveSnap",
    "raftAfterSaveSnap",
    "raftAfterWALRelease",
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
};

// Come with what they are about; a test that reaches one moves it to the list above.
const std::set<std::string> kLater = {
    "afterIsMemberExist",      // membership changes
    "applyAfterOpenSnapshot",  // snapshots from the leader
    "applyBeforeOpenSnapshot",
    "raftBeforeApplySnap",
    "raftAfterApplySnap",
    "raftBeforeFollowerSend",  // several members
    "raftDropHeartbeat",
    "beforeCheckpointInLeaseRenew",  // a lease with a checkpoint
    "beforeSendWatchResponse",       // watches
    "beforePublishing",              // the process, not the instance
};

class FailpointsTest : public testing::Test {
 protected:
  ~FailpointsTest() override { failpoint::ClearAll(); }
};

TEST_F(FailpointsTest, EveryNameIsKnownAndThoseOfOneNodeAreReached) {
  for (const auto& names : {kReached, kLater}) {
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
    if (answer.has_value() || served.member().fatal().has_value()) {
      // Past the copy the old file is closed already: there is no way back but a restart.
      EXPECT_EQ(std::string(name), "defragOpenFileError");
      continue;
    }
    EXPECT_EQ(answer.error().message, "injected") << name;
    EXPECT_TRUE(served.Call("/etcdserverpb.KV/Put", PutBody("k", "v")).has_value());
  }
}

}  // namespace
}  // namespace kvorum::server

#endif
