// An agent that keeps records: the behaviours H1 to H6 of docs/sync_behaviours.md.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kNodeKey = "/r/registry/node/n1";
constexpr const char* kLifeKey = "/r/registry/life/n1";

class AgentRecords : public AgentWorld {
 protected:
  AgentRecords() {
    options_.keeps_records = true;
    options_.node_details = R"({"address":"10.0.0.1"})";
  }
  static std::string KeptKey(const std::string& id) { return "/r/registry/service/n1/" + id; }
  static Entry Detailed(const std::string& id) {
    Entry entry = Checked(id);
    entry.details = R"({ "tags": ["a","b"] })";
    entry.checks[0].definition.interval = 1h;
    entry.checks[0].definition.details = R"({"name":"is it up"})";
    return entry;
  }
  static Entry DiskCheck(Health health = Health::kPassing) {
    return NodeCheck({.definition = {.id = "disk.free", .interval = 1h}, .health = health});
  }
  std::int64_t RevisionOf(const std::string& key) {
    const auto found = store_.keys().find(key);
    return found == store_.keys().end() ? 0 : found->second.mod_revision;
  }
  std::int64_t LeaseOf(const std::string& key) { return store_.keys().at(key).lease; }
  void SyncNow(Agent& agent) {
    agent.syncer->SyncNow();
    Pass(1s);
  }
};

TEST_F(AgentRecords, H1_RecordsAreWrittenWithTheKeysOnTheLease) {
  const auto agent = Started("n1");
  ASSERT_TRUE(agent->syncer->Register(Detailed("a")));
  Pass(1s);
  const std::int64_t lease = agent->syncer->status().lease;
  EXPECT_EQ(store_.ValueOf(KeptKey("a")),
            R"({"id":"a","name":"web","value":"v","details":{"tags":["a","b"]},"checks":)"
            R"([{"id":"up","status":"passing","output":"","details":{"name":"is it up"}}]})");
  EXPECT_EQ(store_.ValueOf(EntryKey("a")), R"({"id":"a","name":"web","value":"v","checks":)"
                                           R"([{"id":"up","status":"passing","output":""}]})");
  EXPECT_EQ(store_.ValueOf(kNodeKey),
            R"({"is_external":false,"details":{"address":"10.0.0.1"},"checks":[]})");
  EXPECT_EQ(LeaseOf(KeptKey("a")), 0);
  EXPECT_EQ(LeaseOf(kNodeKey), 0);
  EXPECT_EQ(LeaseOf(kLifeKey), lease);
  EXPECT_EQ(RevisionOf(kLifeKey), RevisionOf("/r/nodes/n1"));
  EXPECT_EQ(RevisionOf(KeptKey("a")), RevisionOf(EntryKey("a")));
  ASSERT_TRUE(agent->syncer->UpdateCheck("a", "up", Health::kCritical, "down"));
  Pass(1s);
  EXPECT_THAT(store_.ValueOf(KeptKey("a")), HasSubstr(R"("status":"critical","output":"down")"));
  EXPECT_EQ(RevisionOf(KeptKey("a")), RevisionOf(EntryKey("a")));
  ASSERT_TRUE(agent->syncer->Deregister("a"));
  Pass(1s);
  EXPECT_THAT(store_.KeysUnder("/r/"), ElementsAre("/r/nodes/n1", kLifeKey, kNodeKey));
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

TEST_F(AgentRecords, H1_APlainEntryHasARecordWithoutDetails) {
  const auto agent = Started("n1", {"a"});
  EXPECT_EQ(store_.ValueOf(KeptKey("a")),
            R"({"id":"a","name":"web","value":"v","details":{},"checks":[]})");
}

TEST_F(AgentRecords, H2_RecordsOutliveTheAgentAndItsLifeDoesNot) {
  const auto agent = Started("n1", {"a", "b"});
  const std::vector<std::string> kept = {kNodeKey, KeptKey("a"), KeptKey("b")};
  agent->syncer->Stop();
  Pass(1h);
  EXPECT_EQ(store_.KeysUnder("/r/"), kept);
}

TEST_F(AgentRecords, H2_LeaveRemovesTheRecords) {
  options_.max_txn_operations = 4;
  const auto agent = Started("n1", {"a", "b", "c", "d", "e"});
  store_.Put(KeptKey("a stranger's"), "{}");
  store_.Put("/r/registry/service/n10/x", "another node's");
  agent->syncer->Leave([](const Result<void>& left) { EXPECT_TRUE(left); });
  Pass(1s);
  EXPECT_THAT(store_.KeysUnder("/r/"), ElementsAre("/r/registry/service/n10/x"));
}

TEST_F(AgentRecords, H2_ARefusedAgentTouchesNoRecord) {
  const auto first = Started("n1", {"a"});
  const std::string node = store_.ValueOf(kNodeKey);
  const std::int64_t life = RevisionOf(kLifeKey);
  options_.node_details = R"({"address":"10.0.0.2"})";
  auto second = NewAgent("n1");
  ASSERT_TRUE(second->syncer->Register(Web("b")));
  ASSERT_TRUE(second->syncer->Start());
  Pass(40s);
  EXPECT_TRUE(second->syncer->status().is_held_by_another);
  EXPECT_EQ(store_.ValueOf(kNodeKey), node);
  EXPECT_EQ(RevisionOf(kLifeKey), life);
  EXPECT_THAT(store_.KeysUnder(KeptKey("")), ElementsAre(KeptKey("a")));
  second->syncer->Leave([](const Result<void>& left) { EXPECT_TRUE(left); });
  Pass(1s);
  EXPECT_THAT(store_.KeysUnder(KeptKey("")), ElementsAre(KeptKey("a")));
  EXPECT_EQ(RevisionOf(kLifeKey), life);
}

TEST_F(AgentRecords, H3_WhatIsEqualIsNotWrittenAgain) {
  const auto agent = Started("n1");
  ASSERT_TRUE(agent->syncer->Register(Detailed("a")));
  ASSERT_TRUE(agent->syncer->Register(DiskCheck()));
  Pass(1s);
  const std::int64_t node = RevisionOf(kNodeKey);
  const std::int64_t kept = RevisionOf(KeptKey("a"));
  const std::size_t changes = store_.changes().size();
  SyncNow(*agent);
  EXPECT_EQ(store_.changes().size(), changes) << "a full sync finds it equal";
  ASSERT_TRUE(agent->syncer->Register(Detailed("a")));
  ASSERT_TRUE(agent->syncer->Register(DiskCheck()));
  Pass(1s);
  EXPECT_EQ(RevisionOf(KeptKey("a")), kept) << "an equal registration";
  EXPECT_EQ(RevisionOf(kNodeKey), node);
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
  // A life later, and with all keys on the lease to be made anew.
  agent->syncer->Stop();
  Pass(1min);
  auto next = NewAgent("n1", DecodeState(agent->saved).value());
  ASSERT_TRUE(next->syncer->Start());
  Pass(1s);
  EXPECT_THAT(store_.KeysUnder("/r/catalog/"), ElementsAre(EntryKey("a")));
  EXPECT_EQ(LeaseOf(kLifeKey), next->syncer->status().lease);
  EXPECT_EQ(RevisionOf(KeptKey("a")), kept);
  EXPECT_EQ(RevisionOf(kNodeKey), node);
  store_.ExpireLease(next->syncer->status().lease);
  Pass(11s);
  EXPECT_EQ(LeaseOf(kLifeKey), next->syncer->status().lease);
  EXPECT_EQ(RevisionOf(KeptKey("a")), kept);
  EXPECT_EQ(RevisionOf(kNodeKey), node);
}

TEST_F(AgentRecords, H3_ARestartWithinTheLeaseChangesNothing) {
  const auto agent = Started("n1");
  ASSERT_TRUE(agent->syncer->Register(DiskCheck()));
  ASSERT_TRUE(agent->syncer->Register(Web("a")));
  Pass(1s);
  agent->syncer->Stop();
  const std::size_t changes = store_.changes().size();
  auto next = NewAgent("n1", DecodeState(agent->saved).value());
  ASSERT_TRUE(next->syncer->Start());
  Pass(100s);
  EXPECT_EQ(store_.changes().size(), changes);
}

TEST_F(AgentRecords, H4_AFullSyncSetsTheRecordsRight) {
  const auto agent = Started("n1");
  for (const std::string id : {"a", "b", "c", "d"})
    ASSERT_TRUE(agent->syncer->Register(Detailed(id)));
  Pass(1s);
  const std::map<std::string, KeyValue> right = store_.keys();
  store_.Put(KeptKey("x"), R"({"id":"x","name":"db"})");  // as catalog/register writes it
  store_.Put(KeptKey("y/rub.bish"), "\xff");
  store_.Put("/r/registry/service/n10/x", "another node's");
  store_.Put("/r/registry/session/s", "not of a node");
  store_.Put(KeptKey("a"), "{}");
  store_.Delete(KeptKey("b"));
  store_.Put(KeptKey("c"), store_.ValueOf(KeptKey("c")), agent->syncer->status().lease);
  store_.Put(kNodeKey, R"({"is_external":true,"details":{},"checks":[]})");
  store_.Delete(kLifeKey);
  const std::int64_t session = agent->syncer->status().session_revision;
  const std::int64_t untouched = RevisionOf(KeptKey("d"));
  SyncNow(*agent);
  store_.Delete("/r/registry/service/n10/x");
  store_.Delete("/r/registry/session/s");
  ASSERT_EQ(store_.keys().size(), right.size());
  for (const auto& [key, kv] : right) {
    EXPECT_EQ(store_.ValueOf(key), kv.value) << key;
    EXPECT_EQ(LeaseOf(key), kv.lease) << key;
  }
  EXPECT_EQ(RevisionOf(KeptKey("d")), untouched);
  EXPECT_EQ(agent->syncer->status().session_revision, session);
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

TEST_F(AgentRecords, H4_ALifeOnAnotherLeaseIsPutOnOurs) {
  const auto agent = Started("n1");
  store_.Put(kLifeKey, "");
  SyncNow(*agent);
  EXPECT_EQ(LeaseOf(kLifeKey), agent->syncer->status().lease);
}

TEST_F(AgentRecords, H4_StraysAreReadInPages) {
  const auto agent = Started("n1", {"a"});
  for (int i = 0; i < 300; ++i) store_.Put(KeptKey("s" + std::to_string(i)), "x");
  SyncNow(*agent);
  EXPECT_THAT(store_.KeysUnder("/r/registry/service/"), ElementsAre(KeptKey("a")));
  for (const TxnRequest& write : store_.writes) EXPECT_LE(write.then.size(), 128U);
}

TEST_F(AgentRecords, H5_ChecksOfTheNodeStandInItsRecordAlone) {
  const auto agent = Started("n1", {"a"});
  Entry disk = DiskCheck();
  disk.checks[0].definition.details = R"({"notes":"df"})";
  ASSERT_TRUE(agent->syncer->Register(disk));
  ASSERT_TRUE(agent->syncer->Register(NodeCheck({.definition = {.id = "z"}})));
  EXPECT_EQ(agent->syncer->status().dirty, 2U);
  const std::size_t changes = store_.changes().size();
  Pass(1s);
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
  EXPECT_EQ(store_.changes().size(), changes + 1) << "the node's record";
  EXPECT_EQ(store_.ValueOf(kNodeKey),
            R"({"is_external":false,"details":{"address":"10.0.0.1"},"checks":)"
            R"([{"id":"disk.free","status":"passing","output":"","details":{"notes":"df"}},)"
            R"({"id":"z","status":"critical","output":"","details":{}}]})");
  ASSERT_TRUE(agent->syncer->UpdateCheck(".disk.free", "disk.free", Health::kWarning, "90 %"));
  Pass(1s);
  EXPECT_THAT(store_.ValueOf(kNodeKey), HasSubstr(R"("status":"warning","output":"90 %")"));
  ASSERT_TRUE(agent->syncer->Deregister(".disk.free"));
  Pass(1s);
  EXPECT_THAT(store_.ValueOf(kNodeKey), Not(HasSubstr("disk.free")));
  EXPECT_THAT(agent->syncer->List(Registry::Which::kAll), SizeIs(2));
  // Its output alone waits.
  const std::int64_t revision = RevisionOf(kNodeKey);
  ASSERT_TRUE(agent->syncer->UpdateCheck(".z", "z", Health::kCritical, "later"));
  SyncNow(*agent);
  EXPECT_EQ(RevisionOf(kNodeKey), revision);
  Pass(10min);
  EXPECT_THAT(store_.ValueOf(kNodeKey), HasSubstr("later"));
}

TEST_F(AgentRecords, H5_AChangeOfANodesCheckDuringThePushIsPushedNext) {
  const auto agent = Started("n1");
  store_.latency = 100ms;
  ASSERT_TRUE(agent->syncer->Register(DiskCheck()));
  Pass(50ms);
  ASSERT_TRUE(agent->syncer->Deregister(".disk.free"));
  ASSERT_TRUE(agent->syncer->Register(NodeCheck({.definition = {.id = "z"}})));
  Pass(1s);
  EXPECT_THAT(store_.ValueOf(kNodeKey), Not(HasSubstr("disk")));
  EXPECT_THAT(store_.ValueOf(kNodeKey), HasSubstr(R"("id":"z")"));
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

TEST_F(AgentRecords, H5_ARecordOfTheNodeThatMayNotBeWrittenBlocksItsChecksAlone) {
  const auto agent = Started("n1");
  store_.refuse = [](const TxnRequest& request) -> std::optional<Error> {
    if (Writes(request, "/registry/node/")) return Error{Code::kPermissionDenied, "denied"};
    return {};
  };
  {
    const PauseGuard guard(agent->syncer->pause());
    ASSERT_TRUE(agent->syncer->Register(DiskCheck()));
    ASSERT_TRUE(agent->syncer->Register(Web("a")));
  }
  Pass(1s);
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(agent->syncer->status().blocked, 1U);
  const std::size_t writes = store_.writes.size();
  ASSERT_TRUE(agent->syncer->UpdateCheck(".disk.free", "disk.free", Health::kCritical, ""));
  Pass(5s);
  EXPECT_EQ(store_.writes.size(), writes);
  store_.refuse = nullptr;
  SyncNow(*agent);
  EXPECT_EQ(agent->syncer->status().blocked, 0U);
  EXPECT_THAT(store_.ValueOf(kNodeKey), HasSubstr("disk.free"));
}

TEST_F(AgentRecords, H5_ABlockedRecordOfANodeWithoutChecksIsCounted) {
  store_.refuse = [](const TxnRequest& request) -> std::optional<Error> {
    if (Writes(request, "/registry/node/")) return Error{Code::kPermissionDenied, "denied"};
    return {};
  };
  const auto agent = Started("n1", {"a"});
  EXPECT_EQ(agent->syncer->status().blocked, 1U);
  EXPECT_EQ(agent->syncer->status().dirty, 1U);
  EXPECT_EQ(Remote("a"), "v");
}

TEST_F(AgentRecords, AnAgentWhoseDetailsAreNoneDoesNotBegin) {
  options_.node_details = "[]";
  EXPECT_EQ(NewAgent("n1")->syncer->Start().error().message,
            "the node has details that are not a JSON object");
}

// The operations that an agent asks of the store, in order, without compares.
class AgentWithoutRecords : public AgentWorld {
 protected:
  using Asked = std::vector<std::string>;

  static std::string Text(const Operation& op) {
    switch (op.kind) {
      case Operation::Kind::kPut:
        return "put " + op.key + " " + op.value + " on " + (op.lease == 0 ? "none" : "ours");
      case Operation::Kind::kDelete:
        return "delete " + op.key + " to " + op.end;
      case Operation::Kind::kRange:
        return "range " + op.key;
    }
    return "";
  }
  // A life with everything in it.
  Asked Live() {
    Asked asked;
    store_.on_txn = [&](const TxnRequest& request) {
      for (const Operation& op : request.then) asked.push_back(Text(op));
    };
    const auto agent = Started("n1", {"a"});
    const auto& syncer = agent->syncer;
    Entry detailed = Checked("b");
    detailed.details = R"({"tags":[]})";
    detailed.checks[0].definition.details = "{}";
    EXPECT_TRUE(syncer->Register(detailed));
    EXPECT_TRUE(syncer->Register(NodeCheck({.definition = {.id = "disk"}})));
    Pass(1s);
    EXPECT_TRUE(syncer->UpdateCheck("b", "up", Health::kCritical, "x"));
    EXPECT_TRUE(syncer->UpdateCheck(".disk", "disk", Health::kPassing, "x"));
    Pass(1s);
    store_.Put(EntryKey("stray"), "x");
    store_.Put("/r/registry/service/n1/stray", "of others");
    syncer->SyncNow();
    Pass(1s);
    EXPECT_TRUE(syncer->Deregister("a"));
    EXPECT_TRUE(syncer->Deregister(".disk"));
    Pass(1s);
    EXPECT_EQ(syncer->status().dirty, 0U);
    store_.ExpireLease(syncer->status().lease);
    Pass(11s);
    syncer->Leave([](const Result<void>& left) { EXPECT_TRUE(left); });
    Pass(1s);
    store_.on_txn = nullptr;
    return asked;
  }
};

TEST_F(AgentWithoutRecords, H6_NothingOfThemIsReadOrWritten) {
  const std::string b = R"({"id":"b","name":"web","value":"v","checks":[{"id":"up","status":)";
  const std::string passing = b + R"("passing","output":""}]})";
  const std::string critical = b + R"("critical","output":"x"}]})";
  const std::string a = R"({"id":"a","name":"web","value":"v","checks":[]})";
  const auto put = [](const std::string& key, const std::string& value) {
    return "put " + key + " " + value + " on ours";
  };
  const int ranges = store_.ranges;
  EXPECT_THAT(
      Live(),
      ElementsAre(put("/r/nodes/n1", ""), "range " + ServiceKey("a"), put(EntryKey("a"), a),
                  put(ServiceKey("a"), a), put(EntryKey("b"), passing),
                  put(ServiceKey("b"), passing), put(EntryKey("b"), critical),
                  put(ServiceKey("b"), critical), "range " + ServiceKey("a"),
                  "range " + ServiceKey("b"), "delete " + EntryKey("stray") + " to ",
                  "delete " + ServiceKey("a") + " to ", "delete " + EntryKey("a") + " to ",
                  put("/r/nodes/n1", ""), "range " + ServiceKey("b"), put(EntryKey("b"), critical),
                  put(ServiceKey("b"), critical), "delete " + ServiceKey("b") + " to ",
                  "delete /r/catalog/n1/ to /r/catalog/n10", "delete /r/nodes/n1 to "));
  EXPECT_EQ(store_.ranges - ranges, 3 * 3) << "the node's key, the count, the entries";
  EXPECT_THAT(store_.KeysUnder("/r/"), ElementsAre("/r/registry/service/n1/stray"));
}

// The keys on the lease are the same with records and without.
TEST_F(AgentWithoutRecords, H6_RecordsChangeNothingOfTheOtherKeys) {
  const Asked without = Live();
  options_.keeps_records = true;
  Asked with = Live();
  std::erase_if(with, [](const std::string& op) {
    return op.contains("/registry/") || op == "range /r/nodes/n1";
  });
  EXPECT_EQ(with, without);
}

}  // namespace
}  // namespace kvorum::sync
