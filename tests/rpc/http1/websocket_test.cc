// WebSockets and bodies that are open, by raw bytes: limits that the whole server has too large or
// too long for a test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "tests/damage.h"
#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kUpgrade =
    "GET /stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
constexpr std::string_view kOpenRequest =
    "POST /stream HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
    "Expect: 100-continue\r\n\r\n";
constexpr unsigned char kText = 0x81;       // the last frame of its message
constexpr unsigned char kTextBegin = 0x01;  // not the last
constexpr unsigned char kClose = 0x88;

// A client's frame; its mask is zero.
std::string Frame(unsigned char first, std::string_view payload) {
  std::string frame{static_cast<char>(first)};
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    frame += static_cast<char>(0x80 | 126);
    frame += static_cast<char>(payload.size() >> 8);
    frame += static_cast<char>(payload.size() & 0xff);
  }
  return frame + std::string(4, '\0') + std::string(payload);
}

// Reads up to the end of this text, or of the connection.
std::string ReceiveUntil(RawSocket& socket, std::string_view end) {
  std::string received;
  while (received.find(end) == std::string::npos) {
    const std::string more = socket.Receive();
    if (more.empty()) break;
    received += more;
  }
  return received;
}

std::string Close(unsigned code) {
  return {static_cast<char>(kClose), 2, static_cast<char>(code >> 8),
          static_cast<char>(code & 0xff)};
}

TEST(WebSocketTest, MessagesAreLinesAndLinesAreMessages) {
  TestServer server;
  RawSocket socket(server.port());
  socket.Send(kUpgrade);
  EXPECT_THAT(ReceiveUntil(socket, "\r\n\r\n"), StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
  socket.Send(Frame(kText, "one") + Frame(kText, "two\nthree\n\n"));
  EXPECT_EQ(ReceiveUntil(socket, "three"), "\x81\x03one\x81\x03two\x81\x05three");
  socket.Send(Frame(kClose, "\x03\xe8"));
  EXPECT_EQ(socket.ReceiveAll(), Close(1000));
}

// A frame that is cut or changed ends its own connection, if any; the server serves the next.
TEST(WebSocketTest, DamagedFramesEndTheirConnectionAlone) {
  TestServer server;
  const std::string frame = Frame(kText, "one");
  const std::string echo = "\x81\x03one";
  const auto expect_echo = [&] {
    RawSocket socket(server.port());
    socket.Send(kUpgrade);
    EXPECT_THAT(ReceiveUntil(socket, "\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
    socket.Send(frame);
    EXPECT_EQ(ReceiveUntil(socket, "one"), echo);
  };
  const auto answer_to = [&](std::string_view bytes) {
    RawSocket socket(server.port());
    socket.Send(kUpgrade);
    EXPECT_THAT(ReceiveUntil(socket, "\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
    socket.Send(bytes);
    socket.CloseWriting();
    return socket.ReceiveAll();
  };
  expect_echo();
  ForEachCut(frame,
             [&](std::string_view cut) { EXPECT_THAT(answer_to(cut), Not(HasSubstr("one"))); });
  ForEachFlip(
      frame,
      [&](std::string_view flipped, std::size_t at) {
        const std::string answer = answer_to(flipped);
        EXPECT_TRUE(answer.empty() || answer[0] == '\x81' || answer[0] == '\x88') << answer;
        if (at < 2) {  // the frame's head
          EXPECT_THAT(answer, Not(HasSubstr(echo)));
        }
      },
      kOuterAndAllBits);
  expect_echo();
}

TEST(WebSocketTest, FramesBeforeTheHandshakesAnswerAreRefused) {
  TestServer server;
  RawSocket socket(server.port());
  socket.Send(std::string(kUpgrade) + Frame(kText, "early"));
  EXPECT_EQ(socket.ReceiveAll(), "");
}

TEST(WebSocketTest, AMessageHasTheBoundOfABody) {
  Options options;
  options.http_max_body_bytes = 1'000;
  TestServer server(options);
  RawSocket whole(server.port());
  whole.Send(kUpgrade);
  ReceiveUntil(whole, "\r\n\r\n");
  whole.Send(Frame(kText, std::string(1'001, 'x')));
  EXPECT_EQ(whole.ReceiveAll(), Close(1009));
  RawSocket parts(server.port());
  parts.Send(kUpgrade);
  ReceiveUntil(parts, "\r\n\r\n");
  parts.Send(Frame(kTextBegin, std::string(600, 'x')) + Frame(0x80, std::string(600, 'x')));
  EXPECT_EQ(parts.ReceiveAll(), Close(1009));
}

TEST(WebSocketTest, AMessageHasItsTime) {
  Options options;
  options.http_body_timeout = std::chrono::milliseconds(50);
  TestServer server(options);
  RawSocket socket(server.port());
  socket.Send(kUpgrade);
  ReceiveUntil(socket, "\r\n\r\n");
  socket.Send(Frame(kTextBegin, "begun"));
  EXPECT_EQ(socket.ReceiveAll(), Close(1008));
}

TEST(OpenRequestTest, ARequestIsAnsweredWhileItsBodyIsOpen) {
  TestServer server;
  RawSocket socket(server.port());
  socket.Send(kOpenRequest);
  EXPECT_THAT(ReceiveUntil(socket, "\r\n\r\n"), StartsWith("HTTP/1.1 100 Continue\r\n"));
  socket.Send("3\r\none\r\n");
  const std::string first = ReceiveUntil(socket, "one\r\n");
  EXPECT_THAT(first, HasSubstr("Connection: close\r\n"));
  socket.Send("3\r\ntwo\r\n");
  EXPECT_THAT(ReceiveUntil(socket, "two\r\n"), HasSubstr("3\r\ntwo\r\n"));
  socket.Send("0\r\n\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(socket.ReceiveAll(), EndsWith("0\r\n\r\n")) << "it serves no other request";
}

TEST(OpenRequestTest, OneThatBringsNothingIsCutOff) {
  Options options;
  options.http_body_timeout = std::chrono::milliseconds(50);
  TestServer server(options);
  RawSocket socket(server.port());
  socket.Send(kOpenRequest);
  EXPECT_EQ(socket.ReceiveAll(), "HTTP/1.1 100 Continue\r\n\r\n");
}

}  // namespace
}  // namespace kvorum::rpc
