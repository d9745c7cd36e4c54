// gRPC over HTTP/2, frame by frame: windows, resets, pings and the order of shutdown.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <string>

#include "tests/rpc/http2_fixture.h"

namespace kvorum::rpc {
namespace {

// Go's HTTP/2 takes a number of streams above 2^31 - 1 for none and falls back to its default; no
// client may be held to fewer streams than were configured.
TEST_F(Http2Test, AsManyStreamsAsThereAreIdsAreNoLimit) {
  constexpr std::uint16_t kMaxConcurrentStreams = 3;
  const auto announced = [](std::uint32_t streams) {
    Options options;
    options.max_concurrent_streams = streams;
    TestServer server(options);
    Http2Client client(server.port());
    EXPECT_TRUE(client.Works(1));
    return client.Setting(kMaxConcurrentStreams);
  };
  EXPECT_EQ(announced(5), 5);
  EXPECT_EQ(announced(0x7fff'ffff), 0x7fff'ffff);
  EXPECT_EQ(announced(0x8000'0000), std::nullopt);
  EXPECT_EQ(announced(0xffff'ffff), std::nullopt);
}

TEST_F(Http2Test, AnswersWaitForTheClientsWindow) {
  // An initial window of 10 bytes.
  Http2Client client(server_.port(),
                     std::string(kPreface) + Frame(FrameType::kSettings, 0, 0,
                                                   std::string("\0\4", 2) + BigEndian32(10)));
  client.Send(UnaryCall(1, "/test.Echo/Size", "25"));
  const auto headers = client.NextOf(FrameType::kHeaders);
  ASSERT_TRUE(headers);
  auto data = client.Next();
  ASSERT_TRUE(data);
  EXPECT_EQ(data->payload.size(), 10);
  EXPECT_TRUE(client.Works(3));  // others are not held up (its answer is 10 bytes too)
  client.Send(Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(1)));
  data = client.NextOf(FrameType::kData);
  EXPECT_EQ(data->payload.size(), 1);
  client.Send(Frame(FrameType::kWindowUpdate, 0, 1, BigEndian32(100)));
  data = client.NextOf(FrameType::kData);
  EXPECT_EQ(data->payload.size(), 19);
  EXPECT_EQ(client.NextOf(FrameType::kHeaders)->headers.at(0).second, "0");
}

TEST_F(Http2Test, LargeAnswersShareTheConnectionFairly) {
  const std::string large_window =
      std::string(kPreface) +
      Frame(FrameType::kSettings, 0, 0, std::string("\0\4", 2) + BigEndian32(0x7fffffff)) +
      Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(0x40000000));
  Http2Client client(server_.port(), large_window);
  constexpr std::size_t kBytes = 2'000'000;
  std::string calls;  // in one write: the first answer must not be out before the others are asked
  for (const std::uint32_t stream : {1U, 3U, 5U})
    calls += UnaryCall(stream, "/test.Echo/Size", std::to_string(kBytes));
  client.Send(calls);
  std::map<std::uint32_t, std::size_t> received;
  // When the first has come in full, the others are not far behind.
  while (received[1] < kBytes && received[3] < kBytes && received[5] < kBytes) {
    const auto frame = client.NextOf(FrameType::kData);
    ASSERT_TRUE(frame);
    received[frame->stream_id] += frame->payload.size();
  }
  for (const auto& [stream, bytes] : received) EXPECT_GT(bytes, kBytes / 2) << stream;
}

TEST_F(Http2Test, WindowOfAnUnreadStreamStaysShut) {
  Options options;
  options.stream_window_bytes = 65'535;
  TestServer server(options);
  Http2Client client(server.port());
  client.Send(
      Frame(FrameType::kHeaders, kEndHeaders, 1, HeaderBlock(RequestHeaders("/test.Echo/Stall"))));
  for (int i = 0; i < 4; ++i)
    client.Send(Frame(FrameType::kData, 0, 1, Message(std::string(16'000, 'w'))));
  EXPECT_TRUE(client.Works(3));  // reads on and sees no window for stream 1
  // More than the window is a violation.
  client.Send(Frame(FrameType::kData, 0, 1, std::string(16'000, 'w')));
  const auto outcome = client.Await(1);
  EXPECT_TRUE(outcome.reset.has_value());
  EXPECT_TRUE(Eventually([&] { return server.cancelled == 1; }));
}

TEST_F(Http2Test, ClientsResetIsAQuietCancel) {
  client_.Send(UnaryCall(1, "/test.Echo/Hold", "h"));
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  client_.Send(Frame(FrameType::kRstStream, 0, 1, BigEndian32(kCancel)));
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 1; }));
  server_.Release();
  EXPECT_TRUE(client_.Works(3));
}

TEST_F(Http2Test, LostConnectionCancelsItsCalls) {
  {
    Http2Client other(server_.port());
    other.Send(
        UnaryCall(1, "/test.Echo/Hold", "h") + UnaryCall(3, "/test.Echo/Hold", "h") +
        Frame(FrameType::kHeaders, kEndHeaders, 5, HeaderBlock(RequestHeaders("/test.Echo/Chat"))));
    ASSERT_TRUE(Eventually([&] { return server_.held == 2 && server_.started == 3; }));
  }
  EXPECT_TRUE(Eventually([&] { return server_.cancelled == 3 && server_.ended == 3; }));
}

TEST_F(Http2Test, PingIsAnswered) {
  client_.Send(Frame(FrameType::kPing, 0, 0, "12345678"));
  const auto pong = client_.NextOf(FrameType::kPing);
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->flags, kAck);
  EXPECT_EQ(pong->payload, "12345678");
}

TEST_F(Http2Test, ShutdownSaysGoodbyeTwice) {
  client_.Send(UnaryCall(1, "/test.Echo/Hold", "h"));
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  auto shutdown =
      std::async(std::launch::async, [&] { server_.Shutdown(std::chrono::seconds(10)); });
  const auto notice = client_.NextOf(FrameType::kGoAway);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->last_stream_id(), 0x7fffffffU);
  EXPECT_EQ(notice->error_code(), kNoError);
  const auto ping = client_.NextOf(FrameType::kPing);
  ASSERT_TRUE(ping);
  // A call that was in flight is still served.
  EXPECT_TRUE(client_.Works(3));
  client_.Send(Frame(FrameType::kPing, kAck, 0, ping->payload));
  const auto last = client_.NextOf(FrameType::kGoAway);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->last_stream_id(), 3U);
  server_.Release();
  EXPECT_EQ(client_.Await(1).message, Message("h"));
  EXPECT_EQ(client_.Next(), std::nullopt);  // and the connection is closed
  client_.socket().CloseWriting();
  shutdown.get();
}

// A client that gets this error makes the call elsewhere: a write would be done twice.
TEST_F(Http2Test, ACallBehindTheLastOneThatIsNamedInTheGoodbyeIsNotBegun) {
  client_.Send(UnaryCall(1, "/test.Echo/Hold", "h"));
  ASSERT_TRUE(Eventually([&] { return server_.held == 1; }));
  auto shutdown =
      std::async(std::launch::async, [&] { server_.Shutdown(std::chrono::seconds(10)); });
  ASSERT_TRUE(client_.NextOf(FrameType::kGoAway));
  const auto ping = client_.NextOf(FrameType::kPing);
  ASSERT_TRUE(ping);
  // gRPC's clients put the ping's answer in front of calls that wait to be sent.
  client_.Send(Frame(FrameType::kPing, kAck, 0, ping->payload) +
               UnaryCall(3, "/test.Echo/Unary", "x"));
  const auto last = client_.NextOf(FrameType::kGoAway);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->last_stream_id(), 1U);
  server_.Release();
  EXPECT_EQ(client_.Await(1).message, Message("h"));
  client_.socket().CloseWriting();
  shutdown.get();
  EXPECT_EQ(server_.started, 1);
}

TEST_F(Http2Test, ServerPingsASilentClientAndHangsUp) {
  Options options;
  options.ping_interval = std::chrono::milliseconds(50);
  options.ping_timeout = std::chrono::milliseconds(50);
  TestServer server(options);
  Http2Client client(server.port());
  auto ping = client.NextOf(FrameType::kPing);
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->flags, 0);
  client.Send(Frame(FrameType::kPing, kAck, 0, ping->payload));
  ping = client.NextOf(FrameType::kPing);  // the next round
  ASSERT_TRUE(ping);
  EXPECT_EQ(client.Next(), std::nullopt);  // not answered
}

}  // namespace
}  // namespace kvorum::rpc
