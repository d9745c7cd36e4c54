// Requests for a WebSocket, as Go's servers judge them.
#include "rpc/http1/websocket_handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace kvorum::rpc {
namespace {

HttpRequest GoodRequest() {
  HttpRequest request;
  request.method = "GET";
  request.target = "/v3/watch";
  request.headers = {{"connection", "keep-alive, Upgrade"},
                     {"upgrade", "WebSocket"},
                     {"sec-websocket-version", "13"},
                     {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
  return request;
}

HttpRequest With(std::string name, std::string value) {
  HttpRequest request = GoodRequest();
  std::ranges::find(request.headers, name, &HttpHeader::name)->value = std::move(value);
  return request;
}

unsigned StatusOf(const HttpRequest& request) {
  const auto accepted = AcceptWebSocket(request);
  return accepted.has_value() ? accepted->status : accepted.error().status;
}

// RFC 6455, section 1.3.
TEST(WebSocketHandshake, TheKeyIsAnsweredAsInTheRfc) {
  ASSERT_TRUE(IsWebSocketRequest(GoodRequest()));
  const auto head = AcceptWebSocket(GoodRequest());
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->status, 101u);
  const auto accept = std::ranges::find(head->headers, "Sec-WebSocket-Accept", &HttpHeader::name);
  ASSERT_NE(accept, head->headers.end());
  EXPECT_EQ(accept->value, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketHandshake, OtherRequestsAreLeftAlone) {
  EXPECT_FALSE(IsWebSocketRequest(With("connection", "keep-alive")));
  EXPECT_FALSE(IsWebSocketRequest(With("connection", "Upgrade-Insecure")));
  EXPECT_FALSE(IsWebSocketRequest(With("upgrade", "h2c")));
  EXPECT_FALSE(IsWebSocketRequest(With("connection", ", Upgrade"))) << "no list begins so";
  EXPECT_TRUE(IsWebSocketRequest(With("upgrade", "h2c, websocket")));
}

TEST(WebSocketHandshake, AFaultyRequestIsRefused) {
  HttpRequest post = GoodRequest();
  post.method = "POST";
  EXPECT_EQ(StatusOf(post), 405u);
  EXPECT_EQ(StatusOf(With("sec-websocket-version", "12")), 400u);
  EXPECT_EQ(StatusOf(With("sec-websocket-version", "8, 13")), 101u);
  for (const char* key : {"", "YWJj", "not base64 at all, but long", "MDEyMzQ1Njc4OWFiY2RlZmc="})
    EXPECT_EQ(StatusOf(With("sec-websocket-key", key)), 400u) << key;
  const auto refusal = AcceptWebSocket(With("sec-websocket-version", "12"));
  EXPECT_EQ(std::ranges::count(refusal.error().headers, "Sec-Websocket-Version", &HttpHeader::name),
            1);
}

}  // namespace
}  // namespace kvorum::rpc
