#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/gzip.h"
#include "tests/consul/fake_exchange.h"

namespace kvorum::consul {
namespace {

std::string TokenOf(const std::string& target, std::vector<rpc::HttpHeader> headers) {
  return MakeExchange({.target = target, .headers = std::move(headers)}).first.token();
}

std::string Unpacked(std::string_view packed) {
  GzipReader reader;
  std::string plain(100'000, '\0');
  plain.resize(reader.Read(packed, plain).value_or(0));
  return plain;
}

TEST(ExchangeTest, ParametersAreDecodedAndTheFirstOfSeveralCounts) {
  const auto [exchange, answer] =
      MakeExchange({.target = "/v1/kv/a?passing&tag=a+b&tag=c%2Fd&empty=&&x=1=2"});
  EXPECT_TRUE(exchange.Has("passing"));
  EXPECT_EQ(exchange.Parameter("passing"), "");
  EXPECT_EQ(exchange.Parameter("tag"), "a b");
  EXPECT_EQ(exchange.Parameters("tag"), (std::vector<std::string>{"a b", "c/d"}));
  EXPECT_EQ(exchange.Parameter("empty"), "");
  EXPECT_EQ(exchange.Parameter("x"), "1=2");
  EXPECT_EQ(exchange.Parameter("Passing"), std::nullopt);
  EXPECT_TRUE(exchange.has_sound_query());
}

TEST(ExchangeTest, AMalformedQueryOrPathIsSeen) {
  for (const char* target : {"/a?x=%zz", "/a?%", "/a?x;y=1"})
    EXPECT_FALSE(MakeExchange({.target = target}).first.has_sound_query()) << target;
  for (const char* target : {"/a%0a", "/a%7F", "/%ff", "/a%", "/%00", "a"})
    EXPECT_FALSE(MakeExchange({.target = target}).first.has_sound_path()) << target;
  EXPECT_TRUE(MakeExchange({.target = "/a%20b/%C3%A9"}).first.has_sound_path());
  EXPECT_EQ(MakeExchange({.target = "/v1/kv/a%2Fb+c"}).first.path(), "/v1/kv/a/b+c");
}

TEST(ExchangeTest, ATokenIsTakenFromTheFirstPlaceThatHasOne) {
  EXPECT_EQ(TokenOf("/?token=a", {{"x-consul-token", "b"}, {"authorization", "Bearer c"}}), "a");
  EXPECT_EQ(TokenOf("/?token=", {{"x-consul-token", "b"}, {"authorization", "Bearer c"}}), "b");
  EXPECT_EQ(TokenOf("/", {{"authorization", "Bearer  c d"}}), "c");
  EXPECT_EQ(TokenOf("/", {{"authorization", "bearer c"}}), "");
  EXPECT_EQ(TokenOf("/", {{"authorization", "Bearer "}}), "");
}

TEST(ExchangeTest, ASuccessIs200AndAnErrorIsItsBareText) {
  auto [ok, empty] = MakeExchange({});
  ok.Ok();
  EXPECT_EQ(empty->line(), "200 ");
  auto [bad, text] = MakeExchange({});
  bad.Text(404, "no such thing");
  EXPECT_EQ(text->line(), "404 no such thing");
}

// Go's decoder reads one value too.
TEST(ExchangeTest, ABodyIsItsFirstValue) {
  auto [exchange, answer] = MakeExchange({.body = R"({"Name":"web"} and more)"});
  EXPECT_EQ(JsonBody(exchange, "Request decode failed: "), (Json{{"Name", "web"}}));
  auto [bad, text] = MakeExchange({.body = R"({"Name":"web"] and more)"});
  EXPECT_EQ(JsonBody(bad, "Request decode failed: "), std::nullopt);
  EXPECT_EQ(text->line(), "400 Request decode failed: json: the text is not valid JSON");
}

TEST(ExchangeTest, JsonIsIndentedByFourIfThatIsAskedFor) {
  auto [plain, answer] = MakeExchange({});
  plain.OkJson(Json{{"a", 1}});
  EXPECT_EQ(answer->body, R"({"a":1})");
  EXPECT_EQ(answer->content_type, "application/json");
  auto [pretty, indented] = MakeExchange({.target = "/?pretty"});
  pretty.OkJson(Json{{"a", 1}});
  EXPECT_EQ(indented->body, "{\n    \"a\": 1\n}\n");
}

TEST(ExchangeTest, BytesThatAreNotUtf8AreReplacedInJson) {
  auto [exchange, answer] = MakeExchange({});
  exchange.OkJson(Json("\xff"));
  EXPECT_EQ(answer->body, "\"\xEF\xBF\xBD\"");
}

TEST(ExchangeTest, AnIndexIsNeverZero) {
  auto [exchange, answer] = MakeExchange({});
  exchange.SetIndex(7);
  exchange.SetIndex(0);
  exchange.Text(404, "");
  EXPECT_EQ(answer->header("X-Consul-Index"), "1");
}

TEST(ExchangeTest, ALongAnswerIsPackedForWhoTakesIt) {
  const std::string text(10'000, 'x');
  auto [exchange, answer] = MakeExchange({.headers = {{"accept-encoding", "deflate, gzip"}}});
  exchange.OkText(text);
  EXPECT_EQ(answer->header("Content-Encoding"), "gzip");
  EXPECT_LT(answer->body.size(), 1000U);
  EXPECT_EQ(Unpacked(answer->body), text);
  for (const char* accepted : {"deflate", "gzip;q=0"}) {
    auto [other, plain] = MakeExchange({.headers = {{"accept-encoding", accepted}}});
    other.OkText(text);
    EXPECT_EQ(plain->body, text);
    EXPECT_EQ(plain->header("Vary"), "Accept-Encoding");
  }
}

TEST(ExchangeTest, ASecondAnswerIsDroppedAndNoneIs500) {
  auto [twice, answer] = MakeExchange({});
  twice.OkText("first");
  twice.Text(500, "second");
  EXPECT_EQ(answer->line(), "200 first");
  EXPECT_EQ(answer->answers, 1);
  std::shared_ptr<FakeAnswer> dropped = MakeExchange({}).second;
  EXPECT_EQ(dropped->status, 500U);
}

TEST(ExchangeTest, ErrorsOfTheStoreHaveTheirStatus) {
  const auto line = [](Code code, std::string text) {
    auto [exchange, answer] = MakeExchange({});
    exchange.StoreError({code, std::move(text)});
    return answer->line();
  };
  EXPECT_EQ(line(Code::kUnavailable, "etcdserver: no leader"), "500 No cluster leader");
  EXPECT_EQ(line(Code::kDeadlineExceeded, "late"), "500 No cluster leader");
  EXPECT_EQ(line(Code::kPermissionDenied, "etcdserver: permission denied"),
            "403 Permission denied: etcdserver: permission denied");
  EXPECT_EQ(line(Code::kUnauthenticated, "etcdserver: invalid auth token"), "403 ACL not found");
  EXPECT_EQ(line(Code::kResourceExhausted, "etcdserver: mvcc: database space exceeded"),
            "500 etcdserver: mvcc: database space exceeded");
}

TEST(ExchangeTest, ABodyThatIsNoJsonIsRefused) {
  const auto line = [](std::string body) {
    auto [exchange, answer] = MakeExchange({.body = std::move(body)});
    const std::optional<Json> json = JsonBody(exchange, "Request decode failed: ");
    return json ? "json " + json->dump() : answer->line();
  };
  EXPECT_EQ(line(R"({"a":[1]})"), R"(json {"a":[1]})");
  EXPECT_EQ(line(""), "400 Request decode failed: EOF");
  EXPECT_THAT(line("{"), testing::StartsWith("400 Request decode failed: "));
  EXPECT_THAT(line(std::string(5000, '[')),
              testing::StartsWith("400 Request decode failed: json: nested too deeply"));
}

}  // namespace
}  // namespace kvorum::consul
