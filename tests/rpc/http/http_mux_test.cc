#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "rpc/http/http.h"

namespace kvorum::rpc {
namespace {

class KeptAnswer final : public HttpSink {
 public:
  void Complete(HttpResponse response) override { answer = std::move(response); }
  std::optional<HttpResponse> answer;
};

class HttpMuxTest : public testing::Test {
 protected:
  HttpMuxTest() {
    mux_.Handle("/health", [](HttpRequest request, HttpReply reply) {
      reply.Send(HttpResponse::Text(200, "health " + std::string(request.Query())));
    });
    mux_.HandlePrefix("/members/", [](HttpRequest request, HttpReply reply) {
      reply.Send(HttpResponse::Text(200, std::string(request.Path())));
    });
  }

  HttpResponse Ask(const std::string& target, const std::string& method = "GET") {
    const auto sink = std::make_shared<KeptAnswer>();
    HttpRequest request;
    request.method = method;
    request.target = target;
    mux_.Serve(std::move(request), HttpReply(sink));
    return std::move(*sink->answer);
  }
  static std::string BodyOf(const HttpResponse& response) {
    std::string body;
    for (const SharedBytes& part : response.body) body += part.view();
    return body;
  }
  // "status body", or "status to location".
  std::string Outcome(const std::string& target) {
    const HttpResponse response = Ask(target);
    for (const HttpHeader& header : response.headers)
      if (header.name == "Location") return std::to_string(response.status) + " to " + header.value;
    return std::to_string(response.status) + " " + BodyOf(response);
  }

 private:
  HttpMux mux_;
};

TEST_F(HttpMuxTest, APathIsFound) {
  EXPECT_EQ(Outcome("/health"), "200 health ");
  EXPECT_EQ(Outcome("/health?x=//&y=.."), "200 health x=//&y=..");
  EXPECT_EQ(Outcome("/members/1/2"), "200 /members/1/2");
  EXPECT_EQ(Outcome("/%68ealth"), "200 health ");
  EXPECT_EQ(Outcome("/members"), "307 to /members/");
  EXPECT_EQ(Outcome("/members?x"), "307 to /members/?x");
  for (const char* target : {"/", "/nope", "/health/", "/health/x", "/a/%2e%2e/health",
                             "/%2Fhealth", "/health%", "/health%2", "/health%zz"})
    EXPECT_EQ(Outcome(target), "404 404 page not found\n") << target;
}

TEST_F(HttpMuxTest, APathThatIsNotCleanIsRedirected) {
  EXPECT_EQ(Outcome("//health"), "307 to /health");
  EXPECT_EQ(Outcome("/a/../health"), "307 to /health");
  EXPECT_EQ(Outcome("/./health"), "307 to /health");
  EXPECT_EQ(Outcome("/health/."), "307 to /health");
  EXPECT_EQ(Outcome("/health//"), "307 to /health/");
  EXPECT_EQ(Outcome("/health/./"), "307 to /health/");
  EXPECT_EQ(Outcome("/health/.."), "307 to /");
  EXPECT_EQ(Outcome("/.."), "307 to /");
  EXPECT_EQ(Outcome("/../../health"), "307 to /health");
  EXPECT_EQ(Outcome("//"), "307 to /");
  EXPECT_EQ(Outcome("//nope"), "307 to /nope");
  EXPECT_EQ(Outcome("//health?x=1&y"), "307 to /health?x=1&y");
  EXPECT_EQ(Outcome("/members//x"), "307 to /members/x");
}

TEST_F(HttpMuxTest, WhatIsNoPathIsRefused) {
  for (const char* target : {"", "*", "health", "?x", "ftp://x/health", "x:1"})
    EXPECT_EQ(Outcome(target), "400 400 Bad Request") << target;
}

TEST_F(HttpMuxTest, ARedirectHasALinkForReaders) {
  const HttpResponse get = Ask("//a?<\"'&>");
  EXPECT_EQ(get.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(BodyOf(get), "<a href=\"/a?&lt;&#34;&#39;&amp;&gt;\">Temporary Redirect</a>.\n\n");
  EXPECT_EQ(BodyOf(Ask("//a", "POST")), "");
}

}  // namespace
}  // namespace kvorum::rpc
