// The copy over a store: what it reads, who is woken, what a relist does.
#include "consul/catalog/catalog_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/consul/catalog_world.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;
using enum Topic::Kind;
using testing::ElementsAre;

std::vector<std::string> NamesOf(const std::vector<Instance>& instances) {
  std::vector<std::string> names;
  for (const Instance& instance : instances)
    names.push_back(instance.node.node->node + "." + instance.service->id);
  return names;
}

TEST(CatalogCopyTest, ReadsAreInOrderOfNamesAndDecoded) {
  CatalogWorld world;
  world.AddAgent("n2", "web");
  world.AddAgent("../x", "web");
  world.PutService({.node = "n2", .id = "a/b.c", .name = "db"});
  world.PutSession({.id = "s1", .node = "n2"});
  world.Start();
  ASSERT_TRUE(world.copy.is_listed());
  EXPECT_THAT(NamesOf(world.copy.Instances("web")), ElementsAre("../x.web", "n2.web"));
  EXPECT_THAT(NamesOf(world.copy.AllInstances()), ElementsAre("../x.web", "n2.a/b.c", "n2.web"));
  EXPECT_EQ(world.copy.Nodes().size(), 2U);
  EXPECT_EQ(world.copy.ServicesOf("n2").size(), 2U);
  EXPECT_EQ(world.copy.Service("n2", "a/b.c")->name, "db");
  EXPECT_EQ(world.copy.Service("n2", "other"), nullptr);
  EXPECT_EQ(world.copy.Session("s1")->node, "n2");
  EXPECT_EQ(world.copy.Sessions().size(), 1U);
  EXPECT_TRUE(world.copy.Node("../x").is_alive);
  EXPECT_EQ(world.copy.Node("n9").node, nullptr);
  EXPECT_EQ(world.copy.revision(), world.store.revision());
}

TEST(CatalogCopyTest, RecordsHaveTheRevisionsOfTheirKeys) {
  CatalogWorld world;
  world.Start();
  const std::int64_t created = world.PutNode({.node = "n1"});
  const std::int64_t changed = world.PutNode({.node = "n1", .details = {.address = "10.0.0.1"}});
  EXPECT_EQ(world.copy.Node("n1").node->create_revision, created);
  EXPECT_EQ(world.copy.Node("n1").node->mod_revision, changed);
}

class CatalogWaitTest : public testing::Test {
 protected:
  CatalogWaitTest() {
    world_.AddAgent("n1", "web");
    world_.AddAgent("n2", "db");
    world_.Start();
  }
  // Waits from the topic's present index on.
  CatalogCopy::WaitHandle WaitFor(const Topic& topic, int& woken) {
    return world_.copy.WaitFor(topic, world_.copy.IndexOf(topic), [&] { ++woken; });
  }

  CatalogWorld world_;
};

TEST_F(CatalogWaitTest, OnlyThoseConcernedAreWokenAndOnce) {
  int web = 0;
  int db = 0;
  int nodes = 0;
  int absent = 0;
  const auto a = WaitFor({kService, "web"}, web);
  const auto b = WaitFor({kService, "db"}, db);
  const auto c = WaitFor({kNodes}, nodes);
  const auto d = WaitFor({kService, "absent"}, absent);
  world_.Delete(world_.keys.Life("n1"));
  world_.PutLife("n1");
  EXPECT_EQ(web, 1);
  EXPECT_EQ(db, 0);
  EXPECT_EQ(nodes, 0);
  world_.Delete(world_.keys.Service("n2", "db"));
  EXPECT_EQ(db, 1);
  EXPECT_EQ(absent, 0) << "another service's end is not its own";
  world_.PutService({.node = "n1", .id = "a", .name = "absent"});
  EXPECT_EQ(absent, 1);
}

TEST_F(CatalogWaitTest, AnIndexThatIsAboveAlreadyWakesAtOnce) {
  int woken = 0;
  const auto wait = world_.copy.WaitFor({kService, "web"}, 1, [&] { ++woken; });
  EXPECT_EQ(woken, 0) << "on the executor";
  world_.executor.Settle();
  EXPECT_EQ(woken, 1);
}

TEST_F(CatalogWaitTest, AnIndexOfTheFutureWaits) {
  int woken = 0;
  const auto index = static_cast<std::uint64_t>(world_.store.revision()) + 2;
  const auto wait = world_.copy.WaitFor({kService, "web"}, index, [&] { ++woken; });
  world_.Delete(world_.keys.Life("n1"));
  world_.PutLife("n1");
  EXPECT_EQ(woken, 0);
  world_.Delete(world_.keys.Life("n1"));
  EXPECT_EQ(woken, 1);
}

TEST_F(CatalogWaitTest, AWaitThatIsDroppedIsNotCalled) {
  int woken = 0;
  auto wait = WaitFor({kService, "web"}, woken);
  wait = nullptr;
  world_.Delete(world_.keys.Life("n1"));
  EXPECT_EQ(woken, 0);
}

TEST_F(CatalogWaitTest, AListThatReplacesThePastWakesAll) {
  int woken = 0;
  const auto a = WaitFor({kService, "web"}, woken);
  const auto b = WaitFor({kSessions}, woken);
  const auto c = world_.copy.WaitFor({kNodes}, 1'000'000, [&] { ++woken; });
  world_.store.Disconnect();
  world_.Delete(world_.keys.Service("n1", "web"));
  world_.Relist();
  EXPECT_EQ(woken, 3);
  EXPECT_TRUE(world_.copy.Instances("web").empty());
  EXPECT_EQ(world_.copy.IndexOf({kService, "web"}),
            static_cast<std::uint64_t>(world_.store.revision()));
}

TEST_F(CatalogWaitTest, AConnectionThatWasLostWakesNobody) {
  int woken = 0;
  const auto a = WaitFor({kService, "web"}, woken);
  world_.store.Disconnect();
  world_.store.EndWatches({Code::kUnavailable, "lost"});
  world_.store.Connect();
  world_.executor.Advance(1min);
  EXPECT_EQ(woken, 0);
  world_.Delete(world_.keys.Life("n1"));
  EXPECT_EQ(woken, 1);
}

TEST_F(CatalogWaitTest, AStoreThatWentBackIsListedAnewAndItsIndexesAreLower) {
  const std::uint64_t before = world_.copy.IndexOf({kService, "web"});
  int woken = 0;
  const auto wait = WaitFor({kService, "web"}, woken);
  world_.store.Restore(2);
  world_.copy.StoreWentBack();
  world_.copy.StoreWentBack();
  world_.executor.Settle();
  EXPECT_EQ(woken, 1);
  EXPECT_LT(world_.copy.IndexOf({kService, "web"}), before);
  EXPECT_EQ(world_.copy.revision(), world_.store.revision());
  world_.PutService({.node = "n1", .id = "web-2", .name = "web"});
  EXPECT_NE(world_.copy.Service("n1", "web-2"), nullptr) << "it follows again";
}

TEST_F(CatalogWaitTest, TheEndCallsAll) {
  int woken = 0;
  const auto wait = WaitFor({kService, "web"}, woken);
  world_.copy.Stop();
  EXPECT_EQ(woken, 1);
  const auto late = WaitFor({kService, "web"}, woken);
  world_.executor.Settle();
  EXPECT_EQ(woken, 2);
}

TEST_F(CatalogWaitTest, OneOf5000IsWokenByAChangeOfItsService) {
  std::vector<int> woken(5000);
  std::vector<CatalogCopy::WaitHandle> waits;
  for (std::size_t i = 0; i < woken.size(); ++i)
    waits.push_back(WaitFor({kService, "s" + std::to_string(i)}, woken[i]));
  world_.PutService({.node = "n1", .id = "x", .name = "s77"});
  for (std::size_t i = 0; i < woken.size(); ++i) EXPECT_EQ(woken[i], i == 77 ? 1 : 0) << i;
  EXPECT_EQ(world_.store.open_watches(), 1);
}

class CatalogRevisionTest : public testing::Test {
 protected:
  CatalogRevisionTest() { world_.AddAgent("n1", "web"); }
  void Ask(std::int64_t revision) {
    world_.copy.WaitForRevision(revision, world_.executor.Now() + 5s, [this](Result<void> reached) {
      answers_.push_back(reached ? "reached" : reached.error().message);
    });
    world_.executor.Settle();
  }
  CatalogWorld world_;
  std::vector<std::string> answers_;
};

TEST_F(CatalogRevisionTest, WhatWasReadIsTheRevisionAskedFor) {
  world_.Start();
  Ask(world_.copy.revision());
  EXPECT_THAT(answers_, ElementsAre("reached"));
  Ask(world_.store.Put("/other", "1"));
  EXPECT_THAT(answers_, ElementsAre("reached", "reached"));
  EXPECT_EQ(world_.copy.revision(), world_.store.revision());
}

TEST_F(CatalogRevisionTest, ItWaitsForTheFirstList) {
  Ask(1);
  EXPECT_THAT(answers_, ElementsAre("the catalog's copy has stopped"));
  answers_.clear();
  world_.store.HoldRanges();
  world_.Start();
  Ask(1);
  EXPECT_THAT(answers_, ElementsAre());
  world_.store.LetGo();
  world_.executor.Settle();
  EXPECT_THAT(answers_, ElementsAre("reached"));
}

TEST_F(CatalogRevisionTest, AtTheDeadlineItIsRefusedOnce) {
  world_.Start();
  world_.store.Disconnect();
  Ask(world_.store.revision() + 1);
  world_.executor.Advance(6s);
  EXPECT_THAT(answers_, ElementsAre("the catalog's copy is behind the store"));
  world_.store.Put("/other", "1");
  world_.store.Connect();
  world_.executor.Advance(1min);
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(CatalogRevisionTest, AtTheEndItIsCanceled) {
  world_.Start();
  world_.store.Disconnect();
  Ask(world_.store.revision() + 1);
  world_.copy.Stop();
  EXPECT_EQ(answers_.size(), 1U);
}

TEST(CatalogObserverTest, ItIsToldWhatAChangeTouched) {
  CatalogWorld world;
  world.AddAgent("n1", "web");
  world.PutSession({.id = "s1", .node = "n1"});
  std::vector<std::string> told;
  world.copy.SetObserver([&](const CatalogCopy::Change& change) {
    std::string line = change.is_relist ? "relist" : "change";
    for (const std::string& node : change.nodes) line += " " + node;
    for (const SessionRef& session : change.ended_sessions) line += " -" + session->id;
    told.push_back(line);
  });
  world.Start();
  world.Delete(world.keys.Life("n1"));
  world.Delete(world.keys.Session("s1"));
  world.PutSession({.id = "s2", .node = "n1"});
  world.store.Disconnect();
  world.Delete(world.keys.Session("s2"));
  world.Relist();
  EXPECT_THAT(told, ElementsAre("relist n1", "change n1", "change -s1", "change", "relist n1 -s2"));
}

}  // namespace
}  // namespace kvorum::consul
