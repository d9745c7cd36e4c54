// Clients that mean harm, or are broken: each published advisory of such a server (spec, section 4)
// and each bound. The server must stay up, serve others, and hold a bounded amount of memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/damage.h"
#include "tests/rpc/http2_client.h"
#include "tests/rpc/test_server.h"

namespace kvorum::rpc {
namespace {

constexpr std::string_view kEchoUnary = "/test.Echo/Unary";

// Sanitizers change the use of memory: its bounds hold in the release build only.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KVORUM_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::size_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != "RssAnon:") continue;
    std::size_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

// The GOAWAY that ends the connection, if one comes.
std::optional<Http2Client::ReceivedFrame> LastGoAway(Http2Client& client) {
  std::optional<Http2Client::ReceivedFrame> last;
  while (auto frame = client.Next()) {
    if (frame->type == FrameType::kGoAway) last = std::move(frame);
  }
  return last;
}

void ExpectServes(const TestServer& server) {
  Http2Client client(server.port());
  EXPECT_TRUE(client.Works(1)) << "the server does not serve any more";
}

Options FewResets() {
  Options options;
  options.reset_burst = 100;
  options.resets_per_second = 10;
  return options;
}

// Calls that are reset at once, until the connection is ended.
std::optional<Http2Client::ReceivedFrame> ResetRapidly(const TestServer& server,
                                                       std::string_view path) {
  Http2Client client(server.port());
  std::string flood;
  for (std::uint32_t i = 0; i < 1000; ++i)
    flood += UnaryCall(2 * i + 1, path, "x") +
             Frame(FrameType::kRstStream, 0, 2 * i + 1, BigEndian32(kCancel));
  client.Send(flood);
  return LastGoAway(client);
}

// CVE-2023-44487.
TEST(AbuseTest, RapidResetIsCutOff) {
  TestServer server(FewResets());
  const auto goaway = ResetRapidly(server, "/test.Echo/Hold");
  ASSERT_TRUE(goaway);
  EXPECT_EQ(goaway->error_code(), kEnhanceYourCalm);
  EXPECT_EQ(goaway->debug_data(), "too_many_resets");
  EXPECT_LT(server.started, 200);
  ExpectServes(server);
}

// CVE-2025-8671: the client makes the server reset the streams.
TEST(AbuseTest, ProvokedResetsAreCutOff) {
  TestServer server(FewResets());
  Http2Client client(server.port());
  for (std::uint32_t i = 0; i < 1000; ++i) {
    if (!client.Send(UnaryCall(2 * i + 1, "/test.Echo/Hold", "x") +
                     Frame(FrameType::kWindowUpdate, 0, 2 * i + 1, BigEndian32(0x7fffffff)))) {
      break;
    }
  }
  const auto goaway = LastGoAway(client);
  ASSERT_TRUE(goaway);
  EXPECT_EQ(goaway->error_code(), kEnhanceYourCalm);
  ExpectServes(server);
}

TEST(AbuseTest, OrdinaryCancelsAreNotCutOff) {
  TestServer server;
  Http2Client client(server.port());
  for (std::uint32_t i = 0; i < 500; ++i) {
    client.Send(UnaryCall(2 * i + 1, "/test.Echo/Hold", "x") +
                Frame(FrameType::kRstStream, 0, 2 * i + 1, BigEndian32(kCancel)));
  }
  EXPECT_TRUE(client.Works(1001));
}

// A client that leaves its watches has had their answers.
TEST(AbuseTest, StreamsThatWereAnsweredMayBeReset) {
  TestServer server;
  Http2Client client(server.port());
  constexpr std::uint32_t kStreams = 1500;
  for (std::uint32_t i = 0; i < kStreams; ++i)
    client.Send(OpenStream(2 * i + 1, "/test.Echo/Chat") +
                Frame(FrameType::kData, 0, 2 * i + 1, Message("x")));
  for (std::uint32_t answers = 0; answers < kStreams; ++answers)
    ASSERT_TRUE(client.NextOf(FrameType::kData)) << answers;
  std::string resets;
  for (std::uint32_t i = 0; i < kStreams; ++i)
    resets += Frame(FrameType::kRstStream, 0, 2 * i + 1, BigEndian32(kCancel));
  client.Send(resets);
  EXPECT_TRUE(client.Works(2 * kStreams + 1));
}

// An answer that was made and not sent does not count: a refusal costs the client nothing either.
TEST(AbuseTest, RapidResetOfRefusedCallsIsCutOff) {
  TestServer server(FewResets());
  const auto goaway = ResetRapidly(server, "/test.Echo/Nothing");
  ASSERT_TRUE(goaway);
  EXPECT_EQ(goaway->debug_data(), "too_many_resets");
  ExpectServes(server);
}

// CVE-2024-28182 and its kin.
TEST(AbuseTest, ContinuationFloodIsCutOff) {
  TestServer server;
  Http2Client client(server.port());
  client.Send(Frame(FrameType::kHeaders, 0, 1, HeaderBlock(RequestHeaders(kEchoUnary))));
  for (int i = 0; i < 10'000; ++i) {
    if (!client.Send(Frame(FrameType::kContinuation, 0, 1, HeaderBlock({{"x", "y"}})))) break;
  }
  (void)LastGoAway(client);  // the connection ends, or this would wait in vain
  EXPECT_EQ(server.started, 0);
  ExpectServes(server);
}

// CVE-2023-33953: one large header, kept in HPACK's table and repeated by a byte each.
TEST(AbuseTest, HpackBombIsRefused) {
  TestServer server;
  Http2Client client(server.port());
  std::string bomb = HeaderBlock(RequestHeaders(kEchoUnary));
  const std::string large(3900, 'b');
  // Literal with incremental indexing: name "x", then the value's length of 3900 in HPACK's form.
  bomb += std::string("\x40\x01x\x7f\xbd\x1d", 6) + large;
  bomb += std::string(10'000, static_cast<char>(0x80 | 62));  // the newest entry, again and again
  client.Send(Frame(FrameType::kHeaders, kEndHeaders | kEndStream, 1, bomb));
  EXPECT_EQ(client.Await(1).reset, kFrameSizeError);
  EXPECT_TRUE(client.Works(3));
}

TEST(AbuseTest, TooManyHeadersResetTheirStream) {
  TestServer server;
  Http2Client client(server.port());
  Headers headers = RequestHeaders(kEchoUnary);
  for (int i = 0; i < 60; ++i)
    headers.emplace_back(std::string("h").append(std::to_string(i)), std::string(1100, 'h'));
  const std::string block = HeaderBlock(headers);
  client.Send(Frame(FrameType::kHeaders, kEndStream, 1, block.substr(0, 16'000)));
  for (std::size_t at = 16'000; at < block.size(); at += 16'000) {
    client.Send(Frame(FrameType::kContinuation, at + 16'000 >= block.size() ? kEndHeaders : 0, 1,
                      block.substr(at, 16'000)));
  }
  EXPECT_EQ(client.Await(1).reset, kFrameSizeError);
  EXPECT_TRUE(client.Works(3));
}

TEST(AbuseTest, IdlePingsAreStruckOut) {
  TestServer server;
  Http2Client client(server.port());
  for (int i = 0; i < 5; ++i) client.Send(Frame(FrameType::kPing, 0, 0, "12345678"));
  const auto goaway = LastGoAway(client);
  ASSERT_TRUE(goaway);
  EXPECT_EQ(goaway->error_code(), kEnhanceYourCalm);
  EXPECT_EQ(goaway->debug_data(), "too_many_pings");
}

TEST(AbuseTest, PingsOfABusyClientMustKeepTheirDistance) {
  TestServer server;
  {
    Http2Client client(server.port());
    client.Send(OpenStream(1, "/test.Echo/Chat"));
    for (int i = 0; i < 5; ++i) client.Send(Frame(FrameType::kPing, 0, 0, "12345678"));
    const auto goaway = LastGoAway(client);
    ASSERT_TRUE(goaway);
    EXPECT_EQ(goaway->debug_data(), "too_many_pings");
  }
  Options options;
  options.min_client_ping_interval = std::chrono::milliseconds(5);
  TestServer lenient(options);
  Http2Client client(lenient.port());
  client.Send(OpenStream(1, "/test.Echo/Chat"));
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    client.Send(Frame(FrameType::kPing, 0, 0, "12345678"));
    ASSERT_TRUE(client.NextOf(FrameType::kPing));
  }
}

TEST(AbuseTest, PingsBetweenAnswersAreFree) {
  TestServer server;
  Http2Client client(server.port());
  for (std::uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.Works(2 * i + 1));
    client.Send(Frame(FrameType::kPing, 0, 0, "12345678"));
    ASSERT_TRUE(client.NextOf(FrameType::kPing));
  }
}

// CVE-2019-9512, -9515: floods of frames that must be answered, by a client that does not read.
TEST(AbuseTest, AnswersToFloodsAreBounded) {
  TestServer server;
  for (const std::string& frame :
       {Frame(FrameType::kSettings, 0, 0, ""), Frame(FrameType::kPing, 0, 0, "12345678")}) {
    Http2Client client(server.port());
    std::string flood;
    for (int i = 0; i < 5000; ++i) flood += frame;
    for (int i = 0; i < 40; ++i) {
      if (!client.Send(flood)) break;
    }
    (void)LastGoAway(client);
  }
  ExpectServes(server);
}

// CVE-2019-9518 and others: frames that carry nothing.
TEST(AbuseTest, EmptyFramesDoNoHarm) {
  TestServer server;
  Http2Client client(server.port());
  client.Send(OpenStream(1, "/test.Echo/Chat"));
  std::string flood;
  for (int i = 0; i < 10'000; ++i) flood += Frame(FrameType::kData, 0, 1, "");
  client.Send(flood);
  client.Send(Frame(FrameType::kData, kEndStream, 1, Message("end")));
  EXPECT_EQ(client.Await(1).message, Message("end"));
}

// CVE-2023-4785: connections that are gone before or just after they are accepted.
TEST(AbuseTest, AbortedConnectionsDoNotStopTheAcceptor) {
  TestServer server;
  for (int i = 0; i < 2000; ++i) {
    RawSocket socket(server.port());
    if (i % 3 == 0) socket.Send("PRI * HT");
    if (i % 3 == 1) socket.Send(Handshake());
    socket.Abort();
  }
  ExpectServes(server);
  EXPECT_TRUE(Eventually([&] { return server.server().stats().open_connections <= 1; }));
}

#ifndef __SANITIZE_ADDRESS__  // its type checks need file descriptors
TEST(AbuseTest, AcceptorOutlivesALackOfDescriptors) {
  TestServer server;
  ExpectServes(server);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<int> hoard;
  // The clients' descriptors first: the acceptor would take any that became free for them later.
  std::vector<std::unique_ptr<RawSocket>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<RawSocket>());
  rlimit low = before;
  low.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  for (int fd = dup(0); fd >= 0; fd = dup(0)) hoard.push_back(fd);
  for (const auto& client : clients) client->Connect(server.port());
  EXPECT_TRUE(Eventually([&] { return server.server().stats().accept_failures > 0; }));
  for (const int fd : hoard) close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  // The waiting clients are served, and so are new ones.
  EXPECT_TRUE(Eventually([&] { return server.server().stats().open_connections >= 4; }));
  ASSERT_TRUE(clients.front()->Send(Handshake() + UnaryCall(1, kEchoUnary, "late")));
  EXPECT_FALSE(clients.front()->Receive().empty());
  ExpectServes(server);
}
#endif

TEST(AbuseTest, ConnectionsPastTheLimitWait) {
  Options options;
  options.max_connections = 3;
  TestServer server(options);
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Http2Client>(server.port()));
    ASSERT_TRUE(clients.back()->Works(1));
  }
  Http2Client waiting(server.port());
  waiting.Send(UnaryCall(1, kEchoUnary, "patience"));
  // The loop that answers these has seen before that one more wants in: in the same wake-up, at the
  // latest, as the first of them.
  for (const std::uint32_t stream : {3U, 5U})
    for (const auto& client : clients) ASSERT_TRUE(client->Works(stream));
  EXPECT_EQ(server.server().stats().accepted_connections, 3);
  clients.pop_back();
  EXPECT_EQ(waiting.Await(1).message, Message("patience"));
}

TEST(AbuseTest, SilentConnectionsAreClosed) {
  Options options;
  options.handshake_timeout = std::chrono::milliseconds(50);
  TestServer server(options);
  RawSocket nothing(server.port());
  RawSocket some(server.port());
  some.Send(kPreface.substr(0, 3));
  RawSocket preface(server.port());
  preface.Send(kPreface);
  RawSocket http(server.port());
  http.Send("GET /health HTTP/1.1\r\n");
  EXPECT_EQ(nothing.ReceiveAll(), "");
  EXPECT_EQ(some.ReceiveAll(), "");
  (void)preface.ReceiveAll();
  EXPECT_EQ(http.ReceiveAll(), "");
  EXPECT_TRUE(Eventually([&] { return server.server().stats().open_connections == 0; }));
  // One that has shown its protocol may be silent.
  Http2Client client(server.port());
  ASSERT_TRUE(client.Works(1));
  // A later connection that shows none is closed.
  RawSocket later(server.port());
  EXPECT_EQ(later.ReceiveAll(), "");
  EXPECT_TRUE(client.Works(3));
}

TEST(AbuseTest, GarbageAfterThePrefaceEndsTheConnection) {
  TestServer server;
  Http2Client client(server.port(), std::string(kPreface) + std::string(1000, '\xff'));
  const auto goaway = LastGoAway(client);
  ASSERT_TRUE(goaway);
  RawSocket wrong_preface(server.port());
  wrong_preface.Send("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
  (void)wrong_preface.ReceiveAll();
  ExpectServes(server);
}

// A client that asks and never reads: neither its answers nor its requests pile up.
TEST(AbuseTest, AClientThatNeverReadsHoldsABoundedAmount) {
  Options options;
  options.max_unsent_bytes = 4 * 1024 * 1024;
  options.max_waiting_requests = 100;
  TestServer server(options);
  const std::size_t before = AnonymousBytes();
  {
    Http2Client client(server.port());
    std::string calls;
    for (std::uint32_t i = 0; i < 2000; ++i)
      calls += UnaryCall(2 * i + 1, "/test.Echo/Size", "1000000");
    client.Send(calls);
    // A few of 2000 answers of 1 MB are made, 100 requests wait, and the rest is refused.
    const auto refused = [&] {
      while (auto frame = client.NextOf(FrameType::kRstStream)) return frame->error_code();
      return 0U;
    };
    EXPECT_EQ(refused(), kRefusedStream);
    EXPECT_LE(server.started, 6);
    if (!kSanitized) {
      EXPECT_LT(AnonymousBytes(), before + 32 * 1024 * 1024);
    }
    // It may change its mind: requests that were not refused are answered.
    client.Send(Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(0x7f000000)));
    for (const std::uint32_t stream : {1U, 3U, 151U}) {
      client.Send(Frame(FrameType::kWindowUpdate, 0, stream, BigEndian32(2'000'000)));
    }
    EXPECT_EQ(client.Await(1).message.size(), 1'000'005);
  }
  EXPECT_TRUE(Eventually([&] { return server.server().stats().open_connections == 0; }));
  ExpectServes(server);
}

// One that does not even take bytes off its socket.
TEST(AbuseTest, AClientThatLeavesItsSocketFullHoldsABoundedAmount) {
  Options options;
  options.max_unsent_bytes = 1024 * 1024;
  TestServer server(options);
  const std::size_t before = AnonymousBytes();
  Http2Client client(
      server.port(),
      std::string(kPreface) +
          Frame(FrameType::kSettings, 0, 0, std::string("\0\4", 2) + BigEndian32(0x7fffffff)) +
          Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(0x7f000000)));
  const timeval limit{0, 200'000};
  setsockopt(client.socket().fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  bool taken = true;
  for (std::uint32_t i = 0; i < 20'000 && taken; ++i)
    taken = client.Send(UnaryCall(2 * i + 1, "/test.Echo/Size", "1000000"));
  if (!kSanitized) {
    EXPECT_LT(AnonymousBytes(), before + 64 * 1024 * 1024);
  }
  EXPECT_LT(server.started, 100);
  ExpectServes(server);
}

// Requests that are begun and never ended.
TEST(AbuseTest, UnfinishedRequestsAreBounded) {
  Options options;
  options.max_buffered_request_bytes = 4 * 1024 * 1024;
  TestServer server(options);
  Http2Client client(server.port());
  const std::size_t before = AnonymousBytes();
  // Claims 2 MB, sends 200 KB of it.
  const std::string part = Message(std::string(2'000'000, 'p')).substr(0, 16'000);
  constexpr std::uint32_t kFits = 4 * 1024 * 1024 / (12 * 16'000);
  for (std::uint32_t i = 0; i <= kFits; ++i) {
    client.Send(OpenStream(2 * i + 1, kEchoUnary));
    for (int j = 0; j < 12; ++j) client.Send(Frame(FrameType::kData, 0, 2 * i + 1, part));
  }
  const auto outcome = client.Await(2 * kFits + 1);
  EXPECT_EQ(outcome.grpc_status, "8");
  EXPECT_EQ(outcome.grpc_message, "too many request bytes wait on this connection");
  if (!kSanitized) {
    EXPECT_LT(AnonymousBytes(), before + 32 * 1024 * 1024);
  }
  ExpectServes(server);
}

// Streams that are begun with large headers and stay open.
TEST(AbuseTest, LargeHeadersOfOpenStreamsAreBounded) {
  Options options;
  options.max_buffered_request_bytes = 1024 * 1024;
  TestServer server(options);
  Http2Client client(server.port());
  Headers headers = RequestHeaders("/test.Echo/Chat");
  for (int i = 0; i < 10; ++i) headers.emplace_back("x-large", std::string(1000, 'h'));
  std::uint32_t stream = 1;
  for (; stream < 400; stream += 2)
    client.Send(Frame(FrameType::kHeaders, kEndHeaders, stream, HeaderBlock(headers)));
  EXPECT_EQ(client.Await(stream - 2).grpc_message,
            "too many request bytes wait on this connection");
  EXPECT_LE(server.started, 101);
  // Ordinary ones are not counted.
  EXPECT_TRUE(client.Works(stream));
}

// Parts of requests of many connections: those that hold the most and do not go on are cut.
TEST(AbuseTest, UnfinishedRequestsOfAllConnectionsAreBounded) {
  AnswerMemory memory(4 * 1024 * 1024, Duration::zero());
  Options options;
  options.answers = &memory;
  TestServer server(options);
  std::vector<std::unique_ptr<Http2Client>> clients;
  const std::string part = Message(std::string(2'000'000, 'p')).substr(0, 16'000);
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<Http2Client>(server.port()));
    clients.back()->Send(OpenStream(1, kEchoUnary));
    for (int j = 0; j < 60; ++j) clients.back()->Send(Frame(FrameType::kData, 0, 1, part));
  }
  EXPECT_TRUE(Eventually([&] { return server.server().stats().cut_connections >= 15; }));
  EXPECT_TRUE(Eventually([&] { return memory.used_bytes() <= memory.limit_bytes(); }));
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return memory.used_bytes() == 0; }));
  ExpectServes(server);
}

#ifndef KVORUM_SANITIZED
TEST(AbuseTest, IdleStreamsAreSmall) {
  TestServer server;
  Http2Client client(server.port());
  constexpr std::uint32_t kStreams = 10'000;
  client.Send(Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(0x10000000)));
  ASSERT_TRUE(client.Works(1));
  const std::size_t before = AnonymousBytes();
  std::string open;
  for (std::uint32_t i = 1; i <= kStreams; ++i) {
    open += OpenStream(2 * i + 1, "/test.Echo/Chat") +
            Frame(FrameType::kData, 0, 2 * i + 1, Message("watch me"));
  }
  client.Send(open);
  for (std::uint32_t i = 0; i < kStreams; ++i) ASSERT_TRUE(client.NextOf(FrameType::kData));
  const std::size_t per_stream = (AnonymousBytes() - before) / kStreams;
  RecordProperty("bytes_per_stream", static_cast<int>(per_stream));
  EXPECT_LT(per_stream, 6 * 1024);
}

TEST(AbuseTest, IdleConnectionsAreSmall) {
  TestServer server;
  constexpr int kConnections = 200;
  const std::size_t before = AnonymousBytes();
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (int i = 0; i < kConnections; ++i) {
    clients.push_back(std::make_unique<Http2Client>(server.port()));
    ASSERT_TRUE(clients.back()->Works(1));
  }
  // The clients' own memory is in it, too.
  const std::size_t per_connection = (AnonymousBytes() - before) / kConnections;
  RecordProperty("bytes_per_connection", static_cast<int>(per_connection));
  EXPECT_LT(per_connection, 64 * 1024);
}
#endif

// A valid exchange with each byte changed and each length cut: never more than an error.
class MalformedBytesTest : public testing::Test {
 protected:
  static std::string Exchange() {
    return Handshake() + UnaryCall(1, kEchoUnary, "hello") + OpenStream(3, "/test.Echo/Chat") +
           Frame(FrameType::kData, kEndStream, 3, Message("a") + Message("b")) +
           Frame(FrameType::kPing, 0, 0, "12345678") +
           Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(1000)) +
           Frame(FrameType::kRstStream, 0, 1, BigEndian32(kCancel));
  }
  void Try(std::string_view bytes) {
    RawSocket socket(server_.port());
    socket.Send(bytes);
    socket.CloseWriting();
    (void)socket.ReceiveAll();
  }
  TestServer server_;
};

TEST_F(MalformedBytesTest, EachLengthCut) {
  const std::string exchange = Exchange();
  Try(exchange);
  ForEachCut(exchange, [&](std::string_view cut) { Try(cut); });
  ExpectServes(server_);
}

TEST_F(MalformedBytesTest, EachByteChanged) {
  const std::string exchange = Exchange();
  ForEachFlip(
      exchange, [&](std::string_view changed, std::size_t) { Try(changed); }, kOuterAndAllBits);
  ExpectServes(server_);
}

TEST_F(MalformedBytesTest, EachHttp1ByteChangedAndCut) {
  const std::string exchange =
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  ForEachCut(exchange, [&](std::string_view cut) { Try(cut); });
  ForEachFlip(
      exchange, [&](std::string_view changed, std::size_t) { Try(changed); }, kOuterAndAllBits);
  ExpectServes(server_);
}

}  // namespace
}  // namespace kvorum::rpc
