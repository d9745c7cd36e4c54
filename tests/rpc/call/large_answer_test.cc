// Answers that are too large to be held: refused by size, made in pieces, broken off, cut.
#include "rpc/call/large_answer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

constexpr std::string_view kPieces = "/test.Echo/Pieces";
constexpr std::string_view kSize = "/test.Echo/Size";

std::string LargeWindow() { return Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(0x70000000)); }

TEST(LargeAnswerTest, OneAboveTheBoundIsRefusedInGrpcsWords) {
  Options options;
  options.max_send_message_bytes = 1000;
  TestServer server(options);
  Http2Client client(server.port());
  EXPECT_EQ(client.Call(1, RequestHeaders(kSize), Message("1000")).message.size(), 1005);
  for (const std::string_view path : {kSize, kPieces}) {
    const auto refused = client.Call(path == kSize ? 3 : 5, RequestHeaders(path), Message("1001"));
    EXPECT_EQ(refused.grpc_status, "8") << path;
    EXPECT_EQ(refused.grpc_message, "grpc: trying to send message larger than max (1001 vs. 1000)");
    EXPECT_EQ(refused.message, "");
  }
  EXPECT_TRUE(client.Works(7));
}

TEST(LargeAnswerTest, AMessageOfAStreamAboveTheBoundEndsItsStream) {
  Options options;
  options.max_send_message_bytes = 999;
  TestServer server(options);
  Http2Client client(server.port());
  const auto refused = client.Call(1, RequestHeaders("/test.Echo/Expand"), Message("2"));
  EXPECT_EQ(refused.grpc_status, "8");
  EXPECT_EQ(refused.grpc_message, "trying to send message larger than max (1000 vs. 999)");
  EXPECT_TRUE(client.Works(3));
}

TEST(LargeAnswerTest, OneInPiecesIsOneMessage) {
  TestServer server;
  Http2Client client(server.port());
  const auto outcome = client.Call(1, RequestHeaders(kPieces), Message("1000000"));
  EXPECT_EQ(outcome.grpc_status, "0");
  std::string expected = Message("begun" + std::string(999'995, 'p'));
  EXPECT_EQ(outcome.message, expected);
  EXPECT_EQ(server.pieces, 100);
  const CallEnd end = server.last_end();
  EXPECT_EQ(end.sent_bytes, 1'000'000);
  EXPECT_EQ(end.sent_messages, 1);
  EXPECT_TRUE(client.Works(3));
}

TEST(LargeAnswerTest, AClientThatReadsNothingCostsAFewPieces) {
  TestServer server;
  Http2Client client(server.port());
  client.Send(LargeWindow());
  client.Send(UnaryCall(1, kPieces, "100000000"));
  std::size_t received = 0;
  while (received < 65'535) received += client.NextOf(FrameType::kData)->payload.size();
  ASSERT_TRUE(client.Works(3));
  EXPECT_LT(server.pieces, 60) << "of ten thousand";
  client.Send(Frame(FrameType::kRstStream, 0, 1, BigEndian32(kCancel)));
  EXPECT_TRUE(Eventually([&] { return server.makers == 0; })) << "it left: no more is made";
  EXPECT_TRUE(client.Works(5));
}

TEST(LargeAnswerTest, OneThatCannotGoOnIsBrokenOff) {
  TestServer server;
  Http2Client client(server.port());
  client.Send(LargeWindow());
  const auto outcome = client.Call(1, RequestHeaders(kPieces), Message("1000000 7"));
  EXPECT_EQ(outcome.reset, 2U) << "INTERNAL_ERROR";
  EXPECT_LT(outcome.message.size(), 70'100);
  EXPECT_TRUE(Eventually([&] { return server.makers == 0; }));
  EXPECT_TRUE(client.Works(3));
}

TEST(LargeAnswerTest, AConnectionThatGoesTakesItsPiecesAlong) {
  TestServer server;
  {
    Http2Client client(server.port());
    client.Send(UnaryCall(1, kPieces, "100000000"));
    ASSERT_TRUE(client.NextOf(FrameType::kData));
  }
  EXPECT_TRUE(Eventually([&] { return server.makers == 0; }));
}

// Clients that ask for much and read nothing make room for one that reads.
TEST(LargeAnswerTest, SlowReadersOfTheLargestAnswersAreCut) {
  AnswerMemory memory(std::size_t{3} << 20, Duration::zero());
  Options options;
  options.answers = &memory;
  TestServer server(options);
  std::vector<std::unique_ptr<Http2Client>> slow;
  for (int i = 0; i < 8; ++i) {
    slow.push_back(std::make_unique<Http2Client>(server.port()));
    ASSERT_TRUE(slow.back()->Send(UnaryCall(1, kSize, "1000000")));
  }
  EXPECT_TRUE(Eventually([&] { return server.server().stats().cut_connections >= 5; }));
  EXPECT_TRUE(Eventually([&] { return server.server().stats().open_connections <= 3; }));
  EXPECT_LE(memory.used_bytes(), memory.limit_bytes());
  slow.clear();
  EXPECT_TRUE(Eventually([&] { return memory.used_bytes() == 0; }));
  Http2Client client(server.port());
  client.Send(LargeWindow());
  EXPECT_EQ(client.Call(1, RequestHeaders(kSize), Message("2000000")).message.size(), 2'000'005);
}

// If no client can be cut off, a connection that holds something starts no more requests, and one
// that holds nothing is served.
TEST(LargeAnswerTest, AFullMemoryHoldsBackWhoFillsIt) {
  AnswerMemory memory(std::size_t{1} << 20, std::chrono::hours(1));
  Options options;
  options.answers = &memory;
  TestServer server(options);
  Http2Client greedy(server.port());
  std::string calls;
  for (std::uint32_t i = 0; i < 10; ++i) calls += UnaryCall(2 * i + 1, kSize, "1000000");
  greedy.Send(calls);
  EXPECT_TRUE(Eventually([&] { return memory.full(); }));
  Http2Client other(server.port());
  EXPECT_TRUE(other.Works(1));
  EXPECT_LE(server.started, 3 + 1) << "two calls fill it";
  // The others are answered while its client takes them.
  greedy.Send(LargeWindow());
  EXPECT_EQ(greedy.Await(1).message.size(), 1'000'005);
}

// Requests started while there was room, and answered when there is none.
TEST(LargeAnswerTest, AnswersThatFindTheMemoryFullAreRefused) {
  AnswerMemory memory(std::size_t{2} << 20, std::chrono::hours(1));
  Options options;
  options.answers = &memory;
  TestServer server(options);
  Http2Client greedy(server.port());
  const std::string message = Message(std::string(499'995, 'h'));
  for (std::uint32_t stream = 1; stream < 40; stream += 2) {
    std::string call = Frame(FrameType::kHeaders, kEndHeaders, stream,
                             HeaderBlock(RequestHeaders("/test.Echo/Hold")));
    for (std::size_t at = 0; at < message.size(); at += 10'000) {
      call += Frame(FrameType::kData, at + 10'000 == message.size() ? kEndStream : 0, stream,
                    std::string_view(message).substr(at, 10'000));
    }
    ASSERT_TRUE(greedy.Send(call));
  }
  ASSERT_TRUE(Eventually([&] { return server.held == 20; }));
  server.Release();
  // Those after the first four are refused, which costs nothing.
  EXPECT_EQ(greedy.Await(39).grpc_message, "too many answer bytes wait on this connection");
  EXPECT_LT(memory.used_bytes(), 4U << 20);
  EXPECT_TRUE(greedy.Works(41)) << "once it has taken the others";
}

// Refusals are answers, too: they do not pile up for a client that leaves its socket full.
TEST(LargeAnswerTest, RefusalsForAClientThatDoesNotReadAreBounded) {
  TestServer server;
  Http2Client client(server.port());
  const timeval limit{1, 0};
  setsockopt(client.socket().fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  std::string calls;
  std::uint32_t stream = 1;
  bool taken = true;
  constexpr std::uint32_t kMany = 60'000;
  for (; stream < 2 * kMany && taken; stream += 2) {
    calls += Frame(FrameType::kHeaders, kEndHeaders | kEndStream, stream,
                   HeaderBlock(RequestHeaders("/no.such" + std::to_string(stream) +
                                              std::string(1500, 'x') + "/Method")));
    if (calls.size() < 64 * 1024) continue;
    taken = client.Send(calls);
    calls.clear();
  }
  EXPECT_FALSE(taken) << "a client that does not read was read on for ever";
  Http2Client other(server.port());
  EXPECT_TRUE(other.Works(1));
}

}  // namespace
}  // namespace kvorum::rpc
