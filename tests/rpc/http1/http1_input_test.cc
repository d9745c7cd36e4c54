// Input over HTTP/1.1 that has no end, or that is not read: it is refused, or left in the client's
// socket. The server keeps a bounded amount of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kMuch = std::size_t{48} << 20;
// The buffers of both sockets, and what is kept of one connection.
constexpr std::size_t kInSockets = std::size_t{16} << 20;
constexpr std::size_t kKept = std::size_t{512} << 10;

class Http1InputTest : public testing::Test {
 protected:
  static Options WithMemory(AnswerMemory& memory) {
    Options options;
    options.answers = &memory;
    return options;
  }
  // Sends the piece over and over, until it is not taken for a while or has been kMuch; the number
  // of bytes sent.
  static std::size_t Pour(RawSocket& socket, const std::string& piece) {
    const timeval limit{.tv_sec = 0, .tv_usec = 300'000};
    setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    std::string pieces;
    while (pieces.size() < 100'000) pieces += piece;
    std::size_t sent = 0;
    while (sent < kMuch && socket.Send(pieces)) sent += pieces.size();
    return sent;
  }
  void ExpectLeftInTheSocket(RawSocket& socket, const std::string& piece) {
    EXPECT_LT(Pour(socket, piece), kInSockets);
    EXPECT_LT(memory_.TakePeakBytes(), kKept);
    RawSocket other(server_.port());
    other.Send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(other.ReceiveAll(), StartsWith("HTTP/1.1 200 OK\r\n"));
  }

  AnswerMemory memory_;
  TestServer server_{WithMemory(memory_)};
};

TEST_F(Http1InputTest, WhatFollowsARequestThatIsBeingHandledWaits) {
  RawSocket socket(server_.port());
  socket.Send("GET /waits HTTP/1.1\r\nHost: a\r\n\r\n");
  ExpectLeftInTheSocket(socket, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST_F(Http1InputTest, PipelinedRequestsWhoseAnswersNobodyReadsWait) {
  RawSocket socket(server_.port());
  ExpectLeftInTheSocket(socket, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
}

// Each answer makes room for as many bytes as its request had, not for another buffer.
TEST_F(Http1InputTest, PipelinedRequestsWhoseAnswersAreReadWaitForTheirTurn) {
  RawSocket socket(server_.port());
  std::thread reader([&] {
    while (!socket.Receive().empty()) {
    }
  });
  Pour(socket, "GET /later HTTP/1.1\r\nHost: a\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_LT(memory_.TakePeakBytes(), kKept);
  shutdown(socket.fd(), SHUT_RDWR);
  reader.join();
}

TEST_F(Http1InputTest, AnOpenBodyWhoseReaderHasStoppedWaits) {
  RawSocket socket(server_.port());
  socket.Send(
      "POST /stream HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  EXPECT_THAT(socket.Receive(), HasSubstr("100 Continue"));
  ExpectLeftInTheSocket(socket, "400\r\n" + std::string(1024, 'b') + "\r\n");
}

TEST_F(Http1InputTest, MessagesOfAWebSocketWhoseReaderHasStoppedWait) {
  RawSocket socket(server_.port());
  socket.Send(
      "GET /stream HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n");
  EXPECT_THAT(socket.Receive(), StartsWith("HTTP/1.1 101 "));
  const std::string frame = std::string("\x81\xfe\x04\x00\0\0\0\0", 8) + std::string(1024, 'b');
  ExpectLeftInTheSocket(socket, frame);
}

TEST_F(Http1InputTest, FramingWithoutAnEndIsRefused) {
  const auto answer = [&](const std::string& path, const std::string& start,
                          const std::string& piece) {
    RawSocket socket(server_.port());
    socket.Send("POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
                start);
    std::string pieces;
    while (pieces.size() < 80'000) pieces += piece;
    socket.Send(pieces);
    return socket.ReceiveAll();
  };
  for (const std::string path : {"/echo", "/nothing", "/v3/watch"}) {
    for (const std::string start : {"1;", "0;", "1 "}) {
      EXPECT_THAT(answer(path, start, start.ends_with(';') ? "x" : " "),
                  StartsWith("HTTP/1.1 400 Bad Request\r\n"))
          << path << start;
    }
    EXPECT_THAT(answer(path, "", "0"), StartsWith("HTTP/1.1 400 Bad Request\r\n")) << path;
    EXPECT_THAT(answer(path, "0\r\n", "a: b\r\n"), StartsWith("HTTP/1.1 431 ")) << path;
    EXPECT_THAT(answer(path, "0\r\na: ", "b"), StartsWith("HTTP/1.1 431 ")) << path;
  }
  EXPECT_LT(memory_.TakePeakBytes(), kKept);
}

// The body's time is that of all of it, and what stands around its data buys none.
TEST_F(Http1InputTest, ATrickleIsCutOff) {
  Options options;
  options.http_header_timeout = std::chrono::milliseconds(200);
  options.http_body_timeout = std::chrono::milliseconds(200);
  TestServer server(options);
  for (const std::string start :
       {"GET /health HTTP/1.1\r\nHost: a\r\nX: ",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: "}) {
    RawSocket socket(server.port());
    socket.Send(start);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (socket.Send("x") && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_LT(std::chrono::steady_clock::now(), end) << start;
  }
}

// Many connections, each with a body that stops below the bound of one.
TEST_F(Http1InputTest, UnfinishedBodiesOfAllConnectionsAreBounded) {
  AnswerMemory memory(4 * 1024 * 1024, Duration::zero());
  TestServer server(WithMemory(memory));
  std::vector<std::unique_ptr<RawSocket>> sockets;
  for (int i = 0; i < 20; ++i) {
    sockets.push_back(std::make_unique<RawSocket>(server.port()));
    sockets.back()->Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
    sockets.back()->Send(std::string(1'000'000, 'b'));
  }
  EXPECT_TRUE(Eventually([&] { return memory.used_bytes() <= memory.limit_bytes(); }));
  EXPECT_LT(memory.TakePeakBytes(), 2 * memory.limit_bytes());
  EXPECT_TRUE(Eventually([&] { return server.server().stats().cut_connections > 0; }));
  sockets.clear();
  EXPECT_TRUE(Eventually([&] { return memory.used_bytes() == 0; }));
}

}  // namespace
}  // namespace kvorum::rpc
