// GET /v1/catalog and /v1/health (spec section 4).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/consul/http/routes_world.h"

namespace kvorum::consul {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// n1 and n2 have agents, x1 is external. "web" runs on all three: passing on n1, warning on n2.
class CatalogRoutesTest : public testing::Test {
 protected:
  CatalogRoutesTest() {
    world_.Commit(
        {world_.NodeWrite({.node = "n1",
                           .details = {.id = "8d0b2a53-d23b-4927-9d31-89f977b0a271",
                                       .address = "10.1.0.1",
                                       .meta = {{"rack", "a"}}}}),
         {world_.keys.Life("n1"), ""},
         world_.NodeWrite({.node = "n2", .details = {.address = "10.1.0.2"}}),
         {world_.keys.Life("n2"), ""},
         world_.NodeWrite({.node = "x1", .is_external = true, .details = {.address = "10.1.0.3"}}),
         world_.ServiceWrite({.node = "n1",
                              .id = "web-1",
                              .name = "web",
                              .details = {.tags = {"a", "b"}, .port = 8080},
                              .checks = {{.id = "service:web-1", .health = Health::kPassing}}}),
         world_.ServiceWrite({.node = "n2",
                              .id = "web-2",
                              .name = "web",
                              .details = {.tags = {"b", "c"}},
                              .checks = {{.id = "service:web-2", .health = Health::kWarning}}}),
         world_.ServiceWrite({.node = "x1", .id = "web-3", .name = "web"})});
    world_.Start();
  }

  std::vector<std::string> WebOn(const std::string& parameters) {
    std::vector<std::string> nodes;
    for (const Json& item : world_.Get("/v1/health/service/web" + parameters))
      nodes.push_back(item["Node"]["Node"]);
    return nodes;
  }
  std::vector<std::string> ChecksOf(const std::string& target) {
    return Members(world_.Get(target), "CheckID");
  }

  RoutesWorld world_;
};

TEST_F(CatalogRoutesTest, DatacentersHaveNoIndex) {
  const auto answer = world_.Ask("GET", "/v1/catalog/datacenters");
  EXPECT_EQ(answer->line(), R"(200 ["dc1"])");
  EXPECT_EQ(answer->header("X-Consul-Index"), "");
}

TEST_F(CatalogRoutesTest, NodesAreListedInOrderOrWithTheNearOneFirst) {
  EXPECT_THAT(Members(world_.Get("/v1/catalog/nodes"), "Node"), ElementsAre("n1", "n2", "x1"));
  EXPECT_THAT(Members(world_.Get("/v1/catalog/nodes?near=_agent"), "Node"),
              ElementsAre("n2", "n1", "x1"));
  EXPECT_THAT(Members(world_.Get("/v1/catalog/nodes?near=x1"), "Node"),
              ElementsAre("x1", "n1", "n2"));
  EXPECT_THAT(Members(world_.Get("/v1/catalog/nodes?near=nobody"), "Node"),
              ElementsAre("n1", "n2", "x1"));
  EXPECT_THAT(Members(world_.Get("/v1/catalog/nodes?node-meta=rack:a"), "Node"), ElementsAre("n1"));
  EXPECT_THAT(world_.Get("/v1/catalog/nodes?node-meta=rack:a&node-meta=row:1"), IsEmpty());
  const Json node = world_.Get("/v1/catalog/nodes")[0];
  EXPECT_EQ(node["Address"], "10.1.0.1");
  EXPECT_EQ(node["Datacenter"], "dc1");
  EXPECT_GT(node["CreateIndex"], 0);
}

TEST_F(CatalogRoutesTest, ServicesHaveTheUnionOfTheirTagsAndTheServersAreAmongThem) {
  EXPECT_EQ(world_.Get("/v1/catalog/services").dump(), R"({"consul":[],"web":["a","b","c"]})");
  EXPECT_EQ(world_.Get("/v1/catalog/services?node-meta=rack:a").dump(), R"({"web":["a","b"]})");
  EXPECT_EQ(world_.Get("/v1/catalog/services?node-meta=rack:z").dump(), "{}");
}

TEST_F(CatalogRoutesTest, InstancesOfAService) {
  const Json list = world_.Get("/v1/catalog/service/web");
  EXPECT_THAT(Members(list, "ServiceID"), ElementsAre("web-1", "web-2", "web-3"));
  EXPECT_EQ(list[0]["ServicePort"], 8080);
  EXPECT_EQ(list[0]["Address"], "10.1.0.1");
  EXPECT_THAT(Members(world_.Get("/v1/catalog/service/web?tag=b"), "ServiceID"),
              ElementsAre("web-1", "web-2"));
  EXPECT_THAT(Members(world_.Get("/v1/catalog/service/web?tag=b&tag=c"), "ServiceID"),
              ElementsAre("web-2"));
  EXPECT_THAT(world_.Get("/v1/catalog/service/web?tag="), IsEmpty());
  EXPECT_EQ(world_.Get("/v1/catalog/service/unknown").dump(), "[]");
}

TEST_F(CatalogRoutesTest, ANodeWithItsServices) {
  const Json node = world_.Get("/v1/catalog/node/n1");
  EXPECT_EQ(node["Node"]["Node"], "n1");
  EXPECT_EQ(node["Services"]["web-1"]["Service"], "web");
  EXPECT_EQ(world_.Get("/v1/catalog/node/unknown").dump(), "null");
  const Json list = world_.Get("/v1/catalog/node-services/n1");
  EXPECT_EQ(list["Services"][0]["ID"], "web-1");
  EXPECT_EQ(world_.Get("/v1/catalog/node-services/unknown").dump(),
            R"({"Node":null,"Services":[]})");
}

TEST_F(CatalogRoutesTest, MissingPartsOfThePath) {
  EXPECT_EQ(world_.Get("/v1/catalog/service/"), "400 Missing service name");
  EXPECT_EQ(world_.Get("/v1/health/service/"), "400 Missing service name");
  EXPECT_EQ(world_.Get("/v1/health/checks/"), "400 Missing service name");
  EXPECT_EQ(world_.Get("/v1/catalog/node/"), "400 Missing node name");
  EXPECT_EQ(world_.Get("/v1/health/node/"), "400 Missing node name");
  EXPECT_EQ(world_.Get("/v1/health/state/"), "400 Missing check state");
}

TEST_F(CatalogRoutesTest, AnInstancesHealthHasItsNodesChecksToo) {
  const Json list = world_.Get("/v1/health/service/web");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_THAT(Members(list[0]["Checks"], "CheckID"), ElementsAre("serfHealth", "service:web-1"));
  EXPECT_THAT(Members(list[0]["Checks"], "Status"), ElementsAre("passing", "passing"));
  EXPECT_EQ(list[0]["Service"]["ID"], "web-1");
  EXPECT_EQ(list[2]["Checks"].dump(), "[]") << "an external node has no serfHealth";
}

TEST_F(CatalogRoutesTest, PassingLeavesOutWhatIsNot) {
  EXPECT_THAT(WebOn(""), ElementsAre("n1", "n2", "x1"));
  EXPECT_THAT(WebOn("?passing=false"), ElementsAre("n1", "n2", "x1"));
  for (const char* yes : {"?passing", "?passing=1", "?passing=true", "?passing=t"})
    EXPECT_THAT(WebOn(yes), ElementsAre("n1", "x1")) << yes;
  EXPECT_EQ(world_.Get("/v1/health/service/web?passing=maybe"), "400 Invalid value for ?passing");
  EXPECT_THAT(WebOn("?near=_agent&passing=0"), ElementsAre("n2", "n1", "x1"));
}

TEST_F(CatalogRoutesTest, ADeadAgentsServicesStayAndAreCritical) {
  world_.Delete(world_.keys.Life("n1"));
  EXPECT_THAT(WebOn(""), ElementsAre("n1", "n2", "x1"));
  EXPECT_THAT(WebOn("?passing"), ElementsAre("x1"));
  EXPECT_THAT(Members(world_.Get("/v1/health/service/web")[0]["Checks"], "Status"),
              ElementsAre("critical", "passing"));
  EXPECT_THAT(ChecksOf("/v1/health/state/critical"), ElementsAre("serfHealth"));
}

TEST_F(CatalogRoutesTest, ANodesCheckCountsForItsServices) {
  world_.PutNode({.node = "n1", .checks = {{.id = "disk", .health = Health::kCritical}}});
  EXPECT_THAT(WebOn("?passing"), ElementsAre("x1"));
}

TEST_F(CatalogRoutesTest, ChecksOfANodeAServiceAndAState) {
  EXPECT_THAT(ChecksOf("/v1/health/node/n1"), ElementsAre("serfHealth", "service:web-1"));
  EXPECT_THAT(ChecksOf("/v1/health/node/unknown"), IsEmpty());
  EXPECT_THAT(ChecksOf("/v1/health/checks/web"), ElementsAre("service:web-1", "service:web-2"));
  EXPECT_THAT(ChecksOf("/v1/health/checks/unknown"), IsEmpty());
  EXPECT_THAT(ChecksOf("/v1/health/state/any"),
              ElementsAre("serfHealth", "service:web-1", "serfHealth", "service:web-2"));
  EXPECT_THAT(ChecksOf("/v1/health/state/passing"),
              ElementsAre("serfHealth", "service:web-1", "serfHealth"));
  EXPECT_THAT(ChecksOf("/v1/health/state/warning"), ElementsAre("service:web-2"));
  EXPECT_THAT(ChecksOf("/v1/health/state/unknown"), IsEmpty());
  EXPECT_THAT(ChecksOf("/v1/health/state/any?node-meta=rack:a"),
              ElementsAre("serfHealth", "service:web-1"));
}

TEST_F(CatalogRoutesTest, FiltersChooseAmongTheRows) {
  EXPECT_THAT(WebOn("?filter=Service.Port+%3D%3D+8080"), ElementsAre("n1"));
  EXPECT_THAT(WebOn("?filter=%22c%22+in+Service.Tags"), ElementsAre("n2"));
  EXPECT_THAT(Members(world_.Get("/v1/catalog/nodes?filter=Address+%3D%3D+%2210.1.0.3%22"), "Node"),
              ElementsAre("x1"));
  EXPECT_EQ(world_.Get("/v1/catalog/services?filter=%22a%22+in+ServiceTags").dump(),
            R"({"web":["a","b"]})");
  EXPECT_EQ(world_.Get("/v1/catalog/services?filter=ServiceName+%21%3D+web").dump(),
            R"({"consul":[]})");
  EXPECT_THAT(ChecksOf("/v1/health/state/any?filter=ServiceName+%3D%3D+web"),
              ElementsAre("service:web-1", "service:web-2"));
  EXPECT_THAT(world_.Get("/v1/catalog/nodes?filter=Address+%3D%3D").get<std::string>(),
              StartsWith("400 "));
}

TEST_F(CatalogRoutesTest, EveryReadHasItsOwnIndex) {
  const auto index = [&](const std::string& target) {
    return world_.Ask("GET", target)->header("X-Consul-Index");
  };
  const std::string before = index("/v1/catalog/nodes");
  const std::string revision = std::to_string(
      world_.PutService({.node = "n1", .id = "db", .name = "db", .checks = {{.id = "c"}}}));
  for (const char* moved : {"/v1/catalog/services", "/v1/catalog/service/db", "/v1/catalog/node/n1",
                            "/v1/catalog/node-services/n1", "/v1/health/service/db",
                            "/v1/health/checks/db", "/v1/health/node/n1", "/v1/health/state/any"})
    EXPECT_EQ(index(moved), revision) << moved;
  for (const char* still :
       {"/v1/catalog/nodes", "/v1/catalog/service/web", "/v1/catalog/node/n2",
        "/v1/health/service/web", "/v1/health/checks/web", "/v1/health/node/n2"})
    EXPECT_EQ(index(still), before) << still;
}

TEST_F(CatalogRoutesTest, NamesMayHaveAnyCharacters) {
  world_.AddAgent("../x", "a/b c");
  EXPECT_EQ(world_.Get("/v1/catalog/node/..%2Fx")["Node"]["Node"], "../x");
  EXPECT_EQ(world_.Get("/v1/health/service/a%2Fb%20c").size(), 1U);
}

class CatalogWritesTest : public testing::Test {
 protected:
  CatalogWritesTest() {
    world_.AddAgent("n1", "web");
    world_.Start();
  }
  RoutesWorld world_;
};

TEST_F(CatalogWritesTest, ChecksAreListedByTheirIds) {
  EXPECT_EQ(world_.Register(R"({"Node": "out", "Address": "192.0.2.1",
      "Service": {"Service": "redis"},
      "Checks": [{"CheckID": "b", "ServiceID": "redis"}, {"CheckID": "a", "ServiceID": "redis"},
                 {"CheckID": "y"}, {"CheckID": "x"}]})"),
            "200 true");
  EXPECT_THAT(Members(world_.Get("/v1/health/service/redis")[0]["Checks"], "CheckID"),
              ElementsAre("x", "y", "a", "b"));
  EXPECT_THAT(Members(world_.Get("/v1/health/checks/redis"), "CheckID"), ElementsAre("a", "b"));
}

TEST_F(CatalogWritesTest, AnExternalNodeWithServiceAndChecksIsOneRevision) {
  const std::int64_t before = world_.store.revision();
  EXPECT_EQ(world_.Register(R"({
      "Datacenter": "dc1", "ID": "40e4a748-2192-161a-0510-9bf59fe950b5", "Node": "ext",
      "Address": "192.168.10.10", "TaggedAddresses": {"lan": "192.168.10.10"},
      "NodeMeta": {"external-node": "true"},
      "Service": {"Service": "redis", "Tags": ["primary"], "Port": 8000,
                  "Weights": {"Passing": 5, "Warning": 2}},
      "Check": {"Node": "ext", "CheckID": "service:redis1", "Name": "Redis", "Status": "passing",
                "ServiceID": "redis", "Definition": {"TCP": "localhost:8888", "Interval": "5s",
                "Timeout": 1000000000, "DeregisterCriticalServiceAfter": ""}},
      "Checks": [{"Name": "ping"}]})"),
            "200 true");
  EXPECT_EQ(world_.store.revision(), before + 1);
  const Json item = world_.Get("/v1/health/service/redis")[0];
  EXPECT_EQ(item["Node"]["Meta"]["external-node"], "true");
  EXPECT_EQ(item["Service"]["ID"], "redis");
  EXPECT_EQ(item["Service"]["Weights"]["Passing"], 5);
  EXPECT_THAT(Members(item["Checks"], "CheckID"), ElementsAre("ping", "service:redis1"));
  EXPECT_THAT(Members(item["Checks"], "Status"), ElementsAre("critical", "passing"));
  EXPECT_EQ(item["Checks"][1]["Definition"].dump(),
            R"({"TCP":"localhost:8888","Interval":"5s","Timeout":"1s"})");
  EXPECT_EQ(item["Checks"][1]["ServiceTags"].dump(), R"(["primary"])");
}

TEST_F(CatalogWritesTest, TheSameAgainWritesNothing) {
  const std::string body = R"({"Node":"ext","Address":"10.0.0.9","Service":{"Service":"s"},
      "Check":{"Name":"c","ServiceID":"s","Status":"passing"}})";
  EXPECT_EQ(world_.Register(body), "200 true");
  const std::int64_t before = world_.store.revision();
  EXPECT_EQ(world_.Register(body), "200 true");
  EXPECT_EQ(world_.store.revision(), before);
}

TEST_F(CatalogWritesTest, WhatIsNotNamedStays) {
  world_.Register(R"({"Node":"ext","Address":"10.0.0.9","Service":{"Service":"s","Port":1},
      "Check":{"Name":"c","ServiceID":"s"}})");
  // Consul's external monitor writes a check's result like this.
  EXPECT_EQ(world_.Register(R"({"Node":"ext","SkipNodeUpdate":true,
      "Check":{"CheckID":"c","Name":"c","ServiceID":"s","Status":"passing","Output":"fine"}})"),
            "200 true");
  const Json item = world_.Get("/v1/health/service/s")[0];
  EXPECT_EQ(item["Node"]["Address"], "10.0.0.9");
  EXPECT_EQ(item["Service"]["Port"], 1);
  EXPECT_EQ(item["Checks"][0]["Output"], "fine");
  // A service anew keeps its checks.
  world_.Register(R"({"Node":"ext","Address":"10.0.0.9","Service":{"Service":"s","Port":2}})");
  EXPECT_EQ(world_.Get("/v1/health/service/s")[0]["Checks"].size(), 1U);
}

TEST_F(CatalogWritesTest, NodeNamesThatAreNoNamesOfKeysAreFine) {
  EXPECT_EQ(world_.Register(R"({"Node":"../x","Address":"a","Service":{"Service":"a/b.c"}})"),
            "200 true");
  EXPECT_EQ(world_.Get("/v1/catalog/service/a%2Fb.c")[0]["Node"], "../x");
  EXPECT_EQ(world_.Get("/v1/catalog/nodes").size(), 2U);
}

TEST_F(CatalogWritesTest, WhatIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"Address":"a"})", "500 Must provide node"},
      {R"({"Node":"n"})", "500 Must provide address if SkipNodeUpdate is not set"},
      {R"({"Node":"n","Address":"a","ID":"x"})", "500 Bad node ID: \"x\" is not a UUID"},
      {R"({"Node":"n","Address":"a","Service":{"ID":"x"}})",
       "500 Must provide service name with ID"},
      {R"({"Node":"n","Address":"a","Service":{"Service":"x","Address":"0.0.0.0"}})",
       "500 Invalid service address"},
      {R"({"Node":"n","Address":"a","Check":{"Name":"c","ServiceID":"none"}})",
       "500 Missing service registration"},
      {R"({"Node":"n","Address":"a","Check":{"Name":"c","Node":"m"}})",
       "500 check node \"m\" does not match node \"n\""},
      {R"({"Node":"n","Address":"a","Check":{"Name":"c","Status":"bad"}})",
       "500 Invalid check status: 'bad'"},
      {R"({"Node":"n","Address":"a","Datacenter":"dc2"})", "500 No path to datacenter"},
  };
  const std::int64_t before = world_.store.revision();
  for (const auto& [body, line] : cases) EXPECT_EQ(world_.Register(body), line) << body;
  for (const char* malformed :
       {"", "{", "[]", "1", R"({"Node":1})", R"({"Node":"n","Address":"a","Service":[]})",
        R"({"Node":"n","Address":"a","Service":{"Service":"s","Port":65536}})",
        R"({"Node":"n","Address":"a","Service":{"Service":"s","Tags":[1]}})",
        R"({"Node":"n","Address":"a","Checks":{}})", R"({"Node":"n","Address":"a","Checks":[1]})",
        R"({"Node":"n","Address":"a","Check":{"Name":"c","Definition":{"Interval":"soon"}}})"})
    EXPECT_THAT(world_.Register(malformed), StartsWith("400 ")) << malformed;
  EXPECT_THAT(world_.Register(R"({"Node":")" + std::string(300, 'n') + R"(","Address":"a"})"),
              StartsWith("400 "));
  EXPECT_EQ(world_.store.revision(), before);
}

TEST_F(CatalogWritesTest, ARecordIsBounded) {
  const std::string output(300'000, 'x');
  EXPECT_THAT(world_.Register(R"({"Node":"n","Address":"a","Check":{"Name":"c","Output":")" +
                              output + R"("}})"),
              StartsWith("413 "));
}

TEST_F(CatalogWritesTest, AnAgentsNodeStaysItsOwn) {
  world_.Register(R"({"Node":"n1","Address":"10.9.9.9","Service":{"Service":"stray"}})");
  EXPECT_FALSE(world_.copy.Node("n1").node->is_external);
  EXPECT_EQ(world_.Get("/v1/health/node/n1")[0]["CheckID"], "serfHealth");
}

TEST_F(CatalogWritesTest, AnotherIdUnderTheNameOfANodeThatLivesIsRefused) {
  world_.PutNode(
      {.node = "n1", .details = {.id = "8d0b2a53-d23b-4927-9d31-89f977b0a271", .address = "a"}});
  const std::string body =
      R"({"Node":"n1","Address":"b","ID":"11111111-d23b-4927-9d31-89f977b0a271"})";
  EXPECT_THAT(world_.Register(body), StartsWith("500 Node name n1 is reserved by node 8d0b2a53"));
  world_.Delete(world_.keys.Life("n1"));
  EXPECT_EQ(world_.Register(body), "200 true");
}

TEST_F(CatalogWritesTest, DeregistrationsOfAServiceACheckAndANode) {
  world_.Register(R"({"Node":"ext","Address":"a","Service":{"Service":"s"},
      "Checks":[{"Name":"c","ServiceID":"s"},{"Name":"ping"}]})");
  world_.Register(R"({"Node":"ext","Address":"a","Service":{"Service":"t"}})");
  world_.PutSession({.id = "s1", .node = "ext"});
  world_.PutSession({.id = "s2", .node = "n1"});
  EXPECT_EQ(world_.Deregister(R"({"Node":"ext","CheckID":"c"})"), "200 true");
  EXPECT_THAT(Members(world_.Get("/v1/health/node/ext"), "CheckID"), ElementsAre("ping"));
  EXPECT_EQ(world_.Deregister(R"({"Node":"ext","CheckID":"ping"})"), "200 true");
  EXPECT_THAT(world_.Get("/v1/health/node/ext"), IsEmpty());
  EXPECT_EQ(world_.Deregister(R"({"Node":"ext","ServiceID":"s"})"), "200 true");
  EXPECT_THAT(world_.Get("/v1/catalog/service/s"), IsEmpty());
  EXPECT_EQ(world_.Deregister(R"({"Node":"ext"})"), "200 true");
  EXPECT_EQ(world_.Get("/v1/catalog/node/ext"), nullptr);
  EXPECT_THAT(world_.Get("/v1/catalog/service/t"), IsEmpty());
  EXPECT_EQ(world_.copy.Session("s1"), nullptr);
  EXPECT_NE(world_.copy.Session("s2"), nullptr);
  EXPECT_NE(world_.copy.Node("n1").node, nullptr);
}

TEST_F(CatalogWritesTest, WhatIsNotThereIsDeregisteredToo) {
  const std::int64_t before = world_.store.revision();
  for (const char* body : {R"({"Node":"none"})", R"({"Node":"n1","ServiceID":"none"})",
                           R"({"Node":"n1","CheckID":"none"})", R"({"node":"none"})"})
    EXPECT_EQ(world_.Deregister(body), "200 true") << body;
  EXPECT_EQ(world_.store.revision(), before);
  EXPECT_EQ(world_.Deregister(R"({"ServiceID":"web"})"), "500 Must provide node");
  EXPECT_NE(world_.copy.Service("n1", "web"), nullptr);
}

TEST_F(CatalogWritesTest, WritesNeedTheirTokensPermission) {
  const std::string body = R"({"Node":"ext","Address":"a"})";
  EXPECT_EQ(world_.Ask("PUT", "/v1/catalog/register", body, "unknown")->line(),
            "403 ACL not found");
  EXPECT_EQ(world_.Ask("PUT", "/v1/catalog/deregister", body, "forbidden")->line(),
            "403 Permission denied: etcdserver: permission denied");
  EXPECT_EQ(world_.Ask("PUT", "/v1/catalog/register", body, "good")->line(), "200 true");
}

}  // namespace
}  // namespace kvorum::consul
