// An agent's writes, full and partial: the behaviours A5 to A9 of docs/sync_behaviours.md.
#include <string>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

using AgentSync = AgentWorld;

TEST_F(AgentSync, A5_APartialSyncPushesOnlyDirtyEntries) {
  const auto agent = Started("n1", {"a", "b", "c"});
  const std::size_t writes = store_.writes.size();
  const int ranges = store_.ranges;
  ASSERT_TRUE(agent->syncer->Register(Web("b", "new")));
  EXPECT_EQ(agent->syncer->status().dirty, 1U);
  Pass(100ms);
  ASSERT_EQ(store_.writes.size(), writes + 1);
  EXPECT_THAT(store_.writes.back().then, SizeIs(2));
  EXPECT_TRUE(Writes(store_.writes.back(), "/b"));
  EXPECT_EQ(store_.ranges, ranges);
  EXPECT_EQ(Remote("b"), "new");
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

TEST_F(AgentSync, A6_AFullSyncRemovesWhatOthersAddedAndRestoresWhatTheyDeleted) {
  const auto agent = Started("n1", {"a", "b"});
  const auto stray = EncodeRecord({.id = "x", .name = "db", .value = "", .checks = {}});
  store_.Put(EntryKey("x"), stray);
  store_.Put(ServiceKey("x", "db"), stray);
  store_.Put(EntryKey("rubbish/with/slashes"), std::string("\xff\0{", 3));
  store_.Put(EntryKey("d.ot"), EncodeRecord({.id = "d.ot", .name = "db", .value = ""}));
  store_.Put("/r/services/db/n1.d.ot", "the entry ot of node n1.d");
  store_.Put("/r/catalog/n10/x", "another node's");
  store_.Delete(EntryKey("a"));
  store_.Delete(ServiceKey("b"));
  agent->syncer->SyncNow();
  Pass(100ms);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"),
              UnorderedElementsAre(EntryKey("a"), EntryKey("b"), "/r/catalog/n10/x"));
  EXPECT_THAT(store_.KeysUnder("/r/services/"),
              UnorderedElementsAre(ServiceKey("a"), ServiceKey("b"), "/r/services/db/n1.d.ot"));
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(Remote("b"), "v");
}

TEST_F(AgentSync, A6_AListIsReadInPages) {
  const auto agent = Started("n1");
  for (int i = 0; i < 1000; ++i) store_.Put(EntryKey("s" + std::to_string(i)), "x");
  agent->syncer->SyncNow();
  Pass(1s);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"), IsEmpty());
  EXPECT_GE(store_.ranges, 2 * 3 + 1000 / 64);
  for (const TxnRequest& write : store_.writes) EXPECT_LE(write.then.size(), 128U);
}

TEST_F(AgentSync, A7_AChangedRemoteValueIsOverwritten) {
  const auto agent = Started("n1", {"a", "b", "c"});
  const std::string right = store_.ValueOf(EntryKey("a"));
  store_.Put(EntryKey("a"), "wrong", agent->syncer->status().lease);
  store_.Put(ServiceKey("b"), "wrong", agent->syncer->status().lease);
  store_.Put(EntryKey("c"), store_.ValueOf(EntryKey("c")));  // equal, but off the lease
  agent->syncer->SyncNow();
  Pass(100ms);
  for (const std::string id : {"a", "b", "c"}) {
    EXPECT_EQ(Remote(id), "v");
    EXPECT_EQ(store_.keys().at(EntryKey(id)).lease, agent->syncer->status().lease);
  }
  EXPECT_EQ(store_.ValueOf(EntryKey("a")), right);
}

TEST_F(AgentSync, A7_ANewNameLeavesNothingUnderTheOldOne) {
  const auto agent = Started("n1", {"a"});
  Entry renamed = Web("a");
  renamed.name = "db";
  ASSERT_TRUE(agent->syncer->Register(renamed));
  Pass(100ms);
  EXPECT_THAT(store_.KeysUnder("/r/services/"), ElementsAre(ServiceKey("a", "db")));
}

TEST_F(AgentSync, A8_ADeregisteredEntryIsHiddenUntilTheStoreHasLostIt) {
  const auto agent = Started("n1", {"a"});
  store_.down = kDown;
  ASSERT_TRUE(agent->syncer->Deregister("a"));
  Pass(1s);
  EXPECT_THAT(agent->syncer->List(Registry::Which::kVisible), IsEmpty());
  const auto all = agent->syncer->List(Registry::Which::kAll);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_TRUE(all[0].deleted);
  EXPECT_FALSE(store_.ValueOf(EntryKey("a")).empty());
  store_.down.reset();
  Pass(31s);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"), IsEmpty());
  EXPECT_THAT(store_.KeysUnder("/r/services/"), IsEmpty());
  EXPECT_THAT(agent->syncer->List(Registry::Which::kAll), IsEmpty());
}

TEST_F(AgentSync, A8_RegisteringAgainCancelsTheDeletion) {
  const auto agent = Started("n1", {"a"});
  store_.down = kDown;
  ASSERT_TRUE(agent->syncer->Deregister("a"));
  Pass(1s);
  ASSERT_TRUE(agent->syncer->Register(Web("a", "again")));
  const auto list = agent->syncer->List(Registry::Which::kVisible);
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_FALSE(list[0].in_sync) << "a re-added entry is dirty";
  store_.down.reset();
  Pass(31s);
  EXPECT_EQ(Remote("a"), "again");
  for (const auto& change : store_.changes()) EXPECT_FALSE(change.is_delete) << change.key;
}

TEST_F(AgentSync, A9_RemovingAnUnknownOrDeletedIdIsAnError) {
  const auto agent = Started("n1", {"a"});
  store_.down = kDown;
  EXPECT_EQ(agent->syncer->Deregister("b").error(),
            (Error{Code::kNotFound, "there is no entry b"}));
  ASSERT_TRUE(agent->syncer->Deregister("a"));
  EXPECT_EQ(agent->syncer->Deregister("a").error().code, Code::kNotFound);
  EXPECT_EQ(agent->syncer->UpdateCheck("a", "up", Health::kPassing, "").error().code,
            Code::kNotFound);
}

TEST_F(AgentSync, ManyAndLargeEntriesAreSplitOverTransactions) {
  options_.max_txn_operations = 20;
  auto agent = NewAgent("n1");
  {
    const PauseGuard guard(agent->syncer->pause());
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(agent->syncer->Register(Web("s" + std::to_string(i))));
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(
          agent->syncer->Register(Web("large" + std::to_string(i), std::string(200'000, 'x'))));
    }
  }
  ASSERT_TRUE(agent->syncer->Start());
  Pass(1s);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"), SizeIs(105));
  for (const TxnRequest& write : store_.writes) {
    std::size_t size_bytes = 0;
    for (const Operation& op : write.then) size_bytes += op.value.size();
    EXPECT_LE(write.then.size(), 20U);
    EXPECT_LE(size_bytes, std::size_t{1} << 20U);
  }
}

}  // namespace
}  // namespace kvorum::sync
