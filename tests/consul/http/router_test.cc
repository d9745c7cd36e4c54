#include "consul/http/router.h"

#include <gtest/gtest.h>

#include "tests/consul/fake_exchange.h"

namespace kvorum::consul {
namespace {

std::vector<Route> Routes() {
  const auto say = [](std::string what) {
    return [what](Exchange exchange) { exchange.OkText(what + " " + exchange.rest()); };
  };
  return {{.path = "/v1/kv/",
           .methods = "GET,PUT,DELETE",
           .handle = say("kv"),
           .max_body_bytes = 2 * kMaxBodyBytes},
          {.path = "/v1/catalog/nodes", .methods = "GET", .handle = say("nodes")},
          {.path = "/v1/agent/check/", .methods = "PUT", .handle = say("check")},
          {.path = "/v1/agent/check/register", .methods = "PUT", .handle = say("register")},
          {.path = "/v1/agent/check/pass/", .methods = "PUT", .handle = say("pass")},
          {.path = "/v1/odd", .methods = "GET", .writes = true, .handle = say("odd")},
          RefusedRoute("/v1/event/", "GET,PUT", 501, "events are not supported")};
}

class RouterTest : public testing::Test {
 protected:
  std::shared_ptr<FakeAnswer> Ask(const std::string& method, const std::string& target,
                                  std::string body = {}, bool is_read_only = false) {
    Router router({.is_read_only = is_read_only});
    router.Add(Routes());
    auto answer = std::make_shared<FakeAnswer>();
    rpc::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = SharedBytes::Own(std::move(body));
    router.Serve(std::move(request), rpc::HttpReply(answer));
    return answer;
  }
};

TEST_F(RouterTest, AnExactPathThenTheLongestPrefixIsFound) {
  EXPECT_EQ(Ask("GET", "/v1/catalog/nodes?stale")->line(), "200 nodes ");
  EXPECT_EQ(Ask("PUT", "/v1/agent/check/register")->line(), "200 register ");
  EXPECT_EQ(Ask("PUT", "/v1/agent/check/pass/a/b")->line(), "200 pass a/b");
  EXPECT_EQ(Ask("PUT", "/v1/agent/check/other")->line(), "200 check other");
}

TEST_F(RouterTest, AKeyIsTakenAsItIs) {
  EXPECT_EQ(Ask("GET", "/v1/kv/")->line(), "200 kv ");
  EXPECT_EQ(Ask("GET", "/v1/kv//a//../b/")->line(), "200 kv /a//../b/");
  EXPECT_EQ(Ask("GET", "/v1/kv/a%2Fb%3F")->line(), "200 kv a/b?");
}

TEST_F(RouterTest, WhatHasNoRoute) {
  EXPECT_EQ(Ask("GET", "/")->line(), "200 Consul Agent");
  EXPECT_EQ(Ask("GET", "/v1/none")->status, 404U);
  EXPECT_EQ(Ask("GET", "/v1/catalog/nodes/")->status, 404U);
  const auto moved = Ask("GET", "/v1/kv");
  EXPECT_EQ(moved->status, 301U);
  EXPECT_EQ(moved->header("Location"), "/v1/kv/");
  EXPECT_EQ(Ask("PUT", "/v1/event/fire/x")->line(), "501 events are not supported");
}

TEST_F(RouterTest, AWrongMethodIs405WithWhatIsAllowed) {
  for (const char* method : {"POST", "HEAD", "PATCH", "get", "", "PUT,DELETE"}) {
    const auto answer = Ask(method, "/v1/kv/a");
    EXPECT_EQ(answer->line(), "405 method " + std::string(method) + " not allowed");
    EXPECT_EQ(answer->header("Allow"), "OPTIONS,GET,PUT,DELETE");
  }
  const auto options = Ask("OPTIONS", "/v1/catalog/nodes");
  EXPECT_EQ(options->line(), "200 ");
  EXPECT_EQ(options->header("Allow"), "OPTIONS,GET");
}

TEST_F(RouterTest, MalformedTargetsAreRefused) {
  EXPECT_EQ(Ask("GET", "/v1/kv/a%0ab")->status, 400U);
  EXPECT_EQ(Ask("GET", "/v1/kv/a%")->status, 400U);
  EXPECT_EQ(Ask("GET", "v1/kv/a")->status, 400U);
  EXPECT_EQ(Ask("GET", "/v1/kv/a?%zz=1")->status, 500U);
}

TEST_F(RouterTest, EveryAnswerTellsThePolicy) {
  for (const char* target : {"/", "/v1/none", "/v1/kv/a", "/v1/kv/%0a", "/v1/event/list"})
    EXPECT_EQ(Ask("GET", target)->header("X-Consul-Default-Acl-Policy"), "allow") << target;
}

TEST_F(RouterTest, ABodyThatIsTooLargeForItsRouteIsRefused) {
  const std::string large(kMaxBodyBytes + 1, 'x');
  EXPECT_EQ(Ask("PUT", "/v1/agent/check/register", large)->line(),
            "413 Request body(524289 bytes) too large, max size: 524288 bytes. See "
            "docs/consul.md.");
  EXPECT_EQ(Ask("PUT", "/v1/agent/check/register", large.substr(1))->status, 200U);
  EXPECT_EQ(Ask("PUT", "/v1/kv/a", large)->status, 200U);
  EXPECT_EQ(Ask("PUT", "/v1/kv/a", large + large)->status, 413U);
  // A read has none.
  EXPECT_EQ(Ask("GET", "/v1/kv/a", large + large)->status, 200U);
}

TEST_F(RouterTest, ABodyThatTheListenerDoesNotTakeIsRefusedInTheRoutesWords) {
  Router router({});
  router.Add(Routes());
  EXPECT_EQ(router.RefusalOfBody("/v1/kv/a", 99'999'999),
            "Request body(99999999 bytes) too large, max size: 1048576 bytes. See "
            "docs/consul.md.");
  EXPECT_EQ(router.RefusalOfBody("/v1/agent/check/pass/a", 0),
            "Request body too large, max size: 524288 bytes. See docs/consul.md.");
  EXPECT_EQ(router.RefusalOfBody("/nothing", 0),
            "Request body too large, max size: 524288 bytes. See docs/consul.md.");
}

TEST_F(RouterTest, AnAgentThatOnlyReadsRefusesWrites) {
  for (const auto& [method, target] : std::vector<std::pair<std::string, std::string>>{
           {"PUT", "/v1/kv/a"}, {"DELETE", "/v1/kv/a"}, {"GET", "/v1/odd"}})
    EXPECT_EQ(Ask(method, target, {}, true)->line(),
              "403 Permission denied: this agent only reads (--http-read-only)");
  EXPECT_EQ(Ask("GET", "/v1/kv/a", {}, true)->status, 200U);
}

}  // namespace
}  // namespace kvorum::consul
