// The agent's look at its own records in the catalog, between its full syncs.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consul/agent/agent_routes.h"
#include "consul/agent/tag_override.h"
#include "consul/model/api_json.h"
#include "sync/checks/check_runner.h"
#include "tests/consul/catalog_world.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;

class NoProber final : public sync::Prober {
 public:
  void Begin(const sync::CheckDefinition&, OnEnd on_end) override { on_end({}); }
};

class ConsulOwnRecords : public testing::Test {
 protected:
  ConsulOwnRecords() {
    EXPECT_TRUE(syncer_.Start());
    world_.Start();
    Register("web", R"({"tags":["a"]})");
    Register("free", R"({"tags":["a"],"enable_tag_override":true})");
    // A minute and a stagger of another lie between full syncs.
    Pass(5s);
  }
  static sync::SyncerOptions Options() {
    sync::SyncerOptions options{.node = "n1"};
    options.seed = 1;
    options.keeps_records = true;
    options.node_details = EncodeNodeDetails({.address = "10.0.0.1"});
    options.registry.take_over = WithCatalogTags;
    return options;
  }
  void Register(const std::string& id, const std::string& details) {
    ASSERT_TRUE(syncer_.Register({.id = id, .name = id, .value = "", .details = details}));
  }
  void Pass(Duration d) { world_.executor.Advance(d); }
  std::optional<ServiceRecord> Kept(const std::string& id) {
    const auto contents = world_.store.Contents();
    const auto found = contents.find(world_.keys.Service("n1", id));
    if (found == contents.end()) return std::nullopt;
    return DecodeService("n1", id, found->second).value();
  }
  bool HasNode() { return world_.store.Contents().contains(world_.keys.Node("n1")); }

  CatalogWorld world_;
  NoProber prober_;
  sync::Syncer syncer_{world_.store, world_.executor, Options()};
  sync::CheckRunner checks_{world_.executor, prober_, syncer_, 1};
  AgentRoutes routes_{{.syncer = syncer_,
                       .checks = checks_,
                       .executor = world_.executor,
                       .node = "n1",
                       .copy = &world_.copy}};
};

TEST_F(ConsulOwnRecords, ANodeThatOthersRemovedIsBackSoonWithItsServices) {
  const std::uint64_t syncs = syncer_.status().full_syncs;
  world_.Commit({{world_.keys.Node("n1"), std::nullopt},
                 {world_.keys.Service("n1", "web"), std::nullopt},
                 {world_.keys.Service("n1", "free"), std::nullopt}});
  EXPECT_FALSE(HasNode());
  Pass(5s);
  EXPECT_TRUE(HasNode());
  EXPECT_TRUE(Kept("web").has_value());
  EXPECT_TRUE(Kept("free").has_value());
  EXPECT_EQ(syncer_.status().full_syncs, syncs + 1);
  // Also when its node alone went.
  world_.Delete(world_.keys.Node("n1"));
  Pass(5s);
  EXPECT_TRUE(HasNode());
}

TEST_F(ConsulOwnRecords, AServiceThatOthersRemovedIsBackSoon) {
  world_.Delete(world_.keys.Service("n1", "web"));
  Pass(5s);
  EXPECT_TRUE(Kept("web").has_value());
  // Again, and one that had only just come.
  world_.Delete(world_.keys.Service("n1", "web"));
  Register("new", "{}");
  world_.executor.Settle();
  EXPECT_TRUE(Kept("new").has_value());
  world_.Delete(world_.keys.Service("n1", "new"));
  Pass(6s);
  EXPECT_TRUE(Kept("web").has_value());
  EXPECT_TRUE(Kept("new").has_value());
}

TEST_F(ConsulOwnRecords, WhatTheAgentDoesItselfIsNoReasonForASync) {
  const std::uint64_t syncs = syncer_.status().full_syncs;
  for (int i = 0; i < 20; ++i) {
    const std::string id = "s" + std::to_string(i);
    Register(id, "{}");
    Pass(300ms);
    ASSERT_TRUE(syncer_.Deregister(id));
    Register("web", R"({"tags":["a"],"port":)" + std::to_string(i + 1) + "}");
    Pass(700ms);
  }
  EXPECT_EQ(syncer_.status().full_syncs, syncs);
  // Nor is what others add; the next full sync removes it.
  world_.PutService({.node = "n1", .id = "stranger", .name = "stranger"});
  Pass(10s);
  EXPECT_EQ(syncer_.status().full_syncs, syncs);
  EXPECT_TRUE(Kept("stranger").has_value());
  Pass(2min);
  EXPECT_FALSE(Kept("stranger").has_value());
}

TEST_F(ConsulOwnRecords, OneWhoKeepsOnRemovingDoesNotKeepTheAgentBusy) {
  const std::uint64_t syncs = syncer_.status().full_syncs;
  for (int i = 0; i < 1000; ++i) {
    world_.Delete(world_.keys.Service("n1", "web"));
    Pass(10ms);
  }
  EXPECT_LT(syncer_.status().full_syncs - syncs, 11U);
  Pass(6s);
  EXPECT_TRUE(Kept("web").has_value());
}

TEST_F(ConsulOwnRecords, TagsThatOthersGaveAreTakenOverSoon) {
  for (const std::string id : {"free", "web"}) {
    ServiceRecord record = Kept(id).value();
    record.details.tags = {"b"};
    world_.PutService(record);
  }
  Pass(5s);
  // A change of the agent's own writes the record again.
  Register("other", "{}");
  const auto list = syncer_.List(sync::Registry::Which::kVisible);
  EXPECT_EQ(list[0].entry.id, "free");
  EXPECT_EQ(RecordOf("n1", list[0].entry).details.tags, std::vector<std::string>{"b"});
  Pass(2min);
  EXPECT_EQ(Kept("free")->details.tags, std::vector<std::string>{"b"});
  EXPECT_EQ(Kept("web")->details.tags, std::vector<std::string>{"a"});
}

TEST_F(ConsulOwnRecords, ARelistIsNoLoss) {
  const std::uint64_t syncs = syncer_.status().full_syncs;
  world_.store.Disconnect();
  world_.store.EndWatches({Code::kUnavailable, "lost"});
  world_.store.Put("/other", "");
  world_.store.Compact(world_.store.revision());
  world_.store.Connect();
  Pass(20s);
  EXPECT_EQ(syncer_.status().full_syncs, syncs);
}

}  // namespace
}  // namespace kvorum::consul
