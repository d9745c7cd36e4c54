// Changes that wait: under a pause (A10), an output's interval (A13), a push under way (A19).
#include <string>
#include <utility>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

using AgentChange = AgentWorld;

TEST_F(AgentChange, A10_ChangesUnderAPauseAreOneRevision) {
  const auto agent = Started("n1", {"gone"});
  const std::size_t writes = store_.writes.size();
  {
    const PauseGuard guard(agent->syncer->pause());
    for (const std::string id : {"a", "b", "c"}) {
      ASSERT_TRUE(agent->syncer->Register(Web(id)));
      Pass(1s);
    }
    ASSERT_TRUE(agent->syncer->Deregister("gone"));
    Pass(10s);
    EXPECT_EQ(store_.writes.size(), writes);
  }
  Pass(100ms);
  ASSERT_EQ(store_.writes.size(), writes + 1);
  const std::int64_t revision = store_.keys().at(EntryKey("a")).mod_revision;
  int changes = 0;
  for (const auto& change : store_.changes()) changes += change.revision == revision ? 1 : 0;
  EXPECT_EQ(changes, 8);
}

TEST_F(AgentChange, A10_APassUnderWayWritesNothingThatChangedUnderThePause) {
  const auto agent = Started("n1");
  store_.latency = 100ms;
  agent->syncer->SyncNow();
  Pass(150ms);  // it reads
  const std::size_t writes = store_.writes.size();
  {
    const PauseGuard guard(agent->syncer->pause());
    ASSERT_TRUE(agent->syncer->Register(Web("a")));
    Pass(2s);
    ASSERT_TRUE(agent->syncer->Register(Web("b")));
    Pass(40s);
    EXPECT_EQ(store_.writes.size(), writes);
  }
  Pass(2s);
  EXPECT_EQ(store_.writes.size(), writes + 1);
  EXPECT_EQ(store_.keys().at(EntryKey("a")).mod_revision,
            store_.keys().at(EntryKey("b")).mod_revision);
}

TEST_F(AgentChange, A13_OutputAloneWaitsAndAStatusIsWrittenAtOnce) {
  options_.registry.output_interval = 100s;
  const auto agent = Started("n1");
  ASSERT_TRUE(agent->syncer->Register(Checked("a")));
  Pass(1s);
  const std::size_t before = store_.writes.size();
  const TimePoint began = executor_.Now();
  // A hundred outputs, one every second; the same one twice is nothing.
  TimePoint written{};
  for (int i = 0; i < 150; ++i) {
    const std::string output = "load " + std::to_string(i);
    ASSERT_TRUE(agent->syncer->UpdateCheck("a", "up", Health::kPassing, output));
    ASSERT_TRUE(agent->syncer->UpdateCheck("a", "up", Health::kPassing, output));
    Pass(1s);
    if (store_.writes.size() == before + 1 && written == TimePoint{}) written = executor_.Now();
  }
  EXPECT_GE(written - began, 50s);
  EXPECT_LE(written - began, 151s);
  EXPECT_LE(store_.writes.size(), before + 2);
  const std::size_t writes = store_.writes.size();
  ASSERT_TRUE(agent->syncer->UpdateCheck("a", "up", Health::kCritical, "refused"));
  Pass(10ms);
  EXPECT_EQ(store_.writes.size(), writes + 1);
  EXPECT_EQ(RemoteOutput("a"), "refused");
  Pass(200s);
  EXPECT_EQ(store_.writes.size(), writes + 1) << "the output went with the status";
}

TEST_F(AgentChange, A13_AFullSyncDoesNotWriteAnOutputThatWaits) {
  options_.registry.output_interval = 1h;
  const auto agent = Started("n1");
  ASSERT_TRUE(agent->syncer->Register(Checked("a")));
  Pass(1s);
  ASSERT_TRUE(agent->syncer->UpdateCheck("a", "up", Health::kPassing, "newer"));
  const std::size_t writes = store_.writes.size();
  agent->syncer->SyncNow();
  Pass(200s);
  EXPECT_GE(agent->syncer->status().full_syncs, 2U);
  EXPECT_EQ(store_.writes.size(), writes);
  EXPECT_EQ(RemoteOutput("a"), "");
  EXPECT_EQ(agent->syncer->List(Registry::Which::kVisible)[0].entry.checks[0].output, "newer");
  Pass(2h);
  EXPECT_EQ(RemoteOutput("a"), "newer");
}

TEST_F(AgentChange, A19_AChangeDuringThePushStaysDirtyAndIsPushedNext) {
  const auto agent = Started("n1");
  bool is_first = true;
  store_.on_txn = [&](const TxnRequest& request) {
    if (!Writes(request, "/a") || !std::exchange(is_first, false)) return;
    ASSERT_TRUE(agent->syncer->Register(Web("a", "newer")));
  };
  store_.latency = 100ms;
  ASSERT_TRUE(agent->syncer->Register(Web("a", "older")));
  Pass(101ms);
  EXPECT_EQ(Remote("a"), "older");
  EXPECT_EQ(agent->syncer->status().dirty, 1U);
  Pass(200ms);
  EXPECT_EQ(Remote("a"), "newer");
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

TEST_F(AgentChange, A19_ADeletionDuringThePushIsPushedNext) {
  const auto agent = Started("n1");
  store_.latency = 100ms;
  ASSERT_TRUE(agent->syncer->Register(Web("a")));
  Pass(50ms);
  ASSERT_TRUE(agent->syncer->Deregister("a"));
  Pass(300ms);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"), IsEmpty());
  EXPECT_THAT(store_.KeysUnder("/r/services/"), IsEmpty());
  EXPECT_THAT(agent->syncer->List(Registry::Which::kAll), IsEmpty());
}

TEST_F(AgentChange, ATransactionTakesAnOperationAtLeast) {
  options_.max_txn_operations = 0;
  const auto agent = Started("n1", {"a", "b"});
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(Remote("b"), "v");
}

}  // namespace
}  // namespace kvorum::sync
