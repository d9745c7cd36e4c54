// Status, coordinates, and what is refused by name.
#include "consul/http/other_routes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "consul/http/router.h"
#include "tests/consul/fake_exchange.h"

namespace kvorum::consul {
namespace {

class OtherRoutesTest : public testing::Test {
 protected:
  OtherRoutesTest() {
    router_.Add(OtherRoutes({.ask_servers = [this](OtherParts::OnServers on_servers) {
      ++questions_;
      if (!is_silent_) return on_servers(servers_);
      unanswered_.push_back(std::move(on_servers));
    }}));
  }
  std::shared_ptr<FakeAnswer> Send(const std::string& method, const std::string& target) {
    auto answer = std::make_shared<FakeAnswer>();
    rpc::HttpRequest request;
    request.method = method;
    request.target = target;
    router_.Serve(std::move(request), rpc::HttpReply(answer));
    return answer;
  }
  std::string Ask(const std::string& method, const std::string& target) {
    return Send(method, target)->line();
  }

  Result<ServerList> servers_ =
      ServerList{.leader = "10.0.0.1:8300", .peers = {"10.0.0.1:8300", "10.0.0.2:8300"}};
  int questions_ = 0;
  bool is_silent_ = false;
  std::vector<OtherParts::OnServers> unanswered_;
  Router router_{{}};
};

TEST_F(OtherRoutesTest, TheServersAreTheStoresMembers) {
  EXPECT_EQ(Ask("GET", "/v1/status/leader"), R"(200 "10.0.0.1:8300")");
  EXPECT_EQ(Ask("GET", "/v1/status/peers"), R"(200 ["10.0.0.1:8300","10.0.0.2:8300"])");
  EXPECT_EQ(Ask("GET", "/v1/status/leader?dc=dc2"), "500 No path to datacenter");
}

TEST_F(OtherRoutesTest, WithoutAStoreThereIsNoLeader) {
  servers_ = Fail(Code::kUnavailable, "no connection");
  EXPECT_EQ(Ask("GET", "/v1/status/leader"), R"(200 "")");
  EXPECT_EQ(Ask("GET", "/v1/status/peers"), "200 []");
}

TEST_F(OtherRoutesTest, OneQuestionServesAllWhoAskMeanwhile) {
  is_silent_ = true;
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  for (int i = 0; i < 100; ++i)
    answers.push_back(Send("GET", i % 2 == 0 ? "/v1/status/leader" : "/v1/status/peers"));
  EXPECT_EQ(questions_, 1);
  std::exchange(unanswered_, {}).front()(Fail(Code::kDeadlineExceeded, "nothing"));
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i]->line(), i % 2 == 0 ? R"(200 "")" : "200 []");
  is_silent_ = false;
  EXPECT_EQ(Ask("GET", "/v1/status/leader"), R"(200 "10.0.0.1:8300")");
  EXPECT_EQ(questions_, 2);
}

TEST_F(OtherRoutesTest, AServersAddressHasConsulsPort) {
  EXPECT_EQ(ServerAddress("http://10.0.0.1:2379"), "10.0.0.1:8300");
  EXPECT_EQ(ServerAddress("https://[fd00::1]:2379"), "[fd00::1]:8300");
  EXPECT_EQ(ServerAddress("nonsense"), "");
  EXPECT_EQ(ServerAddress(""), "");
}

TEST_F(OtherRoutesTest, CoordinatesAreEmpty) {
  EXPECT_EQ(Ask("GET", "/v1/coordinate/nodes"), "200 []");
  EXPECT_EQ(Ask("GET", "/v1/coordinate/node/n1"), "200 []");
  EXPECT_EQ(Ask("GET", "/v1/coordinate/datacenters"), "200 []");
}

TEST_F(OtherRoutesTest, WhatIsNotThereIsRefusedByName) {
  EXPECT_EQ(Ask("PUT", "/v1/event/fire/deploy"), "501 user events are not supported here");
  EXPECT_EQ(Ask("POST", "/v1/query"), "501 prepared queries are not supported here");
  EXPECT_EQ(Ask("GET", "/v1/query/x/execute"), "501 prepared queries are not supported here");
  for (const char* mesh : {"/v1/catalog/connect/web", "/v1/health/connect/web",
                           "/v1/agent/connect/ca/roots", "/v1/connect/intentions"})
    EXPECT_EQ(Ask("GET", mesh), "404 the service mesh (Connect) is not supported here") << mesh;
  EXPECT_EQ(Ask("GET", "/v1/acl/tokens"), "401 ACL support disabled");
}

}  // namespace
}  // namespace kvorum::consul
