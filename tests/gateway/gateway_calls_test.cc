// Unary calls of the gateway over a small member.
#include <gtest/gtest.h>

#include "tests/gateway/gateway_fixture.h"

namespace kvorum::server::gateway {
namespace {

TEST_F(GatewayTest, APutIsReadBack) {
  EXPECT_EQ(Plain("/v3/kv/put", R"({"key":"Zm9v","value":"YmFy"})"), "200 {}");
  EXPECT_EQ(Plain("/v3/kv/range", R"({"key":"Zm9v"})"),
            R"(200 {"kvs":[{"key":"Zm9v", "create_revision":"2", "mod_revision":"2", )"
            R"("version":"1", "value":"YmFy"}], "count":"1"})");
  EXPECT_EQ(Plain("/v3beta/kv/range", R"({"key":"Zm9v","countOnly":true})"),
            R"(200 {"count":"1"})");
}

TEST_F(GatewayTest, AnAnswerHasGrpcsHeadersAndJsonsType) {
  const auto put = Ask(Post("/v3/kv/put", R"({"key":"Zm9v"})"));
  EXPECT_EQ(put->head->content_type, "application/json");
  EXPECT_EQ(put->HeaderOf("Grpc-Metadata-Content-Type"), "application/grpc");
  const auto refused = Ask(Post("/v3/kv/put", "{}"));
  EXPECT_EQ(refused->head->content_type, "application/json");
  EXPECT_EQ(refused->HeaderOf("Grpc-Metadata-Content-Type"), "");
}

TEST_F(GatewayTest, OnlyTheFirstValueOfABodyCounts) {
  const std::string empty = R"(400 {"code":3, "message":"etcdserver: key is not provided"})";
  EXPECT_EQ(Outcome("/v3/kv/range", ""), empty);
  EXPECT_EQ(Outcome("/v3/kv/range", " \n"), empty);
  EXPECT_EQ(Outcome("/v3/kv/range", "{}"), empty);
  EXPECT_EQ(Plain("/v3/kv/range", R"({"key":"YQ=="}{)"), "200 {}");
  EXPECT_EQ(Plain("/v3/kv/range", R"({"key":"YQ=="} nonsense)"), "200 {}");
}

TEST_F(GatewayTest, WhatIsNoJsonIsRefused) {
  EXPECT_EQ(Outcome("/v3/kv/range", "{"), R"(400 {"code":3, "message":"unexpected EOF"})");
  EXPECT_EQ(Outcome("/v3/kv/range", "key"),
            R"(400 {"code":3, "message":"invalid character 'k' looking for beginning of value"})");
  EXPECT_EQ(Outcome("/v3/kv/range", R"({"key":5})"),
            "400 {\"code\":3, \"message\":\"proto:\u00a0(line 1:8): invalid value for bytes field "
            "key: 5\"}");
}

TEST_F(GatewayTest, ErrorsOfCallsKeepTheirTexts) {
  EXPECT_EQ(Outcome("/v3/lease/revoke", R"({"ID":"77"})"),
            R"(404 {"code":5, "message":"etcdserver: requested lease not found"})");
  EXPECT_EQ(
      Outcome("/v3/kv/range", R"({"key":"YQ==","revision":"99"})"),
      R"(400 {"code":11, "message":"etcdserver: mvcc: required revision is a future revision"})");
  EXPECT_EQ(Outcome("/v3/maintenance/downgrade", "{}"),
            R"(400 {"code":3, "message":"etcdserver: wrong downgrade target version format"})");
}

TEST_F(GatewayTest, PathsAndMethodsWithoutRouteAreRefused) {
  const std::string none = R"(404 {"code":5, "message":"Not Found"})";
  for (const char* path :
       {"/v3/", "/v3/kv", "/v3/kv/range/", "/v3/KV/range", "/v3/kv/range:x", "/v3beta/x"})
    EXPECT_EQ(Outcome(path, "{}"), none) << path;
  rpc::HttpRequest get = Post("/v3/kv/range", "");
  get.method = "GET";
  EXPECT_EQ(Outcome(std::move(get)), R"(501 {"code":12, "message":"Method Not Allowed"})");
  EXPECT_EQ(Plain("/v3/kv%2Frange", R"({"key":"YQ=="})"), "200 {}");
  EXPECT_EQ(Ask(Post("/v3", ""))->HeaderOf("Location"), "/v3/");
  EXPECT_EQ(Outcome("/v3beta", ""), "404 404 page not found\n");
}

TEST_F(GatewayTest, AFormThatOverridesTheMethodHasNoBody) {
  rpc::HttpRequest request = Post("/v3/kv/range", R"({"key":"YQ=="})");
  request.headers = {{"content-type", "application/x-www-form-urlencoded"},
                     {"x-http-method-override", "post"}};
  EXPECT_EQ(Outcome(request), R"(400 {"code":3, "message":"etcdserver: key is not provided"})");
  request.headers[1].value = "Get";
  EXPECT_EQ(Outcome(request), R"(501 {"code":12, "message":"Method Not Allowed"})");
  request.headers[0].value = "application/json";
  EXPECT_EQ(WithoutHeader(Outcome(std::move(request))), "200 {}");
}

TEST_F(GatewayTest, ARequestPastTheLimitIsRefused) {
  const std::string value(kMaxMessageBytes * 4 / 3, 'A');
  const std::string refused = Outcome("/v3/kv/put", R"({"key":"YQ==","value":")" + value + "\"}");
  EXPECT_TRUE(
      refused.starts_with(R"(429 {"code":8, "message":"grpc: received message larger than max ()"))
      << refused;
}

TEST_F(GatewayTest, TheTokenOfAuthorizationIsTheCallers) {
  EXPECT_EQ(Plain("/v3/auth/user/add", R"({"name":"root","password":"secret"})"), "200 {}");
  EXPECT_EQ(Plain("/v3/auth/role/add", R"({"name":"root"})"), "200 {}");
  EXPECT_EQ(Plain("/v3/auth/user/grant", R"({"user":"root","role":"root"})"), "200 {}");
  EXPECT_EQ(Plain("/v3/auth/enable", "{}"), "200 {}");
  EXPECT_EQ(Outcome("/v3/kv/range", R"({"key":"YQ=="})"),
            R"(400 {"code":3, "message":"etcdserver: user name is empty"})");
  const std::string login =
      Plain("/v3/auth/authenticate", R"({"name":"root","password":"secret"})");
  const std::size_t start = login.find(":\"") + 2;
  const std::string token = login.substr(start, login.find('"', start) - start);
  for (const char* header : {"authorization", "grpc-metadata-token"}) {
    rpc::HttpRequest request = Post("/v3/kv/range", R"({"key":"YQ=="})");
    request.headers = {{header, token}};
    EXPECT_EQ(WithoutHeader(Outcome(std::move(request))), "200 {}") << header;
  }
  rpc::HttpRequest wrong = Post("/v3/kv/range", R"({"key":"YQ=="})");
  wrong.headers = {{"authorization", "nonsense"}};
  const auto refused = Ask(std::move(wrong));
  EXPECT_EQ(refused->head->status, 401u);
  EXPECT_EQ(refused->body, R"({"code":16, "message":"etcdserver: invalid auth token"})");
  EXPECT_EQ(refused->HeaderOf("WWW-Authenticate"), "etcdserver: invalid auth token");
  // A certificate's name would be ignored here: its holder gets an error that says so.
  rpc::HttpRequest certified = Post("/v3/kv/range", R"({"key":"YQ=="})");
  certified.certificate_name = SharedBytes::Copy("root");
  EXPECT_EQ(Outcome(certified).substr(0, 16), "400 CommonName o");
  certified.certificate_name = SharedBytes();
  EXPECT_EQ(Outcome(std::move(certified)).substr(0, 4), "400 ");
}

TEST_F(GatewayTest, ATimeLimitInThePastIsOver) {
  rpc::HttpRequest request = Post("/v3/kv/range", R"({"key":"YQ=="})");
  request.headers = {{"grpc-timeout", "-1S"}};
  EXPECT_EQ(Outcome(request), R"(504 {"code":4, "message":"context deadline exceeded"})");
  request.headers = {{"grpc-timeout", "1x"}};
  EXPECT_EQ(Outcome(request), R"(400 {"code":3, "message":"invalid grpc-timeout: 1x"})");
}

TEST_F(GatewayTest, AClientThatLeavesWaitsForNoLock) {
  ASSERT_EQ(Plain("/v3/lock/lock", R"({"name":"YQ=="})").substr(0, 4), "200 ");
  const auto second = Send(Post("/v3/lock/lock", R"({"name":"YQ=="})"));
  served_.lanes().RunUntil([&] { return served_.lock().waiting().calls() == 1; });
  EXPECT_FALSE(second->ended);
  second->Leave();
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return second->ended; }));
  EXPECT_EQ(second->head->status, 499u);
  EXPECT_EQ(second->body, R"({"code":1, "message":"context canceled"})");
}

TEST_F(GatewayTest, AnAnswerWithoutMemoryIsRefused) {
  AnswerMemory& memory = served_.LimitAnswers(100 * 1024);
  const std::string value(1'200, 'A');
  for (int i = 0; i < 100; ++i) {
    const std::string key =
        "YWFh" + std::string(3, static_cast<char>('A' + i % 26)) + static_cast<char>('a' + i / 26);
    ASSERT_EQ(Plain("/v3/kv/put", R"({"key":")" + key + R"(","value":")" + value + "\"}"),
              "200 {}");
  }
  EXPECT_EQ(Outcome("/v3/kv/range", R"({"key":"AA==","range_end":"AA=="})"),
            R"(429 {"code":8, "message":"etcdserver: too many requests"})");
  EXPECT_EQ(memory.used_bytes(), 0u);
}

}  // namespace
}  // namespace kvorum::server::gateway
