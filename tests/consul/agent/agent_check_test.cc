// /v1/agent/check and maintenance, and what the agent tells about itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sync/agent/agent_state.h"
#include "tests/consul/agent/agent_world.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using ConsulAgentCheck = AgentWorld;

constexpr const char* kServicePath = "/v1/agent/service/register";
constexpr const char* kCheckTarget = "/v1/agent/check/register";

TEST_F(ConsulAgentCheck, OfTheNodeStandsInTheNodesRecord) {
  EXPECT_EQ(Put(kCheckTarget, R"({"Name":"disk","TTL":"10s","Notes":"n"})"), "200 ");
  EXPECT_EQ(Put("/v1/agent/check/pass/disk?note=fine"), "200 ");
  executor_.Advance(1s);
  const auto node = DecodeNode("n1", store_.ValueOf("/r/registry/node/n1"));
  ASSERT_TRUE(node.has_value());
  ASSERT_EQ(node->checks.size(), 1U);
  EXPECT_EQ(node->checks[0].id, "disk");
  EXPECT_EQ(node->checks[0].health, Health::kPassing);
  EXPECT_EQ(node->checks[0].notes, "n");
  EXPECT_EQ(Put("/v1/agent/check/deregister/disk"), "200 ");
  EXPECT_TRUE(DecodeNode("n1", store_.ValueOf("/r/registry/node/n1"))->checks.empty());
}

TEST_F(ConsulAgentCheck, OfAServiceStandsWithIt) {
  Put(kServicePath, R"({"Name":"web","Tags":["t"]})");
  EXPECT_EQ(Put(kCheckTarget, R"({"ID":"up","Name":"is up","ServiceID":"web","TTL":"10s"})"),
            "200 ");
  const Json check = GetJson("/v1/agent/checks")["up"];
  EXPECT_EQ(check["ServiceID"], "web");
  EXPECT_EQ(check["ServiceName"], "web");
  EXPECT_EQ(check["ServiceTags"].dump(), R"(["t"])");
  EXPECT_EQ(check["Name"], "is up");
  EXPECT_EQ(check["Type"], "ttl");
  EXPECT_EQ(Kept("web")->checks.size(), 1U);
  EXPECT_EQ(Put("/v1/agent/check/deregister/up"), "200 ");
  EXPECT_TRUE(Kept("web")->checks.empty());
}

TEST_F(ConsulAgentCheck, RefusalsHaveTheApisTexts) {
  EXPECT_EQ(Put(kCheckTarget, R"({"TTL":"10s"})"), "400 Missing check name");
  EXPECT_EQ(Put(kCheckTarget, R"({"Name":"x","TTL":"10s","Status":"x"})"), "400 Bad check status");
  EXPECT_EQ(Put(kCheckTarget, R"({"Name":"x"})"),
            "400 Invalid check: TTL must be > 0 for TTL checks");
  EXPECT_EQ(Put(kCheckTarget, R"({"Name":"x","TTL":"10s","ServiceID":"web"})"),
            "404 ServiceID \"web\" does not exist");
  EXPECT_EQ(Put(kCheckTarget, R"({"Name":"serfHealth","TTL":"10s"})"),
            "400 Invalid check: serfHealth is the catalog's own check");
  EXPECT_EQ(Put(kServicePath, R"({"Name":"x","Check":{"CheckID":"serfHealth","TTL":"10s"}})"),
            "400 Invalid check: serfHealth is the catalog's own check");
  constexpr const char* kUnknown =
      "404 Unknown check ID \"x\". Ensure that the check ID is passed, not the check name.";
  for (const char* what : {"deregister", "pass", "warn", "fail"})
    EXPECT_EQ(Put(std::string("/v1/agent/check/") + what + "/x"), kUnknown) << what;
  EXPECT_EQ(Put("/v1/agent/check/update/x", R"({"Status":"passing"})"), kUnknown);
  Put(kCheckTarget, R"({"Name":"probed","TCP":"h:1","Interval":"10s"})");
  EXPECT_EQ(Put("/v1/agent/check/pass/probed"),
            "500 CheckID \"probed\" does not have associated TTL");
  Put(kCheckTarget, R"({"Name":"t","TTL":"10s"})");
  EXPECT_EQ(Put("/v1/agent/check/update/t", R"({"Status":"fine"})"),
            "400 Invalid check status: 'fine'");
  EXPECT_EQ(Put("/v1/agent/check/update/t", "{}"), "400 Invalid check status: ''");
  EXPECT_THAT(Put("/v1/agent/check/update/t", R"({"Status":1})"),
              StartsWith("400 Request decode failed: "));
}

TEST_F(ConsulAgentCheck, AReportSetsStatusAndOutput) {
  Put(kCheckTarget, R"({"Name":"t","TTL":"10s"})");
  EXPECT_EQ(StatusOf("t"), "critical");
  EXPECT_EQ(Put("/v1/agent/check/warn/t?note=hot"), "200 ");
  EXPECT_EQ(StatusOf("t"), "warning");
  EXPECT_EQ(OutputOf("t"), "hot");
  EXPECT_EQ(Put("/v1/agent/check/fail/t"), "200 ");
  EXPECT_EQ(StatusOf("t"), "critical");
  EXPECT_EQ(Put("/v1/agent/check/update/t", R"({"Status":"passing","Output":"cool"})"), "200 ");
  EXPECT_EQ(StatusOf("t"), "passing");
  EXPECT_EQ(OutputOf("t"), "cool");
  executor_.Advance(11s);
  EXPECT_EQ(StatusOf("t"), "critical");
  EXPECT_EQ(OutputOf("t"), "TTL expired (last output before timeout follows): cool");
}

TEST_F(ConsulAgentCheck, ALongOutputIsCutAndSaysSo) {
  Put(kCheckTarget, R"({"Name":"t","TTL":"10s"})");
  Put("/v1/agent/check/update/t",
      R"({"Status":"passing","Output":")" + std::string(100'000, 'x') + "\"}");
  EXPECT_EQ(OutputOf("t"), std::string(4096, 'x') + " ... (captured 4096 of 100000 bytes)");
}

TEST_F(ConsulAgentCheck, AnOutputIsAsLongAsItsCheckSays) {
  Put(kCheckTarget, R"({"Name":"t","TTL":"10s","OutputMaxSize":5})");
  Put("/v1/agent/check/pass/t?note=0123456789");
  EXPECT_EQ(OutputOf("t"), "01234 ... (captured 5 of 10 bytes)");
  Put("/v1/agent/check/update/t", R"({"Status":"warning","Output":"01234"})");
  EXPECT_EQ(OutputOf("t"), "01234");
  EXPECT_EQ(Put("/v1/agent/check/update/none", R"({"Status":"warning"})").substr(0, 4), "404 ");
}

TEST_F(ConsulAgentCheck, AnOutputThatIsTooLongIsCutWithAWordAboutIt) {
  Put(kCheckTarget, R"({"Name":"t","TTL":"1h"})");
  const auto report = [&](const std::string& output) {
    EXPECT_EQ(
        Put("/v1/agent/check/update/t", Json{{"Status", "passing"}, {"Output", output}}.dump()),
        "200 ");
    return OutputOf("t");
  };
  const std::string whole(4096, 'x');
  const std::string mebibyte(std::size_t{1} << 20U, 'x');
  EXPECT_EQ(report(whole), whole);
  EXPECT_EQ(report(whole + "y"), whole + " ... (captured 4096 of 4097 bytes)");
  EXPECT_EQ(report(mebibyte), whole + " ... (captured 4096 of 1048576 bytes)");
  executor_.Advance(10min);
  EXPECT_EQ(DecodeNode("n1", store_.ValueOf("/r/registry/node/n1"))->checks[0].output,
            OutputOf("t"));
  // Not within a character.
  const std::string before(4095, 'x');
  EXPECT_EQ(report(before + "\xc3\xa4\xc3\xa4"), before + " ... (captured 4095 of 4099 bytes)");
  EXPECT_EQ(Put("/v1/agent/check/warn/t?note=" + whole + "y"), "200 ");
  EXPECT_EQ(OutputOf("t"), whole + " ... (captured 4096 of 4097 bytes)");
  // This route takes more than the others do.
  for (const Route& route : handlers_) {
    const bool is_report = route.path == "/v1/agent/check/update/";
    EXPECT_EQ(route.max_body_bytes > mebibyte.size() + 1000, is_report) << route.path;
  }
}

TEST_F(ConsulAgentCheck, ARegistrationAgainKeepsTheStatus) {
  Put(kCheckTarget, R"({"Name":"t","TTL":"10s","Status":"passing"})");
  EXPECT_EQ(StatusOf("t"), "passing");
  Put("/v1/agent/check/warn/t?note=x");
  Put(kCheckTarget, R"({"Name":"t","TTL":"20s"})");
  EXPECT_EQ(StatusOf("t"), "warning");
  EXPECT_EQ(OutputOf("t"), "x");
}

TEST_F(ConsulAgentCheck, AProbedOneIsProbed) {
  Put(kCheckTarget, R"({"Name":"p","HTTP":"http://h/","Interval":"10s"})");
  EXPECT_EQ(StatusOf("p"), "critical");
  executor_.Advance(11s);
  EXPECT_EQ(prober_.probed.front(), "p");
  EXPECT_EQ(StatusOf("p"), "passing");
}

TEST_F(ConsulAgentCheck, AServiceThatStaysCriticalIsDeregistered) {
  Put(kServicePath,
      R"({"Name":"web","Check":{"TTL":"10s","DeregisterCriticalServiceAfter":"90s"}})");
  Put(kServicePath, R"({"Name":"db","Check":{"TTL":"10s"}})");
  executor_.Advance(60s);
  EXPECT_EQ(Put("/v1/agent/check/pass/service:web"), "200 ");
  executor_.Advance(60s);  // critical again after ten of them
  EXPECT_EQ(GetJson("/v1/agent/services").size(), 2U);
  executor_.Advance(30s);
  EXPECT_EQ(GetJson("/v1/agent/services").size(), 2U);
  executor_.Advance(16s);
  EXPECT_EQ(GetJson("/v1/agent/services").size(), 1U);
  executor_.Advance(1s);
  EXPECT_FALSE(Kept("web").has_value());
  EXPECT_TRUE(Kept("db").has_value());
}

TEST_F(ConsulAgentCheck, MaintenanceOfAServiceIsACriticalCheck) {
  Put(kServicePath, R"({"Name":"web"})");
  const std::string target = "/v1/agent/service/maintenance/web";
  EXPECT_EQ(Put("/v1/agent/service/maintenance/"), "400 Missing service ID");
  EXPECT_EQ(Put(target), "400 Missing value for enable");
  EXPECT_EQ(Put(target + "?enable=x"), "400 Invalid value for enable: \"x\"");
  EXPECT_THAT(Put("/v1/agent/service/maintenance/x?enable=true"),
              StartsWith("404 Unknown service ID \"x\""));
  EXPECT_EQ(Put(target + "?enable=true&reason=why"), "200 ");
  const std::string id = "_service_maintenance:web";
  Json check = GetJson("/v1/agent/checks")[id];
  EXPECT_EQ(check["Name"], "Service Maintenance Mode");
  EXPECT_EQ(check["Status"], "critical");
  EXPECT_EQ(check["Type"], "maintenance");
  EXPECT_EQ(check["Notes"], "why");
  EXPECT_EQ(check["ServiceID"], "web");
  EXPECT_EQ(Put(target + "?enable=true&reason=other"), "200 ");
  EXPECT_EQ(GetJson("/v1/agent/checks")[id]["Notes"], "why");
  EXPECT_EQ(Put("/v1/agent/check/pass/" + id),
            "500 CheckID \"" + id + "\" does not have associated TTL");
  EXPECT_EQ(Put(target + "?enable=false"), "200 ");
  EXPECT_EQ(StatusOf(id), "none");
  EXPECT_EQ(Put(target + "?enable=false"), "200 ");
}

TEST_F(ConsulAgentCheck, MaintenanceOfTheNodeSurvivesARestart) {
  EXPECT_EQ(Put("/v1/agent/maintenance"), "400 Missing value for enable");
  EXPECT_EQ(Put("/v1/agent/maintenance?enable=maybe"), "400 Invalid value for enable: \"maybe\"");
  EXPECT_EQ(Put("/v1/agent/maintenance?enable=true"), "200 ");
  EXPECT_EQ(GetJson("/v1/agent/checks")["_node_maintenance"]["Notes"],
            "Maintenance mode is enabled for this node, but no reason was provided. This is a "
            "default message.");
  executor_.Advance(2s);
  const auto state = sync::DecodeState(saved_);
  ASSERT_TRUE(state.has_value());
  End();
  Begin(*state);
  EXPECT_EQ(StatusOf("_node_maintenance"), "critical");
  EXPECT_EQ(Put("/v1/agent/maintenance?enable=false"), "200 ");
  EXPECT_EQ(StatusOf("_node_maintenance"), "none");
}

TEST_F(ConsulAgentCheck, TheAgentTellsWhoItIs) {
  const Json self = GetJson("/v1/agent/self");
  EXPECT_EQ(self["Config"]["Datacenter"], "dc1");
  EXPECT_EQ(self["Config"]["NodeName"], "n1");
  EXPECT_EQ(self["Config"]["NodeID"], NodeIdOf("n1"));
  EXPECT_EQ(self["Config"]["Server"], false);
  EXPECT_EQ(self["Member"]["Addr"], "10.0.0.1");
  EXPECT_EQ(self["Member"]["Status"], 1);
  EXPECT_TRUE(self["DebugConfig"].is_object());
  for (const auto& [group, values] : self["Stats"].items()) {
    for (const auto& [name, value] : values.items()) EXPECT_TRUE(value.is_string()) << name;
  }
  const Json members = GetJson("/v1/agent/members");
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members[0]["Name"], "n1");
  EXPECT_EQ(GetJson("/v1/agent/version")["HumanVersion"], "1.0.0");
  EXPECT_TRUE(GetJson("/v1/agent/host").is_object());
  EXPECT_THAT(GetJson("/v1/agent/metrics")["Timestamp"].get<std::string>(), EndsWith(" +0000 UTC"));
}

TEST_F(ConsulAgentCheck, ReloadAndLeaveAreTheAgents) {
  EXPECT_EQ(Put("/v1/agent/reload"), "200 ");
  reload_ = Fail(Code::kInvalidArgument, "bad file");
  EXPECT_EQ(Put("/v1/agent/reload"), "500 bad file");
  Put(kServicePath, R"({"Name":"web"})");
  EXPECT_TRUE(Kept("web").has_value());
  EXPECT_EQ(Put("/v1/agent/leave"), "200 ");
  EXPECT_TRUE(has_left_);
  EXPECT_FALSE(Kept("web").has_value());
}

TEST_F(ConsulAgentCheck, WhatAgentsDoNotHaveIsRefusedByName) {
  EXPECT_THAT(Put("/v1/agent/join/x"), StartsWith("501 agent/join is not supported"));
  EXPECT_THAT(Put("/v1/agent/token/default"), StartsWith("501 agent/token is not supported"));
  EXPECT_EQ(Put("/v1/agent/force-leave/x"), "501 agent/force-leave is not supported here");
  EXPECT_EQ(Put("/v1/agent/force-leave/"), "400 Missing node name");
}

class ConsulAgentFellows : public AgentWorld {
 protected:
  AgentParts Parts() override {
    AgentParts parts = AgentWorld::Parts();
    parts.nodes = [] {
      const auto node = [](NodeRecord record) {
        return std::make_shared<const NodeRecord>(std::move(record));
      };
      return std::vector<NodeView>{
          {.node = node({.node = "dead", .details = {.address = "10.0.0.9"}})},
          {.node = node({.node = "ext", .is_external = true})},
          {.node = node({.node = "n2"}), .is_alive = true}};
    };
    parts.on_force_leave = [this](const std::string& name, AgentParts::OnRemoved on_removed) {
      removed_.push_back(name);
      on_removed(removal_);
    };
    return parts;
  }
  std::vector<std::string> removed_;
  Result<void> removal_ = {};
};

TEST_F(ConsulAgentFellows, AreMembersAliveOrFailed) {
  const Json members = GetJson("/v1/agent/members");
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0]["Name"], "dead");
  EXPECT_EQ(members[0]["Status"], 4);
  EXPECT_EQ(members[1]["Name"], "n2");
  EXPECT_EQ(members[1]["Status"], 1);
  EXPECT_EQ(members[2]["Name"], "n1");
}

TEST_F(ConsulAgentFellows, AreRemovedByForce) {
  EXPECT_EQ(Put("/v1/agent/force-leave/dead"), "200 ");
  EXPECT_EQ(removed_, std::vector<std::string>{"dead"});
  removal_ = Fail(Code::kNotFound, "no such node");
  EXPECT_EQ(Put("/v1/agent/force-leave/x"), "500 agent: No node found with name 'x'");
}

}  // namespace
}  // namespace kvorum::consul
