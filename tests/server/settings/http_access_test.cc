// The door of the client ports for HTTP.
#include "server/services/maintenance/http_access.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/peer/keeping_sink.h"

namespace kvorum::server {
namespace {

rpc::HttpRequest RequestTo(const std::string& host, const std::string& method = "GET") {
  rpc::HttpRequest request;
  request.method = method;
  request.target = "/page";
  request.headers = {{"host", host}};
  return request;
}

// "200 served", and the answer's origin header if there is one.
std::string Ask(const HttpAccess& access, rpc::HttpRequest request) {
  const auto sink = std::make_shared<KeepingSink>();
  const rpc::HttpHandler guarded = access.Guard([](const rpc::HttpRequest&, rpc::HttpReply reply) {
    reply.Send(rpc::HttpResponse::Text(200, "served"));
  });
  guarded(std::move(request), rpc::HttpReply(sink));
  if (!sink->kept.has_value()) return "no answer";
  const rpc::HttpResponse& answer = *sink->kept;
  std::string text = std::to_string(answer.status) + " " + Join(answer.body).substr(0, 21);
  for (const rpc::HttpHeader& header : answer.headers)
    if (header.name == "Access-Control-Allow-Origin") text += " for " + header.value;
  return text;
}

TEST(HttpAccessTest, AStrangeHostIsRefusedInPlainText) {
  const HttpAccess access({"good", "127.0.0.1"}, {"http://a:80"});
  for (const char* host : {"good", "good:2379", "127.0.0.1:1", "[good]:1", "good:"})
    EXPECT_EQ(Ask(access, RequestTo(host)), "200 served") << host;
  for (const char* host : {"bad", "GOOD", "good:1:2", "[good]", "[good]x:1", "", "good.bad:1"})
    EXPECT_EQ(Ask(access, RequestTo(host)), "421 \netcd received your r") << host;
  rpc::HttpRequest secure = RequestTo("bad");
  secure.is_secure = true;
  EXPECT_EQ(Ask(access, std::move(secure)), "200 served");
}

TEST(HttpAccessTest, AStarAndNothingAllowEveryHost) {
  for (const std::vector<std::string>& hosts : {std::vector<std::string>{"*"}, {}, {"good", "*"}})
    EXPECT_EQ(Ask(HttpAccess(hosts, {"http://a:80"}), RequestTo("bad")), "200 served");
  EXPECT_EQ(Ask(HttpAccess({""}, {"http://a:80"}), RequestTo("bad")), "421 \netcd received your r");
  EXPECT_EQ(Ask(HttpAccess({""}, {"http://a:80"}), RequestTo("")), "200 served");
}

TEST(HttpAccessTest, AnswersNameTheOriginThatMayReadThem) {
  const HttpAccess some({"*"}, {"http://a:80", "https://b:443"});
  rpc::HttpRequest request = RequestTo("x");
  request.headers.push_back({"origin", "https://b:443"});
  EXPECT_EQ(Ask(some, request), "200 served for https://b:443");
  EXPECT_EQ(Ask(HttpAccess({"*"}, {"*"}), request), "200 served for *");
  EXPECT_EQ(Ask(HttpAccess({"*"}, {}), request), "200 served for *");
  request.headers.back().value = "https://b";
  EXPECT_EQ(Ask(some, std::move(request)), "200 served");
}

// Browsers let any page open one; --cors is about reading answers, and would be passed by.
TEST(HttpAccessTest, AWebSocketIsRefusedToPagesOfStrangeOrigins) {
  const HttpAccess some({"*"}, {"http://a:80", "https://b:443", "http://c:8080"});
  const auto ask = [](const HttpAccess& access, const std::vector<std::string>& origins,
                      bool is_secure = false) {
    rpc::HttpRequest request = RequestTo("own:2379");
    request.is_secure = is_secure;
    request.headers.push_back({"connection", "Upgrade"});
    request.headers.push_back({"upgrade", "websocket"});
    for (const std::string& origin : origins) request.headers.push_back({"origin", origin});
    return Ask(access, std::move(request)).substr(0, 10);
  };
  EXPECT_EQ(ask(some, {}), "200 served") << "no browser";
  for (const char* origin : {"http://a:80", "http://a", "https://b", "HTTPS://B:443",
                             "http://c:8080", "http://own:2379"})
    EXPECT_EQ(ask(some, {origin}), "200 served") << origin;
  for (const char* origin :
       {"http://evil", "http://a:81", "http://b", "https://a", "http://c", "null", "", "http://own",
        "https://own:2379", "http://a.evil", "a:80"}) {
    EXPECT_EQ(ask(some, {origin}), "403 Forbid") << origin;
    EXPECT_EQ(ask(HttpAccess({"*"}, {"*"}), {origin}), "200 served") << origin;
  }
  EXPECT_EQ(ask(some, {"http://a:80", "http://evil"}), "403 Forbid");
  EXPECT_EQ(ask(some, {"https://own:2379"}, /*is_secure=*/true), "200 served");
  rpc::HttpRequest page = RequestTo("own:2379");
  page.headers.push_back({"origin", "http://evil"});
  EXPECT_EQ(Ask(some, std::move(page)), "200 served") << "which that page cannot read";
}

TEST(HttpAccessTest, OptionsAreAnsweredForAnyPath) {
  const HttpAccess access({"good"}, {"*"});
  EXPECT_EQ(Ask(access, RequestTo("good", "OPTIONS")), "200  for *");
  EXPECT_EQ(Ask(access, RequestTo("bad", "OPTIONS")), "421 \netcd received your r");
  rpc::HttpRequest of_server = RequestTo("bad", "OPTIONS");
  of_server.target = "*";
  EXPECT_EQ(Ask(access, std::move(of_server)), "200 ");
}

}  // namespace
}  // namespace kvorum::server
