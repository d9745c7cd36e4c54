// Redirects of http checks: followed as Go's client does, if the check says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "sync/agent/agent_state.h"
#include "sync/checks/http_target.h"
#include "sync/checks/system_prober.h"
#include "tests/sync/checks/scripted_server.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::string LocationFrom(const std::string& base, const std::string& location) {
  const auto target = ResolveLocation(ParseTarget(base), location);
  return target ? UrlOf(*target) : target.error().message;
}

TEST(SyncHttpTarget, ALocationIsResolvedAsUrlsAre) {
  const std::string base = "http://a.org:81/b/c/d?q=1#f";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"https://x.org", "https://x.org/"},
      {"HTTP://x.org?y=2#z", "http://x.org/?y=2"},
      {"//x.org/y", "http://x.org/y"},
      {"/y?z", "http://a.org:81/y?z"},
      {"y", "http://a.org:81/b/c/y"},
      {"./y/", "http://a.org:81/b/c/y/"},
      {"../../../y", "http://a.org:81/y"},
      {"..", "http://a.org:81/b/"},
      {"?z=3", "http://a.org:81/b/c/d?z=3"},
      {"#z", "http://a.org:81/b/c/d?q=1"},
      {"http://[::1]:82/./y/../z", "http://[::1]:82/z"},
      {"y z\xc3\xa4", "http://a.org:81/b/c/y%20z%C3%A4"},
      {"a:80/y", "unsupported protocol scheme \"a\""},
      {"file:///etc/passwd", "unsupported protocol scheme \"file\""},
      {"http:y", "the redirect's Location has no host"},
      {"http:///y", "the redirect's Location has no host"},
      {"http://:80/y", "the redirect's Location has no host"},
      {"http://a b/", "the redirect's Location has a host that is not one"},
      {"/y\tz", "the redirect's Location has a control character"},
      {"/y\r\nCookie: 1", "the redirect's Location has a control character"}};
  for (const auto& [location, resolved] : table)
    EXPECT_EQ(LocationFrom(base, location), resolved) << location;
}

TEST(SyncHttpTarget, AUserInAUrlIsNotPartOfItsHost) {
  const HttpTarget target = ParseTarget("http://me:p%40ss@a.org/x");
  EXPECT_EQ(target, (HttpTarget{.user = "me:p@ss", .authority = "a.org", .path = "/x"}));
  EXPECT_EQ(UrlOf(target), "http://a.org/x");
  EXPECT_EQ(ResolveLocation(target, "y")->user, "me:p@ss");
  EXPECT_EQ(ResolveLocation(target, "//a.org/y")->user, "");
}

TEST(SyncHttpTarget, SecretsStayAtTheirHostAndBelowIt) {
  const auto may_see = [](const std::string& first, const std::string& next) {
    return MaySeeSecrets(ParseTarget(first), ParseTarget(next));
  };
  EXPECT_TRUE(may_see("http://a.org/x", "http://A.org:81/y"));
  EXPECT_TRUE(may_see("http://a.org", "https://x.a.org"));
  EXPECT_TRUE(may_see("http://[::1]:80", "http://[::1]:81"));
  EXPECT_FALSE(may_see("https://a.org", "http://a.org")) << "TLS is left";
  EXPECT_FALSE(may_see("http://x.a.org", "http://a.org"));
  EXPECT_FALSE(may_see("http://a.org", "http://xa.org"));
  EXPECT_FALSE(may_see("http://0.0.1", "http://127.0.0.1"));
}

std::string Redirect(const std::string& status, const std::string& location) {
  return "HTTP/1.1 " + status + " Moved\r\nLocation: " + location +
         "\r\nContent-Length: 5\r\n\r\nmoved";
}
std::string Fine() { return "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"; }

class SyncCheckRedirect : public testing::Test {
 protected:
  static ProbeResult Probe(const CheckDefinition& check) {
    std::promise<ProbeResult> result;
    SystemProber prober;
    prober.Begin(check, [&](ProbeResult ended) { result.set_value(std::move(ended)); });
    return result.get_future().get();
  }
  static CheckDefinition CheckOf(const ScriptedServer& server, const std::string& path = "/") {
    return {.id = "up",
            .kind = CheckKind::kHttp,
            .target = "http://" + server.address() + path,
            .follows_redirects = true,
            .details = "{}"};
  }
};

TEST_F(SyncCheckRedirect, ARedirectIsFollowedAndTheOutputNamesTheChecksUrl) {
  const ScriptedServer server([](const std::string& request) {
    return request.starts_with("GET /old ") ? Redirect("302", "new?x=1#y") : Fine();
  });
  const CheckDefinition check = CheckOf(server, "/old");
  EXPECT_EQ(Probe(check),
            (ProbeResult{.health = Health::kPassing,
                         .output = "HTTP GET " + check.target + ": 200 OK Output: fine"}));
  EXPECT_THAT(server.requests(),
              ElementsAre(StartsWith("GET /old HTTP/1.1\r\n"),
                          AllOf(StartsWith("GET /new?x=1 HTTP/1.1\r\nHost: " + server.address()),
                                HasSubstr("\r\nReferer: " + check.target + "\r\n"),
                                HasSubstr("\r\nUser-Agent: Consul Health Check\r\n"))));
}

TEST_F(SyncCheckRedirect, WithoutTheWordARedirectIsTheAnswer) {
  const ScriptedServer server([](const std::string&) { return Redirect("302", "/new"); });
  CheckDefinition check = CheckOf(server);
  check.follows_redirects = false;
  EXPECT_EQ(Probe(check).health, Health::kCritical);
  EXPECT_THAT(Probe(check).output, HasSubstr(": 302 Moved Output: moved"));
  EXPECT_THAT(server.requests(), SizeIs(2));
}

TEST_F(SyncCheckRedirect, ARedirectWithoutALocationIsTheAnswer) {
  const ScriptedServer server(
      [](const std::string&) { return "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n"; });
  EXPECT_THAT(Probe(CheckOf(server)).output, HasSubstr(": 301 Moved Output: "));
}

TEST_F(SyncCheckRedirect, TenRequestsAreMadeAtMost) {
  const ScriptedServer server([](const std::string&) { return Redirect("301", "/again"); });
  EXPECT_EQ(Probe(CheckOf(server)),
            (ProbeResult{.health = Health::kCritical, .output = "stopped after 10 redirects"}));
  EXPECT_THAT(server.requests(), SizeIs(10));
}

TEST_F(SyncCheckRedirect, TheMethodAndTheBodyStayWith307And308Alone) {
  for (const auto& [status, method, has_body] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"301", "GET", false},
                                                               {"302", "GET", false},
                                                               {"303", "GET", false},
                                                               {"307", "POST", true},
                                                               {"308", "POST", true}}) {
    const ScriptedServer server([&, code = status](const std::string& request) {
      return request.contains(" /old ") ? Redirect(code, "/new") : Fine();
    });
    CheckDefinition check = CheckOf(server, "/old");
    check.method = "POST";
    check.body = "question";
    EXPECT_EQ(Probe(check).health, Health::kPassing) << status;
    const std::string last = server.requests().back();
    EXPECT_THAT(last, StartsWith(method + " /new ")) << status;
    EXPECT_EQ(last.ends_with("question"), has_body) << status;
    EXPECT_EQ(last.contains("Content-Length: 8"), has_body) << status;
  }
}

TEST_F(SyncCheckRedirect, ARequestForTheHeadStaysOne) {
  const ScriptedServer server([](const std::string& request) {
    return request.contains(" /old ") ? Redirect("302", "/new") : Fine();
  });
  CheckDefinition check = CheckOf(server, "/old");
  check.method = "HEAD";
  EXPECT_EQ(Probe(check).health, Health::kPassing);
  EXPECT_THAT(server.requests().back(), StartsWith("HEAD /new "));
}

// 127.0.0.2 is another host of this machine.
TEST_F(SyncCheckRedirect, AnotherHostDoesNotSeeTheSecrets) {
  const ScriptedServer other([](const std::string&) { return Fine(); },
                             boost::asio::ip::make_address("127.0.0.2"));
  const ScriptedServer server(
      [&](const std::string&) { return Redirect("307", "http://" + other.address() + "/there"); });
  CheckDefinition check = CheckOf(server, "/?secret=1");
  check.headers = {{"Authorization", {"Bearer s1"}},
                   {"cookie", {"s2"}},
                   {"X-Consul-Token", {"s3"}},
                   {"Host", {"web.internal"}},
                   {"X-Plain", {"seen"}}};
  EXPECT_EQ(Probe(check).health, Health::kPassing);
  EXPECT_THAT(server.requests().front(),
              AllOf(HasSubstr("s1"), HasSubstr("s2"), HasSubstr("s3"), HasSubstr("web.internal")));
  EXPECT_THAT(other.requests(),
              ElementsAre(AllOf(StartsWith("GET /there HTTP/1.1\r\nHost: " + other.address()),
                                HasSubstr("X-Plain: seen"), Not(HasSubstr("s1")),
                                Not(HasSubstr("s2")), Not(HasSubstr("s3")),
                                Not(HasSubstr("secret")), Not(HasSubstr("web.internal")))));
}

TEST_F(SyncCheckRedirect, TheFirstHostDoesNotSeeThemAgainBehindAnother) {
  const ScriptedServer* first = nullptr;
  const ScriptedServer other(
      [&](const std::string&) { return Redirect("302", "http://" + first->address() + "/back"); },
      boost::asio::ip::make_address("127.0.0.2"));
  const ScriptedServer server([&](const std::string& request) {
    return request.contains("/back") ? Fine()
                                     : Redirect("302", "http://" + other.address() + "/there");
  });
  first = &server;
  CheckDefinition check = CheckOf(server);
  check.headers = {{"Authorization", {"Bearer s1"}}};
  EXPECT_EQ(Probe(check).health, Health::kPassing);
  EXPECT_THAT(server.requests().back(), AllOf(StartsWith("GET /back "), Not(HasSubstr("s1"))));
}

TEST_F(SyncCheckRedirect, TheSameHostSeesThemAndTheChecksHostStays) {
  const ScriptedServer server([](const std::string& request) {
    return request.contains(" /old ") ? Redirect("302", "/new") : Fine();
  });
  CheckDefinition check = CheckOf(server, "/old");
  check.headers = {{"Authorization", {"Bearer s1"}}, {"Host", {"web.internal"}}};
  EXPECT_EQ(Probe(check).health, Health::kPassing);
  EXPECT_THAT(server.requests().back(),
              AllOf(HasSubstr("Bearer s1"), HasSubstr("Host: web.internal")));
}

TEST_F(SyncCheckRedirect, OtherSchemesAreRefusedByName) {
  for (const std::string location : {"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://x/"}) {
    const ScriptedServer server([&](const std::string&) { return Redirect("302", location); });
    const ProbeResult result = Probe(CheckOf(server));
    EXPECT_EQ(result.health, Health::kCritical);
    EXPECT_EQ(result.output,
              "unsupported protocol scheme \"" + location.substr(0, location.find(':')) + "\"");
  }
}

TEST_F(SyncCheckRedirect, AllRequestsTogetherHaveTheChecksTime) {
  const ScriptedServer server([](const std::string&) {
    std::this_thread::sleep_for(100ms);
    return Redirect("302", "/again");
  });
  CheckDefinition check = CheckOf(server);
  check.timeout = 250ms;
  EXPECT_EQ(Probe(check).output, "no answer within 250 ms");
  EXPECT_LE(server.requests().size(), 3U);
}

TEST_F(SyncCheckRedirect, AUserInTheUrlIsABasicAuthorization) {
  const ScriptedServer server([](const std::string&) { return Fine(); });
  CheckDefinition check = CheckOf(server);
  check.target = "http://me:pass@" + server.address() + "/";
  EXPECT_EQ(Probe(check).health, Health::kPassing);
  EXPECT_THAT(server.requests().front(), HasSubstr("\r\nAuthorization: Basic bWU6cGFzcw==\r\n"));
}

TEST(SyncCheckWordsOfState, RedirectsAndTlsAreKeptInTheState) {
  const Entry entry{
      .id = "a",
      .name = "web",
      .value = "",
      .checks = {
          {.definition = {.id = "r",
                          .kind = CheckKind::kHttp,
                          .target = "http://x/",
                          .follows_redirects = true}},
          {.definition = {.id = "t",
                          .kind = CheckKind::kGrpc,
                          .target = "x:1/web",
                          .uses_tls = true,
                          .tls = {.server_name = "y"}}},
          {.definition = {.id = "n", .kind = CheckKind::kAlias, .target = "a node/a service"}}}};
  const auto read = DecodeEntry(EncodeEntry(entry));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, entry);
}

TEST(SyncCheckWordsOfState, WhatAKindCannotHaveIsRefused) {
  const auto why = [](const CheckDefinition& check) {
    const auto valid =
        ValidateEntry({.id = "a", .name = "web", .value = "", .checks = {{.definition = check}}});
    return valid ? std::string() : valid.error().message;
  };
  EXPECT_EQ(why({.id = "c", .kind = CheckKind::kUdp, .target = "x:1", .uses_tls = true}),
            "entry a: check c: its kind does not use TLS");
  EXPECT_EQ(why({.id = "c", .kind = CheckKind::kTcp, .target = "x:1", .follows_redirects = true}),
            "entry a: check c: its kind has no redirects to follow");
  for (const char* target : {"web", "a/b/c", ""}) {
    EXPECT_THAT(why({.id = "c", .kind = CheckKind::kAlias, .target = target}),
                StartsWith("entry a: check c: it"))
        << target;
  }
  EXPECT_EQ(why({.id = "c", .kind = CheckKind::kUdp}), "entry a: check c: it has no target");
}

}  // namespace
}  // namespace kvorum::sync
