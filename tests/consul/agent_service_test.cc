// /v1/agent/service: registering, deregistering and reading the agent's own services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/rng.h"
#include "sync/agent/agent_state.h"
#include "tests/consul/agent_world.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

using ConsulAgentService = AgentWorld;

constexpr const char* kServiceTarget = "/v1/agent/service/register";

TEST_F(ConsulAgentService, IsInTheCatalogWhenTheRegistrationIsAnswered) {
  const auto answer =
      Ask("PUT", kServiceTarget, R"({"Name":"web","ID":"w.1","Port":80,"Tags":["a"]})");
  executor_.Advance(100ms);
  EXPECT_EQ(answer->line(), "200 ");
  const auto kept = Kept("w.1");
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->name, "web");
  EXPECT_EQ(kept->details.port, 80);
  EXPECT_THAT(store_.ValueOf("/r/services/web/n1.w%2E1"), HasSubstr("10.0.0.1:80"));
  EXPECT_THAT(Get("/v1/agent/service/w.1"), StartsWith(R"(200 {"ID":"w.1","Service":"web")"));
}

TEST_F(ConsulAgentService, IsAnsweredAfterAFewSecondsWithoutTheStore) {
  syncer_->pause().Acquire();
  const auto answer = Ask("PUT", kServiceTarget, R"({"Name":"web"})");
  executor_.Advance(2s);
  EXPECT_FALSE(answer->is_answered());
  executor_.Advance(1100ms);
  EXPECT_EQ(answer->line(), "200 ");
  EXPECT_FALSE(Kept("web").has_value());
  syncer_->pause().Release();
  executor_.Advance(1s);
  EXPECT_TRUE(Kept("web").has_value());
}

TEST_F(ConsulAgentService, ListsAreMapsById) {
  EXPECT_EQ(Get("/v1/agent/services"), "200 {}");
  EXPECT_EQ(Get("/v1/agent/checks"), "200 {}");
  Put(kServiceTarget, R"({"Name":"web","Check":{"TTL":"10s"}})");
  Put(kServiceTarget, R"({"Name":"db","Port":1})");
  EXPECT_EQ(Get("/v1/agent/services?filter=Port+%3D%3D+1"),
            R"(200 {"db":{"ID":"db","Service":"db","Tags":[],"Meta":{},"Port":1,"Address":"",)"
            R"("Weights":{"Passing":1,"Warning":1},"EnableTagOverride":false,"CreateIndex":0,)"
            R"("ModifyIndex":0,"Datacenter":"dc1"}})");
  EXPECT_EQ(GetJson("/v1/agent/services").size(), 2U);
  EXPECT_EQ(GetJson("/v1/agent/checks?filter=ServiceName==web").size(), 1U);
  EXPECT_EQ(GetJson("/v1/agent/checks?filter=ServiceName==db").size(), 0U);
  EXPECT_THAT(Get("/v1/agent/checks?filter=Foo==1"), StartsWith("400 Failed to create boolean"));
  EXPECT_THAT(Get("/v1/agent/services?filter=("), StartsWith("400 "));
}

TEST_F(ConsulAgentService, RefusalsChangeNothing) {
  EXPECT_EQ(Put(kServiceTarget, "{}"), "400 Missing service name");
  EXPECT_EQ(Put(kServiceTarget, R"({"Name":"w","Address":"0.0.0.0"})"),
            "400 Invalid service address");
  EXPECT_EQ(Put(kServiceTarget, R"({"Name":"w","Check":{"HTTP":"http://x"}})"),
            "400 Invalid check: Interval must be > 0 for Script, HTTP, H2PING, TCP, UDP or "
            "OSService checks");
  EXPECT_EQ(Put(kServiceTarget, R"({"Name":"w","Check":{"Args":["x"],"Interval":"1s"}})"),
            "400 Scripts are disabled on this agent; to enable, configure 'enable_script_checks' "
            "or 'enable_local_script_checks' to true");
  EXPECT_THAT(Put(kServiceTarget, "x"), StartsWith("400 Request decode failed: "));
  EXPECT_THAT(Put(kServiceTarget, ""), StartsWith("400 Request decode failed: "));
  EXPECT_EQ(Get("/v1/agent/services"), "200 {}");
}

TEST_F(ConsulAgentService, GarbageIsRefusedAndChangesNothing) {
  Put(kServiceTarget, R"({"Name":"web","Check":{"TTL":"10s"}})");
  const std::string before = Get("/v1/agent/services") + Get("/v1/agent/checks");
  Rng rng(2);
  for (int i = 0; i < 300; ++i) {
    std::string noise(rng() % 60, '\0');
    for (char& c : noise) c = static_cast<char>(rng() % 256);
    for (const char* target :
         {kServiceTarget, "/v1/agent/check/register", "/v1/agent/check/update/service:web"}) {
      const auto answer = Ask("PUT", target, noise);
      EXPECT_EQ(answer->status, 400U) << target << noise;
    }
  }
  for (const std::string& body :
       {std::string(200'000, '['), std::string(200'000, '{'), std::string(R"({"Name":{}})"),
        std::string(R"({"Name":"x","TTL":1e999})"), std::string(R"({"Name":"x","TTL":[]})"),
        std::string(R"({"Name":"x","Status":1})"), std::string("null"), std::string("[]"),
        std::string("7")}) {
    for (const char* target :
         {kServiceTarget, "/v1/agent/check/register", "/v1/agent/check/update/service:web"}) {
      if (body.starts_with(R"({"Name":"x")") && target == std::string(kServiceTarget)) continue;
      EXPECT_EQ(Ask("PUT", target, body)->status, 400U) << target << body.substr(0, 30);
    }
  }
  executor_.Advance(1s);
  EXPECT_EQ(Get("/v1/agent/services") + Get("/v1/agent/checks"), before);
}

TEST_F(ConsulAgentService, ChecksThatAreNotNamedStayUnlessTheyAreReplaced) {
  const std::string target = kServiceTarget;
  Put(target,
      R"({"Name":"web","Checks":[{"CheckID":"a","TTL":"10s"},{"CheckID":"b","TTL":"9s"}]})");
  Put("/v1/agent/check/pass/a?note=good");
  Put(target, R"({"Name":"web","Checks":[{"CheckID":"a","TTL":"20s"}]})");
  EXPECT_EQ(StatusOf("a"), "passing");  // and so it was, with another definition
  EXPECT_EQ(OutputOf("a"), "good");
  EXPECT_EQ(StatusOf("b"), "critical");
  Put(target + "?replace-existing-checks=true",
      R"({"Name":"web","Checks":[{"CheckID":"c","TTL":"20s","Status":"warning"}]})");
  EXPECT_EQ(StatusOf("a"), "none");
  EXPECT_EQ(StatusOf("b"), "none");
  EXPECT_EQ(StatusOf("c"), "warning");
  Put(target + "?replace-existing-checks", R"({"Name":"web"})");
  EXPECT_EQ(StatusOf("c"), "none");
  Put(target, R"({"Name":"web","Checks":[{"CheckID":"c","TTL":"20s"}]})");
  Put(target + "?replace-existing-checks=false", R"({"Name":"web"})");
  EXPECT_EQ(StatusOf("c"), "critical");
}

TEST_F(ConsulAgentService, ItsNameCanChangeUnderItsId) {
  Put(kServiceTarget, R"({"ID":"1","Name":"old"})");
  Put(kServiceTarget, R"({"ID":"1","Name":"new"})");
  EXPECT_EQ(Kept("1")->name, "new");
  EXPECT_EQ(store_.ValueOf("/r/services/old/n1.1"), "");
}

TEST_F(ConsulAgentService, ACheckBelongsToOneServiceOnly) {
  Put(kServiceTarget, R"({"Name":"a","Check":{"CheckID":"up","TTL":"10s"}})");
  Put(kServiceTarget, R"({"Name":"b","Check":{"CheckID":"up","TTL":"10s"}})");
  EXPECT_EQ(GetJson("/v1/agent/checks")["up"]["ServiceID"], "b");
  EXPECT_TRUE(Kept("a")->checks.empty());
  EXPECT_EQ(Kept("b")->checks.size(), 1U);
}

TEST_F(ConsulAgentService, IsGoneWhenTheDeregistrationIsAnswered) {
  Put(kServiceTarget, R"({"Name":"web","Check":{"TTL":"10s"}})");
  EXPECT_EQ(Put("/v1/agent/service/deregister/web"), "200 ");
  EXPECT_FALSE(Kept("web").has_value());
  EXPECT_EQ(Get("/v1/agent/services"), "200 {}");
  EXPECT_EQ(Put("/v1/agent/service/deregister/web"),
            "404 Unknown service ID \"web\". Ensure that the service ID is passed, not the service "
            "name.");
}

TEST_F(ConsulAgentService, IsReadWithAHashAndWaitedForByIt) {
  EXPECT_EQ(Get("/v1/agent/service/web"), "404 unknown service ID: web");
  Put(kServiceTarget, R"({"Name":"web"})");
  const auto first = Ask("GET", "/v1/agent/service/web");
  const std::string hash = first->header("X-Consul-ContentHash");
  EXPECT_EQ(first->json()["ContentHash"], hash);
  const std::string target = "/v1/agent/service/web?hash=" + hash + "&wait=10s";
  const auto waiting = Ask("GET", target);
  executor_.Advance(5s);
  EXPECT_FALSE(waiting->is_answered());
  Put(kServiceTarget, R"({"Name":"web","Port":1})");
  executor_.Advance(300ms);
  EXPECT_EQ(waiting->json()["Port"], 1);
  const auto other = Ask("GET", target);  // it has another hash already
  EXPECT_TRUE(other->is_answered());
  const std::string now = other->header("X-Consul-ContentHash");
  const auto over = Ask("GET", "/v1/agent/service/web?wait=10s&hash=" + now);
  executor_.Advance(11s);
  EXPECT_EQ(over->header("X-Consul-ContentHash"), now);
  const auto gone = Ask("GET", "/v1/agent/service/web?wait=10s&hash=" + now);
  Put("/v1/agent/service/deregister/web");
  executor_.Advance(1s);
  EXPECT_EQ(gone->status, 404U);
  EXPECT_EQ(Get("/v1/agent/service/web?wait=x"), "400 Invalid wait time");
}

TEST_F(ConsulAgentService, ItsHealthIsItsWorstCheck) {
  const std::string by_id = "/v1/agent/health/service/id/web";
  const std::string by_name = "/v1/agent/health/service/name/web";
  EXPECT_EQ(Get(by_id), R"(404 {"AggregatedStatus":"critical","Service":null,"Checks":null})");
  EXPECT_EQ(Get(by_id + "?format=text"), "404 ServiceId web not found");
  EXPECT_EQ(Get(by_name), "404 []");
  EXPECT_EQ(Get(by_name + "?format=text"), "404 ServiceName web Not Found");
  Put(kServiceTarget, R"({"Name":"web","Check":{"CheckID":"a","TTL":"10s","Status":"passing"}})");
  EXPECT_EQ(Get(by_id + "?format=text"), "200 passing");
  const Json json = GetJson(by_id);
  EXPECT_EQ(json["AggregatedStatus"], "passing");
  EXPECT_EQ(json["Service"]["ID"], "web");
  EXPECT_EQ(json["Checks"].size(), 1U);
  Put("/v1/agent/check/warn/a");
  EXPECT_EQ(Get(by_id + "?format=text"), "429 warning");
  Put(kServiceTarget, R"({"Name":"web","ID":"web2","Check":{"CheckID":"b","TTL":"10s"}})");
  EXPECT_EQ(Get(by_name + "?format=text"), "503 critical");
  EXPECT_EQ(GetJson(by_name).size(), 2U);
  EXPECT_EQ(Ask("GET", by_id, "", {{.name = "accept", .value = "text/plain"}})->line(),
            "429 warning");
  // A check of the node counts for all.
  Put("/v1/agent/maintenance?enable=true");
  EXPECT_EQ(Get(by_id + "?format=text"), "503 maintenance");
}

TEST_F(ConsulAgentService, AnyIdIsAnId) {
  Put(kServiceTarget, R"({"ID":"../a b/c","Name":"x/y"})");
  EXPECT_EQ(GetJson("/v1/agent/services").begin().key(), "../a b/c");
  EXPECT_THAT(Get("/v1/agent/service/..%2Fa%20b%2Fc"), StartsWith("200 "));
  EXPECT_TRUE(Kept("../a b/c").has_value());
  EXPECT_EQ(Put("/v1/agent/service/deregister/..%2Fa%20b%2Fc"), "200 ");
}

TEST_F(ConsulAgentService, AnEntryOfOurOwnIsShownToo) {
  ASSERT_TRUE(syncer_->Register({.id = "own", .name = "web", .value = "10.0.0.7:81"}));
  const Json json = GetJson("/v1/agent/services")["own"];
  EXPECT_EQ(json["Address"], "10.0.0.7");
  EXPECT_EQ(json["Port"], 81);
}

TEST_F(ConsulAgentService, WhatTheListHoldsIsBounded) {
  const std::string start = R"({"ID":"i)";
  const std::string tags = R"(","Name":"web","Tags":[")" + std::string(250'000, 'x') + "\"]}";
  int refused = 0;
  for (int i = 0; i < 80; ++i) {
    const auto answer = Ask("PUT", kServiceTarget, start + std::to_string(i) + tags);
    if (!answer->is_answered()) continue;
    EXPECT_EQ(answer->line(), "500 the agent's list of services is full");
    ++refused;
  }
  EXPECT_GT(refused, 5);
  EXPECT_LT(refused, 25);
  // A service that is in the list can be registered again.
  EXPECT_FALSE(Ask("PUT", kServiceTarget, R"({"ID":"i1","Name":"web"})")->is_answered());
}

TEST_F(ConsulAgentService, ACallersTokenWritesWhatItRegisters) {
  const auto answer = Ask("PUT", "/v1/agent/service/register", R"({"Name":"web","Token":"body"})",
                          {{.name = "x-consul-token", .value = "caller"}});
  executor_.Advance(100ms);
  EXPECT_EQ(syncer_->List(sync::Registry::Which::kAll)[0].entry.token, "caller");
  Put(kServiceTarget, R"({"Name":"web","Token":"body"})");
  EXPECT_EQ(syncer_->List(sync::Registry::Which::kAll)[0].entry.token, "body");
}

}  // namespace
}  // namespace kvorum::consul
