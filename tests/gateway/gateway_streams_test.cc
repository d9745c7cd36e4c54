// Streaming calls of the gateway over a small member.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

#include "base/api_errors.h"
#include "rpc/io/loop.h"
#include "server/services/maintenance/snapshot_stream.h"
#include "tests/gateway/gateway_fixture.h"

namespace kvorum::server::gateway {
namespace {

TEST_F(GatewayTest, AKeepAliveHasALineForEachValue) {
  ASSERT_EQ(Plain("/v3/lease/grant", R"({"ID":"7","TTL":"60"})").substr(0, 4), "200 ");
  const auto answer = Ask(Post("/v3/lease/keepalive", R"({"ID":"7"}{"ID":8} {"ID":"x"}{"ID":7})"));
  EXPECT_EQ(answer->head->status, 200u);
  EXPECT_EQ(answer->head->content_type, "application/json");
  EXPECT_EQ(answer->HeaderOf("Grpc-Metadata-Content-Type"), "application/grpc");
  const std::string body = WithoutHeader(answer->body);
  EXPECT_EQ(body.substr(0, body.find("{\"error\"")),
            "{\"result\":{\"ID\":\"7\",\"TTL\":\"60\"}}\n{\"result\":{\"ID\":\"8\"}}\n");
  EXPECT_NE(body.find("{\"error\":{\"code\":3,"), std::string::npos)
      << "what is no request ends them: " << body;
}

// A client that waits for the answer to a typo would wait for ever.
TEST_F(GatewayTest, AMessageThatIsNoneGetsAnErrorAndEndsTheCall) {
  const auto expect_error = [&](const std::string& path, const std::string& body) {
    const auto answer = Ask(Post(path, body));
    EXPECT_EQ(answer->head->status, 400u) << path << body;
    EXPECT_EQ(answer->head->content_type, "application/json");
    EXPECT_EQ(answer->body.substr(0, 19), "{\"error\":{\"code\":3,") << path << answer->body;
  };
  for (const std::string path : {"/v3/watch", "/v3/lease/keepalive"}) {
    for (const std::string body : {"[]", "1", "nonsense", "{\"create_request\":", "}"})
      expect_error(path, body);
  }
  expect_error("/v3/watch", "{\"create_request\":1}{}");
  expect_error("/v3/watch", "{\"create_request\":{\"key\":\"!!\"}}");
  expect_error("/v3/lease/keepalive", "{\"ID\":[]}");
  const auto answer =
      Ask(Post("/v3/watch", R"({"create_request":{"key":"YQ=="}}{"progress_request":{}} [1])"));
  EXPECT_EQ(answer->head->status, 200u);
  EXPECT_NE(answer->body.find("\"created\":true"), std::string::npos)
      << "what came before is served";
  EXPECT_NE(answer->body.find("\n{\"error\":{\"code\":3,"), std::string::npos) << answer->body;
}

TEST_F(GatewayTest, AFaultWaitsForTheAnswersOfAClientThatDoesNotRead) {
  const auto body = std::make_shared<SentOn>(served_.lanes().io());
  const auto watch = Send(PostOpen("/v3/watch", body));
  watch->reads = false;
  const auto send = [&](std::string bytes) {
    ASSERT_TRUE(served_.lanes().RunUntil([&] { return body->is_read(); }));
    body->Send(std::move(bytes));
  };
  send(R"({"create_request":{"key":"YQ=="}})");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return !watch->body.empty(); }));
  send(R"({"create_request":{"key":"Yg=="}} nonsense)");
  served_.lanes().RunUntil([&] { return watch->ended; });
  EXPECT_FALSE(watch->ended);
  watch->reads = true;
  watch->Take();
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return watch->ended; }));
  EXPECT_NE(watch->body.find("\"watch_id\":\"1\",\"created\":true"), std::string::npos)
      << watch->body;
  EXPECT_NE(watch->body.find("\n{\"error\":{\"code\":3,"), std::string::npos) << watch->body;
}

// A call may last; its request need not.
TEST_F(GatewayTest, ARequestIsKeptNoLongerThanItIsNeeded) {
  const std::string space(1 << 20, ' ');
  const auto watch =
      Send(Post("/v3/watch", space + R"({"create_request":{"key":"YQ=="}})" + space));
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return !watch->body.empty(); }));
  EXPECT_GT(watch->most_held, 1u << 20);
  EXPECT_EQ(watch->held, 0u);
  watch->Leave();
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return watch->ended; }));

  // Half a value is kept, and counted.
  const auto body = std::make_shared<SentOn>(served_.lanes().io());
  const auto put = Send(PostOpen("/v3/kv/put", body));
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return body->is_read(); }));
  body->Send("{" + space);
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return body->is_read(); }));
  EXPECT_GT(put->held, 1u << 20);
  body->Send(R"("key":"YQ=="}  {"more)");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return put->ended; }));
  EXPECT_EQ(put->head->status, 200u);
}

TEST_F(GatewayTest, AStreamWithoutMessagesHasAnEmptyBody) {
  const auto answer = Ask(Post("/v3/lease/keepalive", ""));
  EXPECT_EQ(answer->head->status, 200u);
  EXPECT_EQ(answer->head->content_type, "");
  EXPECT_EQ(answer->body, "");
}

TEST_F(GatewayTest, AWatchGoesOnUntilItsClientLeaves) {
  const auto watch = Send(Post("/v3/watch", R"({"create_request":{"key":"YQ=="}})"));
  const auto lines = [&] { return std::ranges::count(watch->body, '\n'); };
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return lines() == 1; }));
  EXPECT_EQ(WithoutHeader(watch->body), "{\"result\":{\"created\":true}}\n");
  ASSERT_EQ(Plain("/v3/kv/put", R"({"key":"YQ==","value":"Yg=="})"), "200 {}");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return lines() == 2; }));
  EXPECT_NE(watch->body.find(R"("events":[{"kv":{"key":"YQ==","create_revision":"2",)"),
            std::string::npos);
  EXPECT_FALSE(watch->ended);
  watch->Leave();
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return watch->ended; }));
  EXPECT_EQ(lines(), 2) << "nobody is told";
}

TEST_F(GatewayTest, AClientThatDoesNotReadHasOneMessageWaiting) {
  const auto watch = Send(Post("/v3/watch", R"({"create_request":{"key":"YQ=="}})"));
  watch->reads = false;
  served_.lanes().RunUntil([&] { return !watch->body.empty(); });
  const std::string first = watch->body;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(Plain("/v3/kv/put", R"({"key":"YQ=="})"), "200 {}");
  EXPECT_EQ(watch->body, first);
  watch->reads = true;
  watch->Take();
  EXPECT_TRUE(served_.lanes().RunUntil(
      [&] { return watch->body.find(R"("mod_revision":"6")") != std::string::npos; }));
  watch->Leave();
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return watch->ended; }));
}

TEST_F(GatewayTest, ASavedSnapshotHasALineForEachMessage) {
  const auto answer = Ask(Post("/v3/maintenance/snapshot", "{}"));
  ASSERT_EQ(answer->head->status, 200u);
  EXPECT_GE(std::ranges::count(answer->body, '\n'), 2) << "the file, then its hash";
  EXPECT_EQ(answer->body.substr(0, 11), "{\"result\":{");
}

TEST_F(GatewayTest, AnErrorBeforeTheFirstMessageHasItsStatus) {
  std::vector<std::shared_ptr<KeptAnswer>> saves;
  for (int i = 0; i < SnapshotStream::kMaxAtOnce; ++i) {
    saves.push_back(Send(Post("/v3/maintenance/snapshot", "{}")));
    saves.back()->reads = false;
    ASSERT_TRUE(served_.lanes().RunUntil([&] { return !saves.back()->body.empty(); }));
  }
  const auto answer = Ask(Post("/v3/maintenance/snapshot", "{}"));
  ASSERT_EQ(answer->head->status, 500u);
  EXPECT_EQ(answer->body, "{\"error\":{\"code\":2,\"message\":\"" +
                              std::string(kErrTooManyRequests.message) + "\"}}\n");
  EXPECT_EQ(answer->head->content_type, "application/json");
  for (const auto& save : saves) {
    save->reads = true;
    save->Take();
    EXPECT_TRUE(served_.lanes().RunUntil([&] { return save->ended; }));
  }
}

TEST_F(GatewayTest, AStreamOfOneRequestNeedsItsJson) {
  EXPECT_EQ(Outcome("/v3/election/observe", "{"), R"(400 {"code":3, "message":"unexpected EOF"})");
}

TEST_F(GatewayTest, ALargeRequestOfAStreamIsRefused) {
  const std::string key(kMaxMessageBytes * 4 / 3, 'A');
  const auto answer = Ask(Post("/v3/watch", R"({"create_request":{"key":")" + key + R"("}})"));
  EXPECT_EQ(answer->head->status, 429u);
  EXPECT_EQ(answer->body.substr(0, 68),
            R"({"error":{"code":8,"message":"grpc: received message larger than max)");
}

TEST_F(GatewayTest, MessagesAreHandledWhileTheBodyIsOpen) {
  const auto body = std::make_shared<SentOn>(served_.lanes().io());
  const auto watch = Send(PostOpen("/v3/watch", body));
  const auto lines = [&] { return std::ranges::count(watch->body, '\n'); };
  const auto send = [&](std::string bytes) {
    ASSERT_TRUE(served_.lanes().RunUntil([&] { return body->is_read(); }));
    body->Send(std::move(bytes));
  };
  send(R"({"create_request":{"key":"YQ=="}}{"create_req)");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return lines() == 1; }));
  send(R"(uest":{"key":"Yg=="}})");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return lines() == 2; }));
  send(R"({"cancel_request":{"watch_id":"0"}})");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return lines() == 3; }));
  EXPECT_NE(watch->body.find(R"("canceled":true)"), std::string::npos);
  send("");
  EXPECT_FALSE(watch->ended) << "a watch outlives its requests";
  watch->Leave();
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return watch->ended; }));
}

TEST_F(GatewayTest, AnOpenBodyThatIsNoJsonEndsTheCall) {
  const auto body = std::make_shared<SentOn>(served_.lanes().io());
  const auto answer = Send(PostOpen("/v3/lease/keepalive", body));
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return body->is_read(); }));
  body->Send(R"({"ID":"8"} nonsense)");
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return answer->ended; }));
  EXPECT_EQ(WithoutHeader(answer->body).substr(0, 41),
            "{\"result\":{\"ID\":\"8\"}}\n{\"error\":{\"code\":3,");
}

TEST_F(GatewayTest, AUnaryCallWaitsForItsMessage) {
  const auto body = std::make_shared<SentOn>(served_.lanes().io());
  const auto answer = Send(PostOpen("/v3/kv/put", body));
  body->Send(R"({"key":)");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return body->is_read(); }));
  EXPECT_FALSE(answer->ended);
  body->Send(R"("YQ=="})");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return answer->ended; }));
  EXPECT_EQ(WithoutHeader(answer->body), "{}");
}

TEST_F(GatewayTest, AClientThatLeavesBeforeItsMessageHasCalledNothing) {
  const auto body = std::make_shared<SentOn>(served_.lanes().io());
  const auto answer = Send(PostOpen("/v3/kv/deleterange", body));
  body->Send(R"({"key":"AA==", "range_end":"AA==")");
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return body->is_read(); }));
  answer->Leave();
  body->Send(Fail(Code::kCanceled, "left"));
  ASSERT_TRUE(served_.lanes().RunUntil([&] { return answer->ended; }));
  EXPECT_EQ(answer->head->status, 500u) << "dropped";
}

TEST_F(GatewayTest, ACallThatEndsBeforeItBeganLeavesNoTimer) {
  rpc::Loop loop(0, "io");
  loop.Start();
  std::promise<void> left;
  loop.Post([&] {
    const auto body = std::make_shared<SentOn>(loop);
    rpc::HttpRequest request = PostOpen("/v3/kv/deleterange", body);
    request.loop = &loop;
    request.headers.push_back({"Grpc-Timeout", "50m"});
    mux_.Serve(std::move(request), rpc::HttpReply(std::make_shared<KeptAnswer>(loop)));
    ASSERT_TRUE(body->is_read());
    body->Send(Fail(Code::kCanceled, "left"));
    loop.Post([&] { left.set_value(); });
  });
  left.get_future().wait();
  // The deadline meets no call.
  std::promise<void> later;
  loop.PostAt(SystemClock().Now() + std::chrono::milliseconds(150), [&] { later.set_value(); });
  later.get_future().wait();
  loop.Stop();
}

}  // namespace
}  // namespace kvorum::server::gateway
