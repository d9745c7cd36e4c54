// Records as the API writes them, to the byte.
#include "consul/model/api_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace kvorum::consul {
namespace {

NodeRecord Node() {
  return {.node = "n1",
          .details = {.id = "8d0b2a53-d23b-4927-9d31-89f977b0a271",
                      .address = "10.1.0.1",
                      .tagged_addresses = TaggedAddressesOf("10.1.0.1"),
                      .meta = {{"consul-network-segment", ""}}},
          .create_revision = 12,
          .mod_revision = 14};
}

ServiceRecord Web() {
  return {.node = "n1",
          .id = "web-1",
          .name = "web",
          .details = {.tags = {"a"}, .port = 8080},
          .checks = {{.id = "service:web-1",
                      .health = Health::kPassing,
                      .name = "Service 'web' check",
                      .type = "http",
                      .interval = "10s"}},
          .create_revision = 20,
          .mod_revision = 31};
}

TEST(ConsulJson, ANodeHasAllItsFields) {
  EXPECT_EQ(NodeJson(Node(), "dc1").dump(),
            R"({"ID":"8d0b2a53-d23b-4927-9d31-89f977b0a271","Node":"n1","Address":"10.1.0.1",)"
            R"("Datacenter":"dc1","TaggedAddresses":{"lan":"10.1.0.1","lan_ipv4":"10.1.0.1",)"
            R"("wan":"10.1.0.1","wan_ipv4":"10.1.0.1"},"Meta":{"consul-network-segment":""},)"
            R"("CreateIndex":12,"ModifyIndex":14})");
  EXPECT_EQ(NodeJson({.node = "x"}, "dc2").dump(),
            R"({"ID":"","Node":"x","Address":"","Datacenter":"dc2","TaggedAddresses":null,)"
            R"("Meta":null,"CreateIndex":0,"ModifyIndex":0})");
}

TEST(ConsulJson, AServiceOfANodeLeavesOutWhatIsEmpty) {
  EXPECT_EQ(NodeServiceJson(Web()).dump(),
            R"({"ID":"web-1","Service":"web","Tags":["a"],"Address":"","Meta":null,"Port":8080,)"
            R"("Weights":{"Passing":1,"Warning":1},"EnableTagOverride":false,)"
            R"("Proxy":{"Mode":"","MeshGateway":{},"Expose":{}},"Connect":{},"PeerName":"",)"
            R"("CreateIndex":20,"ModifyIndex":31})");
  ServiceRecord full = Web();
  full.details = {.kind = "k",
                  .tags = {},
                  .address = "10.0.0.2",
                  .tagged_addresses = {{"lan", {.address = "10.0.0.2", .port = 80}}},
                  .meta = {{"v", "1"}},
                  .port = 0,
                  .socket_path = "/s",
                  .weight_passing = 2,
                  .weight_warning = 0,
                  .enable_tag_override = true};
  EXPECT_EQ(NodeServiceJson(full).dump(),
            R"({"Kind":"k","ID":"web-1","Service":"web","Tags":[],"Address":"10.0.0.2",)"
            R"("TaggedAddresses":{"lan":{"Address":"10.0.0.2","Port":80}},"Meta":{"v":"1"},)"
            R"("SocketPath":"/s","Weights":{"Passing":2,"Warning":0},"EnableTagOverride":true,)"
            R"("Proxy":{"Mode":"","MeshGateway":{},"Expose":{}},"Connect":{},"PeerName":"",)"
            R"("CreateIndex":20,"ModifyIndex":31})");
}

TEST(ConsulJson, AnInstanceInTheCatalogHasItsNodeAndItself) {
  EXPECT_EQ(ServiceNodeJson(Web(), Node(), "dc1").dump(),
            R"({"ID":"8d0b2a53-d23b-4927-9d31-89f977b0a271","Node":"n1","Address":"10.1.0.1",)"
            R"("Datacenter":"dc1","TaggedAddresses":{"lan":"10.1.0.1","lan_ipv4":"10.1.0.1",)"
            R"("wan":"10.1.0.1","wan_ipv4":"10.1.0.1"},"NodeMeta":{"consul-network-segment":""},)"
            R"("ServiceKind":"","ServiceID":"web-1","ServiceName":"web","ServiceTags":["a"],)"
            R"("ServiceAddress":"","ServiceWeights":{"Passing":1,"Warning":1},)"
            R"("ServiceMeta":null,"ServicePort":8080,"ServiceSocketPath":"",)"
            R"("ServiceEnableTagOverride":false,)"
            R"("ServiceProxy":{"Mode":"","MeshGateway":{},"Expose":{}},"ServiceConnect":{},)"
            R"("CreateIndex":20,"ModifyIndex":31})");
}

TEST(ConsulJson, AChecksDefinitionIsAnObjectAndItsTagsAList) {
  EXPECT_EQ(SerfHealthJson(Node(), true, 12).dump(),
            R"({"Node":"n1","CheckID":"serfHealth","Name":"Serf Health Status",)"
            R"("Status":"passing","Notes":"","Output":"Agent alive and reachable",)"
            R"("ServiceID":"","ServiceName":"","ServiceTags":[],"Type":"","Interval":"",)"
            R"("Timeout":"","ExposedPort":0,"Definition":{},"CreateIndex":12,"ModifyIndex":12})");
  const ServiceRecord web = Web();
  EXPECT_EQ(CheckJson(web, web.checks[0]).dump(),
            R"({"Node":"n1","CheckID":"service:web-1","Name":"Service 'web' check",)"
            R"("Status":"passing","Notes":"","Output":"","ServiceID":"web-1",)"
            R"("ServiceName":"web","ServiceTags":["a"],"Type":"http","Interval":"10s",)"
            R"("Timeout":"","ExposedPort":0,"Definition":{},"CreateIndex":20,"ModifyIndex":31})");
  const Json dead = SerfHealthJson(Node(), false, 40);
  EXPECT_EQ(dead["Status"], "critical");
  EXPECT_EQ(dead["Output"], "Agent not live or unreachable");
  EXPECT_EQ(dead["ModifyIndex"], 40);
  const CheckRecord external{.id = "up", .name = "up", .definition = R"({"HTTP":"http://x"})"};
  EXPECT_EQ(CheckJson(Node(), external)["Definition"].dump(), R"({"HTTP":"http://x"})");
}

TEST(ConsulJson, TheAgentWritesPortsOfZeroAndNoNullMeta) {
  ServiceRecord web = Web();
  web.details.port = 0;
  Json json = AgentServiceJson(web, "dc1");
  const std::string hash = json["ContentHash"].get<std::string>();
  EXPECT_EQ(hash.size(), 16U);
  json.erase("ContentHash");
  EXPECT_EQ(json.dump(),
            R"({"ID":"web-1","Service":"web","Tags":["a"],"Meta":{},"Port":0,"Address":"",)"
            R"("Weights":{"Passing":1,"Warning":1},"EnableTagOverride":false,"CreateIndex":0,)"
            R"("ModifyIndex":0,"Datacenter":"dc1"})");
  EXPECT_EQ(AgentServiceJson(web, "dc1")["ContentHash"], hash);
  web.details.tags = {"b"};
  EXPECT_NE(AgentServiceJson(web, "dc1")["ContentHash"], hash);
}

TEST(ConsulJson, ASessionsDelayIsANumberAndItsTimeToLiveAText) {
  EXPECT_EQ(SessionJson({.id = "u", .node = "n1", .node_checks = {"serfHealth"}}).dump(),
            R"({"ID":"u","Name":"","Node":"n1","LockDelay":15000000000,"Behavior":"release",)"
            R"("TTL":"","NodeChecks":["serfHealth"],"ServiceChecks":null,"CreateIndex":0,)"
            R"("ModifyIndex":0})");
  const Json json = SessionJson({.id = "u", .node = "n1", .service_checks = {"c"}});
  EXPECT_EQ(json["NodeChecks"].dump(), "[]");
  EXPECT_EQ(json["ServiceChecks"].dump(), R"([{"ID":"c","Namespace":""}])");
}

TEST(ConsulJson, TheWorstCheckCountsAndMaintenanceBeforeAll) {
  const auto status = [](std::vector<CheckRecord> checks) {
    return std::string(AggregatedStatus(checks));
  };
  const CheckRecord passing{.id = "a", .health = Health::kPassing};
  const CheckRecord warning{.id = "b", .health = Health::kWarning};
  const CheckRecord critical{.id = "c"};
  EXPECT_EQ(status({}), "passing");
  EXPECT_EQ(status({passing, warning}), "warning");
  EXPECT_EQ(status({critical, warning}), "critical");
  EXPECT_EQ(status({critical, {.id = "_node_maintenance"}}), "maintenance");
  EXPECT_EQ(status({{.id = "_service_maintenance:web"}, passing}), "maintenance");
}

TEST(ConsulJson, ANodesIdIsAUuidOfItsName) {
  const std::string id = NodeIdOf("n1");
  EXPECT_EQ(id.size(), 36U);
  EXPECT_EQ(id[14], '5');
  EXPECT_EQ(id, NodeIdOf("n1"));
  EXPECT_NE(id, NodeIdOf("n2"));
  for (const std::size_t at : {8U, 13U, 18U, 23U}) EXPECT_EQ(id[at], '-');
}

TEST(ConsulJson, AnAddressIsTaggedByItsKind) {
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(TaggedAddressesOf(""), Map());
  EXPECT_EQ(TaggedAddressesOf("::1"),
            (Map{{"lan", "::1"}, {"lan_ipv6", "::1"}, {"wan", "::1"}, {"wan_ipv6", "::1"}}));
  EXPECT_EQ(TaggedAddressesOf("host"), (Map{{"lan", "host"}, {"wan", "host"}}));
  EXPECT_EQ(IpVersion(std::string_view("1.2.3.4\0x", 9)), 0);
}

}  // namespace
}  // namespace kvorum::consul
