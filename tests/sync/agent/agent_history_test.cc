// Random histories of an agent, its store and others who write there: in the end the store has what
// the agent's list says, byte by byte, and nothing else. Fault model: the store is away for a
// while, the lease expires, anybody puts and deletes any key of the node, the agent is stopped and
// begun again with its state. A seed is a history.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;

class AgentHistory : public AgentWorld, public testing::WithParamInterface<int> {
 protected:
  AgentHistory() : rng_(static_cast<std::uint64_t>(GetParam())) {
    options_.keeps_records = !rng_.OneIn(3);
    options_.node_details = R"({"address":"10.0.0.1"})";
    options_.registry.output_interval = Duration::zero();
    options_.max_txn_operations = rng_.OneIn(2) ? 5 : 128;
    store_.latency = std::chrono::milliseconds(1 + rng_.Below(200));
    Begin({});
  }

  void Begin(const AgentState& state) {
    agent_ = NewAgent("n1", state);
    EXPECT_TRUE(agent_->syncer->Start());
  }
  void Restart() {
    agent_->syncer->Stop();
    Pass(std::chrono::seconds(rng_.Below(60)));
    auto state = DecodeState(agent_->saved);
    Begin(state ? *std::move(state) : AgentState{});
  }

  std::string AnyId() { return std::string(1, static_cast<char>('a' + rng_.Below(5))); }
  std::string AnyDetails() {
    return rng_.OneIn(2) ? "" : R"({"n":)" + std::to_string(rng_.Below(3)) + "}";
  }
  Health AnyHealth() { return static_cast<Health>(rng_.Below(3)); }
  Check AnyCheck(const std::string& id) {
    return {.definition = {.id = id, .interval = 24h, .details = AnyDetails()},
            .health = AnyHealth()};
  }
  Entry AnyEntry() {
    if (rng_.OneIn(4)) return NodeCheck(AnyCheck(AnyId()));
    Entry entry{.id = AnyId(),
                .name = rng_.OneIn(3) ? "db" : "web",
                .value = std::to_string(rng_.Below(3))};
    entry.details = AnyDetails();
    for (std::uint64_t i = rng_.Below(3); i > 0; --i)
      entry.checks.push_back(AnyCheck("check" + std::to_string(i)));
    return entry;
  }
  std::string AnyKey() {
    const std::string id = AnyId();
    std::vector<std::string> keys = {EntryKey(id), EntryKey("stray-" + id), ServiceKey(id),
                                     ServiceKey(id, "db"), "/r/nodes/n1"};
    if (options_.keeps_records) {
      for (const std::string& key :
           {"/r/registry/service/n1/" + id, "/r/registry/service/n1/stray-" + id,
            std::string("/r/registry/node/n1"), std::string("/r/registry/life/n1")})
        keys.push_back(key);
    }
    return keys[rng_.Below(keys.size())];
  }
  // The agent finds a key under a service's name by the entry alone (docs/sync.md, "Limits"), so
  // what others put there is on its lease, which ends once more at the end.
  void Meddle() {
    const std::string key = AnyKey();
    // Somebody who makes the node's key has its name.
    if (key == "/r/nodes/n1" && !store_.keys().contains(key)) return;
    const std::int64_t lease = agent_->syncer->status().lease;
    const bool is_on_lease = key.starts_with("/r/services/") || rng_.OneIn(2);
    if (rng_.OneIn(2) || (is_on_lease && !store_.leases().contains(lease)))
      return store_.Delete(key);
    store_.Put(key, "scribbled", is_on_lease ? lease : 0);
  }

  void Step() {
    const auto list = agent_->syncer->List(Registry::Which::kVisible);
    switch (rng_.Below(10)) {
      case 0:
      case 1:
      case 2:
        ASSERT_TRUE(agent_->syncer->Register(AnyEntry()));
        break;
      case 3:
        if (list.empty()) break;
        ASSERT_TRUE(agent_->syncer->Deregister(list[rng_.Below(list.size())].entry.id));
        break;
      case 4:
      case 5: {
        if (list.empty()) break;
        const Entry& entry = list[rng_.Below(list.size())].entry;
        if (entry.checks.empty()) break;
        ASSERT_TRUE(agent_->syncer->UpdateCheck(entry.id, entry.checks.front().definition.id,
                                                AnyHealth(), std::to_string(rng_.Below(3))));
        break;
      }
      case 6:
      case 7:
        Meddle();
        break;
      case 8:
        store_.down = store_.down ? std::nullopt : std::optional(kDown);
        break;
      default:
        if (rng_.OneIn(2)) return Restart();
        store_.ExpireLease(agent_->syncer->status().lease);
    }
  }

  // The keys that the store is to have.
  std::map<std::string, std::string> Expected() const {
    std::map<std::string, std::string> keys = {{"/r/nodes/n1", ""}};
    KeptNode node{.details = options_.node_details};
    std::map<std::string, std::string> kept;
    for (const auto& listed : agent_->syncer->List(Registry::Which::kAll)) {
      const Entry& entry = listed.entry;
      KeptService record{
          .id = entry.id, .name = entry.name, .value = entry.value, .details = entry.details};
      for (const Check& check : entry.checks) {
        record.checks.push_back(
            {.status = {.id = check.definition.id, .health = check.health, .output = check.output},
             .details = check.definition.details});
      }
      if (entry.kind == EntryKind::kNode) {
        node.checks.push_back(record.checks.front());
        continue;
      }
      const std::string leased = EncodeRecord(LeasedOf(record));
      keys[EntryKey(entry.id)] = leased;
      keys[ServiceKey(entry.id, entry.name)] = leased;
      kept["/r/registry/service/n1/" + entry.id] = EncodeKeptService(record);
    }
    if (!options_.keeps_records) return keys;
    keys.merge(kept);
    keys["/r/registry/node/n1"] = EncodeKeptNode(node);
    keys["/r/registry/life/n1"] = "";
    return keys;
  }

  Rng rng_;
  std::unique_ptr<Agent> agent_;
};

TEST_P(AgentHistory, TheStoreEndsAsTheAgentsListSays) {
  for (int i = 0; i < 60; ++i) {
    Step();
    if (rng_.OneIn(2)) Pass(std::chrono::milliseconds(rng_.Below(rng_.OneIn(5) ? 60'000 : 500)));
  }
  store_.down.reset();
  Pass(5min);
  store_.ExpireLease(agent_->syncer->status().lease);
  Pass(5min);
  agent_->syncer->SyncNow();
  Pass(1min);
  const SyncerStatus status = agent_->syncer->status();
  EXPECT_EQ(status.dirty, 0U);
  EXPECT_EQ(status.last_error, "");
  std::map<std::string, std::string> values;
  for (const auto& [key, kv] : store_.keys()) {
    values[key] = kv.value;
    const bool is_kept = key.starts_with("/r/registry/") && !key.starts_with("/r/registry/life/");
    EXPECT_EQ(kv.lease, is_kept ? 0 : status.lease) << key;
  }
  EXPECT_EQ(values, Expected());
  const std::size_t changes = store_.changes().size();
  agent_->syncer->SyncNow();
  Pass(10min);
  EXPECT_EQ(store_.changes().size(), changes) << "nothing is written without a difference";
  agent_->syncer->Leave([](const Result<void>& left) { EXPECT_TRUE(left); });
  Pass(1min);
  EXPECT_TRUE(store_.keys().empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgentHistory, testing::Range(1, 61));

}  // namespace
}  // namespace kvorum::sync
