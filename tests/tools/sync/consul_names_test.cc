// Consul's names in DNS find in a copy of the registry what lives and has no critical check.
#include "tools/sync/consul_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/consul/catalog_world.h"

namespace kvorum::ctl {
namespace {

using consul::CheckRecord;
using consul::NodeRecord;
using sync::Health;
using testing::IsEmpty;
using testing::SizeIs;

class DnsOfTheRegistry : public testing::Test {
 protected:
  DnsOfTheRegistry() { world_.Start(); }
  // A node whose agent lives, with a service of the name.
  void Add(const std::string& node, const std::string& service, consul::ServiceDetails details = {},
           Health health = Health::kPassing) {
    PutNode(node);
    world_.PutLife(node);
    world_.PutService({.node = node,
                       .id = service,
                       .name = service,
                       .details = std::move(details),
                       .checks = {{.id = "up", .health = health}}});
  }
  void PutNode(const std::string& node, std::vector<CheckRecord> checks = {},
               bool is_external = false) {
    world_.PutNode({.node = node,
                    .is_external = is_external,
                    .details = {.address = "10.1.0.1", .meta = {{"rack", "a"}}},
                    .checks = std::move(checks)});
  }

  consul::CatalogWorld world_;
  ConsulNames names_{world_.copy};
};

TEST_F(DnsOfTheRegistry, NothingIsKnownBeforeTheFirstList) {
  consul::CatalogWorld other;
  ConsulNames names(other.copy);
  EXPECT_EQ(names.revision(), 0);
  EXPECT_THAT(names.Instances("web", ""), IsEmpty());
  other.Start();
  EXPECT_GT(names.revision(), 0);
}

TEST_F(DnsOfTheRegistry, AnInstanceHasItsNodesAddressItsOwnAndItsPort) {
  Add("n1", "web", {.address = "10.2.0.1", .port = 80});
  const auto found = names_.Instances("web", "");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].node.name, "n1");
  EXPECT_EQ(found[0].node.address, dns::Host(dns::Ipv4{10, 1, 0, 1}));
  EXPECT_EQ(found[0].address, dns::Host(dns::Ipv4{10, 2, 0, 1}));
  EXPECT_EQ(found[0].port, 80);
  Add("n2", "db");
  EXPECT_EQ(names_.Instances("db", "")[0].address, std::nullopt);
}

TEST_F(DnsOfTheRegistry, ADeadAgentsInstancesAndNodeAreLeftOut) {
  Add("n1", "web");
  ASSERT_TRUE(names_.Node("n1"));
  world_.Delete(world_.keys.Life("n1"));
  EXPECT_THAT(names_.Instances("web", ""), IsEmpty());
  EXPECT_FALSE(names_.Node("n1"));
  world_.PutLife("n1");
  EXPECT_THAT(names_.Instances("web", ""), SizeIs(1));
}

TEST_F(DnsOfTheRegistry, ANodeWithoutAnAgentLives) {
  PutNode("far", {}, /*is_external=*/true);
  world_.PutService({.node = "far", .id = "web", .name = "web"});
  EXPECT_THAT(names_.Instances("web", ""), SizeIs(1));
  EXPECT_TRUE(names_.Node("far"));
}

TEST_F(DnsOfTheRegistry, ACriticalCheckOfTheServiceOrItsNodeLeavesItOut) {
  Add("n1", "web", {}, Health::kCritical);
  EXPECT_THAT(names_.Instances("web", ""), IsEmpty());
  Add("n1", "web", {}, Health::kWarning);
  EXPECT_THAT(names_.Instances("web", ""), SizeIs(1));
  PutNode("n1", {{.id = "disk", .health = Health::kCritical}});
  EXPECT_THAT(names_.Instances("web", ""), IsEmpty());
  EXPECT_TRUE(names_.Node("n1")) << "it lives";
}

TEST_F(DnsOfTheRegistry, AnAddressIsOfTheNodeThatLivesOrElseOfAService) {
  const auto owner = [&](std::uint8_t third, std::uint8_t last) {
    const ConsulNames names(world_.copy);  // its table of addresses is as of now
    const auto found = names.OwnerOf(dns::Ipv4{10, third, 0, last});
    return found ? (found->is_node ? "node " : "service ") + found->name : "none";
  };
  EXPECT_EQ(owner(1, 1), "none");
  Add("n1", "web", {.address = "10.2.0.1", .port = 80});
  Add("n2", "db", {.address = "10.1.0.1"});
  EXPECT_EQ(owner(1, 1), "node n1");
  EXPECT_EQ(owner(2, 1), "service web");
  EXPECT_EQ(owner(2, 2), "none");
  world_.Delete(world_.keys.Life("n1"));
  EXPECT_EQ(owner(1, 1), "node n2");
  EXPECT_EQ(owner(2, 1), "none");
  EXPECT_FALSE(names_.OwnerOf(dns::Name{"n1"}));
}

TEST_F(DnsOfTheRegistry, ATableOfAddressesIsAtMostASecondOld) {
  const dns::Host address = dns::Ipv4{10, 1, 0, 1};
  EXPECT_FALSE(names_.OwnerOf(address));
  Add("n1", "web");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!names_.OwnerOf(address)) ASSERT_LT(std::chrono::steady_clock::now(), end);
}

TEST_F(DnsOfTheRegistry, TheWeightIsThatOfTheStatus) {
  Add("n1", "web", {.weight_passing = 10, .weight_warning = 3});
  EXPECT_EQ(names_.Instances("web", "")[0].weight, 10);
  PutNode("n1", {{.id = "disk", .health = Health::kWarning}});
  EXPECT_EQ(names_.Instances("web", "")[0].weight, 3);
}

TEST_F(DnsOfTheRegistry, NamesAndTagsAreFoundInAnyCase) {
  Add("N1", "Web", {.tags = {"V1.Blue"}});
  Add("n2", "web");
  EXPECT_THAT(names_.Instances("web", ""), SizeIs(2));
  EXPECT_THAT(names_.Instances("web", "v1.blue"), SizeIs(1));
  EXPECT_THAT(names_.Instances("web", "green"), IsEmpty());
  const auto node = names_.Node("n1");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->name, "N1");
  EXPECT_THAT(node->meta, testing::ElementsAre(testing::Pair("rack", "a")));
  world_.Delete(world_.keys.Service("n2", "web"));
  EXPECT_THAT(names_.Instances("web", ""), SizeIs(1));
}

}  // namespace
}  // namespace kvorum::ctl
