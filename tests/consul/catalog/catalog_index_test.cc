// Which write moves which index: X-Consul-Index belongs to a question, so that churn elsewhere
// wakes no waiter (issue 36; spec sections 3 and 13).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/consul/catalog_world.h"

namespace kvorum::consul {
namespace {

using enum Topic::Kind;
using testing::ElementsAre;

// Two agents' nodes and an external one. "web" runs on n1 and n2, "db" on n1, "cache" on n2, "ext"
// on the external node.
class CatalogIndexTest : public testing::Test {
 protected:
  CatalogIndexTest() {
    world_.AddAgent("n1", "web");
    world_.AddAgent("n2", "web");
    world_.PutService(db_);
    world_.PutService({.node = "n2", .id = "cache-1", .name = "cache"});
    world_.PutNode({.node = "x1", .is_external = true});
    world_.PutService({.node = "x1", .id = "ext", .name = "ext"});
    world_.PutSession({.id = "s1", .node = "n1"});
    world_.Start();
  }

  // The topics that the write moved, each to the revision of the write.
  std::vector<std::string> Moved(const std::function<std::int64_t()>& write) {
    const std::map<std::string, std::uint64_t> before = Indexes();
    const auto revision = static_cast<std::uint64_t>(write());
    std::vector<std::string> moved;
    for (const auto& [name, index] : Indexes()) {
      if (index == before.at(name)) continue;
      EXPECT_EQ(index, revision) << name;
      moved.push_back(name);
    }
    return moved;
  }

  CatalogWorld world_;
  ServiceRecord db_{.node = "n1",
                    .id = "db-1",
                    .name = "db",
                    .details = {.tags = {"primary"}},
                    .checks = {{.id = "service:db-1", .health = Health::kPassing}}};

 private:
  std::map<std::string, std::uint64_t> Indexes() const {
    std::map<std::string, std::uint64_t> indexes{
        {"nodes", world_.copy.IndexOf({kNodes})},
        {"services", world_.copy.IndexOf({kServices})},
        {"checks", world_.copy.IndexOf({kChecks})},
        {"sessions", world_.copy.IndexOf({kSessions})},
    };
    for (const char* service : {"web", "db", "cache", "ext", "absent"})
      indexes[std::string("service ") + service] = world_.copy.IndexOf({kService, service});
    for (const char* node : {"n1", "n2", "x1", "nowhere"})
      indexes[std::string("node ") + node] = world_.copy.IndexOf({kNode, node});
    return indexes;
  }
};

TEST_F(CatalogIndexTest, ACheckMovesItsServiceItsNodeAndTheTableOfChecks) {
  db_.checks[0].health = Health::kCritical;
  EXPECT_THAT(Moved([&] { return world_.PutService(db_); }),
              ElementsAre("checks", "node n1", "service db"));
  db_.checks[0].output = "said something else";
  EXPECT_THAT(Moved([&] { return world_.PutService(db_); }),
              ElementsAre("checks", "node n1", "service db"));
}

TEST_F(CatalogIndexTest, TagsMoveTheListOfServicesToo) {
  db_.details.tags = {"primary", "new"};
  EXPECT_THAT(Moved([&] { return world_.PutService(db_); }),
              ElementsAre("checks", "node n1", "service db", "services"));
}

TEST_F(CatalogIndexTest, AServicesAddressMovesNoListOfServices) {
  EXPECT_THAT(
      Moved([&] {
        return world_.PutService(
            {.node = "n2", .id = "cache-1", .name = "cache", .details = {.address = "10.9.9.9"}});
      }),
      ElementsAre("node n2", "service cache"));
}

TEST_F(CatalogIndexTest, ANewInstanceMovesItsServiceAlone) {
  EXPECT_THAT(
      Moved([&] { return world_.PutService({.node = "n1", .id = "cache-2", .name = "cache"}); }),
      ElementsAre("node n1", "service cache", "services"));
}

TEST_F(CatalogIndexTest, ANewServiceThatWasWaitedForMoves) {
  EXPECT_THAT(Moved([&] { return world_.PutService({.node = "n1", .id = "a", .name = "absent"}); }),
              ElementsAre("node n1", "service absent", "services"));
}

TEST_F(CatalogIndexTest, AnInstanceThatGoesMovesItsService) {
  EXPECT_THAT(Moved([&] { return world_.Delete(world_.keys.Service("n1", "web")); }),
              ElementsAre("checks", "node n1", "service web", "services"));
}

TEST_F(CatalogIndexTest, AServiceThatDiesOutMovesWhatIsUnknown) {
  EXPECT_THAT(Moved([&] { return world_.Delete(world_.keys.Service("n2", "cache-1")); }),
              ElementsAre("node n2", "service absent", "service cache", "services"));
}

TEST_F(CatalogIndexTest, ARenamedServiceMovesBothNames) {
  EXPECT_THAT(
      Moved([&] { return world_.PutService({.node = "n2", .id = "cache-1", .name = "web"}); }),
      ElementsAre("node n2", "service absent", "service cache", "service web", "services"));
}

TEST_F(CatalogIndexTest, ANodeMovesItsServicesAndNoOthers) {
  EXPECT_THAT(
      Moved([&] { return world_.PutNode({.node = "n1", .details = {.address = "10.0.0.9"}}); }),
      ElementsAre("checks", "node n1", "nodes", "service db", "service web"));
  EXPECT_THAT(Moved([&] {
                return world_.PutNode(
                    {.node = "x1", .is_external = true, .details = {.address = "10.0.0.9"}});
              }),
              ElementsAre("node x1", "nodes", "service ext"));
}

TEST_F(CatalogIndexTest, ANodesCheckCountsForEachOfItsServices) {
  EXPECT_THAT(
      Moved([&] {
        return world_.PutNode({.node = "x1", .is_external = true, .checks = {{.id = "disk"}}});
      }),
      ElementsAre("checks", "node x1", "nodes", "service ext"));
}

TEST_F(CatalogIndexTest, ALifeThatEndsOrBeginsMovesSerfHealth) {
  const std::vector<std::string> what{"checks", "node n1", "service db", "service web"};
  EXPECT_EQ(Moved([&] { return world_.Delete(world_.keys.Life("n1")); }), what);
  EXPECT_FALSE(world_.copy.Node("n1").is_alive);
  EXPECT_EQ(Moved([&] { return world_.PutLife("n1"); }), what);
  EXPECT_TRUE(world_.copy.Node("n1").is_alive);
}

TEST_F(CatalogIndexTest, ALifeThatIsTakenOverMovesNothing) {
  EXPECT_THAT(Moved([&] { return world_.PutLife("n1"); }), ElementsAre());
}

TEST_F(CatalogIndexTest, ASessionMovesSessionsAlone) {
  EXPECT_THAT(Moved([&] { return world_.PutSession({.id = "s2", .node = "n1"}); }),
              ElementsAre("sessions"));
  EXPECT_THAT(Moved([&] { return world_.Delete(world_.keys.Session("s1")); }),
              ElementsAre("sessions"));
}

TEST_F(CatalogIndexTest, ANodeThatGoesWithEverythingMovesWhatItHad) {
  EXPECT_THAT(Moved([&] {
                return world_.Commit({{world_.keys.Node("n2"), std::nullopt},
                                      {world_.keys.Life("n2"), std::nullopt},
                                      {world_.keys.Service("n2", "web"), std::nullopt},
                                      {world_.keys.Service("n2", "cache-1"), std::nullopt}});
              }),
              ElementsAre("checks", "node n2", "node nowhere", "nodes", "service absent",
                          "service cache", "service web", "services"));
}

TEST_F(CatalogIndexTest, OtherKeysOfTheStoreMoveNothing) {
  EXPECT_THAT(Moved([&] { return world_.Commit({{"/kvorum/kv/a", "1"}, {"/other", "2"}}); }),
              ElementsAre());
}

TEST_F(CatalogIndexTest, AServiceIsShownWithItsNode) {
  EXPECT_THAT(
      Moved([&] { return world_.PutService({.node = "nowhere", .id = "early", .name = "early"}); }),
      ElementsAre("node nowhere", "services"));
  EXPECT_TRUE(world_.copy.Instances("early").empty());
  EXPECT_THAT(Moved([&] { return world_.PutNode({.node = "nowhere", .is_external = true}); }),
              ElementsAre("node nowhere", "nodes", "services"));
  EXPECT_EQ(world_.copy.Instances("early").size(), 1U);
}

TEST_F(CatalogIndexTest, AMalformedRecordIsReportedAndAsGoodAsNone) {
  EXPECT_THAT(Moved([&] { return world_.Commit({{world_.keys.Service("n2", "cache-1"), "{"}}); }),
              ElementsAre("node n2", "service absent", "service cache", "services"));
  ASSERT_EQ(world_.reports.size(), 1U);
  EXPECT_THAT(world_.reports[0], testing::HasSubstr("/kvorum/registry/service/n2/cache-1"));
}

TEST_F(CatalogIndexTest, WhatWasBeforeAListIsUnknownSoThatEveryIndexIsItsRevision) {
  CatalogWorld fresh;
  EXPECT_EQ(fresh.copy.IndexOf({kService, "web"}), 1U);  // never 0
  fresh.AddAgent("n1", "web");
  fresh.store.Put("/other", "1");
  fresh.Start();
  const auto listed = static_cast<std::uint64_t>(fresh.store.revision());
  for (const Topic& topic :
       {Topic{kNodes}, Topic{kServices}, Topic{kChecks}, Topic{kSessions}, Topic{kService, "web"},
        Topic{kService, "absent"}, Topic{kNode, "n1"}, Topic{kNode, "nowhere"}})
    EXPECT_EQ(fresh.copy.IndexOf(topic), listed);
}

TEST_F(CatalogIndexTest, AnIndexNeverGoesBackWhileServicesComeAndGo) {
  std::uint64_t web = 0;
  for (int round = 0; round < 5; ++round) {
    for (const auto& write :
         {world_.ServiceWrite({.node = "n1", .id = "a", .name = "absent"}),
          world_.ServiceWrite({.node = "n2", .id = "b", .name = "other"}),
          sync::FakeStore::Write{world_.keys.Service("n1", "a"), std::nullopt},
          sync::FakeStore::Write{world_.keys.Service("n2", "b"), std::nullopt}}) {
      world_.Commit({write});
      const std::uint64_t next = world_.copy.IndexOf({kService, "absent"});
      EXPECT_GE(next, web);
      web = next;
    }
  }
}

}  // namespace
}  // namespace kvorum::consul
