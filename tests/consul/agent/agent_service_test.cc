// /v1/agent/service: registering, deregistering and reading the agent's own services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/text/percent.h"
#include "sync/agent/agent_state.h"
#include "tests/consul/agent/agent_world.h"

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

// A path that names them would be refused.
TEST_F(ConsulAgentService, AnIdWithAControlCharacterIsRefused) {
  constexpr const char* kCheck = "/v1/agent/check/register";
  Put(kServiceTarget, R"({"Name":"web"})");
  const std::string before = Get("/v1/agent/services") + Get("/v1/agent/checks");
  for (int byte = 0; byte <= 0x7f; byte = byte == 0x1f ? 0x7f : byte + 1) {
    const std::string id = Json(std::string("a") + static_cast<char>(byte)).dump(-1, ' ', true);
    EXPECT_EQ(Put(kServiceTarget, R"({"Name":"n","ID":)" + id + "}"),
              "400 Validation failed: the id has a control character")
        << byte;
    EXPECT_EQ(Put(kServiceTarget, R"({"Name":)" + id + "}"),
              "400 Validation failed: the id has a control character")
        << byte;
    EXPECT_EQ(Put(kServiceTarget, R"({"Name":"n","Check":{"TTL":"9s","CheckID":)" + id + "}}"),
              "400 Invalid check: CheckID: the id has a control character")
        << byte;
    EXPECT_EQ(Put(kCheck, R"({"Name":"n","TTL":"9s","ID":)" + id + "}"),
              "400 Invalid check: CheckID: the id has a control character")
        << byte;
    EXPECT_EQ(Put(kCheck, R"({"TTL":"9s","ServiceID":"web","Name":)" + id + "}"),
              "400 Invalid check: CheckID: the id has a control character")
        << byte;
  }
  EXPECT_EQ(Get("/v1/agent/services") + Get("/v1/agent/checks"), before);
}

// Every other byte can be registered, listed, reported about and removed.
TEST_F(ConsulAgentService, AnIdOfAnyOtherCharacterIsTheSameInEveryRoute) {
  for (int byte = 0x20; byte < 0x7f; ++byte) {
    const std::string id = std::string("a") + static_cast<char>(byte) + "b";
    const std::string coded = "a" + [&] {
      std::string escape;
      AppendPercentEscape(escape, static_cast<char>(byte));
      return escape;
    }() + "b";
    const std::string text = Json(id).dump();
    EXPECT_EQ(Put(kServiceTarget, R"({"Name":"web","Check":{"TTL":"9s","CheckID":)" + text +
                                      R"(},"ID":)" + text + "}"),
              "200 ")
        << id;
    EXPECT_TRUE(GetJson("/v1/agent/services").contains(id)) << id;
    EXPECT_THAT(Get("/v1/agent/service/" + coded), StartsWith("200 ")) << id;
    EXPECT_EQ(Put("/v1/agent/check/pass/" + coded), "200 ") << id;
    EXPECT_EQ(StatusOf(id), "passing") << id;
    EXPECT_EQ(Put("/v1/agent/service/maintenance/" + coded + "?enable=true"), "200 ") << id;
    EXPECT_TRUE(Kept(id).has_value()) << id;
    EXPECT_EQ(Put("/v1/agent/check/deregister/" + coded), "200 ") << id;
    EXPECT_EQ(StatusOf(id), "none") << id;
    EXPECT_EQ(Put("/v1/agent/service/deregister/" + coded), "200 ") << id;
    EXPECT_FALSE(Kept(id).has_value()) << id;
  }
}

// Go's decoder takes them so: null is an object without members, nothing is no JSON.
TEST_F(ConsulAgentService, ABodyOfNullIsAnEmptyObjectAndNoBodyIsNone) {
  Put(kServiceTarget, R"({"Name":"web","Check":{"CheckID":"c","TTL":"9s"}})");
  const std::string before = Get("/v1/agent/services") + Get("/v1/agent/checks");
  for (const std::string null : {"null", " null\n"}) {
    EXPECT_EQ(Put(kServiceTarget, null), "400 Missing service name");
    EXPECT_EQ(Put("/v1/agent/check/register", null), "400 Missing check name");
    EXPECT_EQ(Put("/v1/agent/check/update/c", null), "400 Invalid check status: ''");
  }
  for (const std::string none : {"", " \n"}) {
    EXPECT_EQ(Put(kServiceTarget, none), "400 Request decode failed: EOF");
    EXPECT_EQ(Put("/v1/agent/check/register", none), "400 Request decode failed: EOF");
    EXPECT_EQ(Put("/v1/agent/check/update/c", none), "400 Request decode failed: EOF");
  }
  EXPECT_EQ(Get("/v1/agent/services") + Get("/v1/agent/checks"), before);
  // The others have no body to read.
  for (const std::string body : {"null", "", "x"}) {
    EXPECT_EQ(Put("/v1/agent/check/warn/c", body), "200 ");
    EXPECT_EQ(Put("/v1/agent/service/maintenance/web?enable=true", body), "200 ");
    EXPECT_EQ(Put("/v1/agent/maintenance?enable=true", body), "200 ");
    EXPECT_EQ(Put("/v1/agent/maintenance?enable=false", body), "200 ");
    EXPECT_EQ(Put("/v1/agent/reload", body), "200 ");
    EXPECT_EQ(Put("/v1/agent/check/register", R"({"Name":"x","TTL":"9s"})"), "200 ");
    EXPECT_EQ(Put("/v1/agent/check/deregister/x", body), "200 ");
    EXPECT_THAT(Put("/v1/agent/service/deregister/none", body), StartsWith("404 "));
    EXPECT_THAT(Put("/v1/agent/token/default", body), StartsWith("501 "));
    EXPECT_THAT(Put("/v1/agent/force-leave/x", body), StartsWith("501 "));
  }
  EXPECT_EQ(Put("/v1/agent/service/deregister/web", "null"), "200 ");
  EXPECT_EQ(Put("/v1/agent/leave", "null"), "200 ");
}

TEST_F(ConsulAgentService, WithTagOverrideTheCatalogsTagsAreTakenOver) {
  for (const std::string name : {"free", "own"}) {
    Put(kServiceTarget, R"({"Name":")" + name + R"(","Port":1,"Tags":["a"],"EnableTagOverride":)" +
                            (name == "free" ? "true}" : "false}"));
    ServiceRecord record = Kept(name).value();
    record.details.tags = {"x", "y"};
    record.details.port = 2;
    store_.Put(RegistryKeys("/r").Service("n1", name), EncodeService(record));
  }
  syncer_->SyncNow();
  executor_.Advance(1s);
  const std::vector<std::string> given = {"x", "y"};
  EXPECT_EQ(Kept("free")->details.tags, given);
  EXPECT_EQ(Kept("free")->details.port, 1) << "all else is the agent's";
  EXPECT_EQ(GetJson("/v1/agent/services")["free"]["Tags"].dump(), R"(["x","y"])");
  EXPECT_EQ(Kept("own")->details.tags, std::vector<std::string>{"a"});
  // They stay when the agent writes for another reason, and in its next life.
  Put(kServiceTarget, R"({"Name":"other"})");
  Put("/v1/agent/check/register", R"({"Name":"up","ServiceID":"free","TTL":"1h"})");
  Put("/v1/agent/check/pass/up");
  EXPECT_EQ(Kept("free")->details.tags, given);
  executor_.Advance(2s);
  const auto state = sync::DecodeState(saved_);
  ASSERT_TRUE(state.has_value());
  End();
  Begin(*state);
  EXPECT_EQ(Kept("free")->details.tags, given);
  // Another registration says what the tags are.
  Put(kServiceTarget, R"({"Name":"free","Tags":["b"],"EnableTagOverride":true})");
  EXPECT_EQ(Kept("free")->details.tags, std::vector<std::string>{"b"});
  syncer_->SyncNow();
  executor_.Advance(1s);
  EXPECT_EQ(Kept("free")->details.tags, std::vector<std::string>{"b"});
}

TEST_F(ConsulAgentService, TagsThatWereRegisteredAndNotWrittenYetAreNotTakenBack) {
  Put(kServiceTarget, R"({"Name":"free","Tags":["a"],"EnableTagOverride":true})");
  syncer_->pause().Acquire();
  Ask("PUT", kServiceTarget, R"({"Name":"free","Tags":["b"],"EnableTagOverride":true})");
  executor_.Advance(100ms);
  syncer_->SyncNow();
  syncer_->pause().Release();
  executor_.Advance(1s);
  EXPECT_EQ(Kept("free")->details.tags, std::vector<std::string>{"b"});
  // A record that is malformed has no tags to take.
  store_.Put(RegistryKeys("/r").Service("n1", "free"), "{}");
  syncer_->SyncNow();
  executor_.Advance(1s);
  EXPECT_EQ(Kept("free")->details.tags, std::vector<std::string>{"b"});
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
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  for (int i = 0; i < 80; ++i)
    answers.push_back(Ask("PUT", kServiceTarget, start + std::to_string(i) + tags));
  executor_.Advance(2ms);
  int refused = 0;
  for (const auto& answer : answers) {
    if (answer->status != 500) continue;
    EXPECT_EQ(answer->line(), "500 the agent's list of services is full");
    ++refused;
  }
  EXPECT_GT(refused, 5);
  EXPECT_LT(refused, 25);
  // A service that is in the list can be registered again.
  EXPECT_EQ(Put(kServiceTarget, R"({"ID":"i1","Name":"web"})"), "200 ");
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
