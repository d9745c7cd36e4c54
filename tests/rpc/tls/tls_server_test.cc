// The server under TLS: protocols, certificates, slow and wrong clients, big answers.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "tests/damage.h"
#include "tests/rpc/certificates.h"
#include "tests/rpc/test_server.h"
#include "tests/rpc/tls_client.h"

namespace kvorum::rpc {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::string_view kGetHealth = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kHealthy = R"({"health":"true"})";

class TlsServerTest : public ::testing::Test {
 protected:
  enum class Clients : std::uint8_t { kAnybody, kWithCertificate };

  TlsServerTest() {
    ca_.Write(folder_.path("ca.pem"));
    ca_.Issue({.common_name = "server", .dns_names = {"localhost"}})
        .Write(folder_.path("server.pem"), folder_.path("server.key"));
  }

  void Start(Clients clients = Clients::kAnybody, Options options = {}, bool plain_too = false) {
    TlsOptions tls;
    tls.certificate_file = folder_.path("server.pem");
    tls.key_file = folder_.path("server.key");
    tls.alpn = {"h2", "http/1.1"};
    if (clients == Clients::kWithCertificate) {
      tls.trusted_ca_file = folder_.path("ca.pem");
      tls.client_cert_auth = true;
    }
    context_ = *TlsContext::Create(tls);
    server_ = std::make_unique<TestServer>(std::move(options));
    const auto address =
        server_->server().Listen("127.0.0.1", 0,
                                 {.tls = std::make_shared<const TlsListen>(
                                      TlsListen{.context = context_, .plain_text_too = plain_too}),
                                  .traffic = traffic_});
    port_ = static_cast<std::uint16_t>(std::stoi(address->substr(address->rfind(':') + 1)));
  }

  std::shared_ptr<TlsContext> ClientContext(std::vector<std::string> alpn = {},
                                            const TestCertificate* certificate = nullptr,
                                            TlsVersion highest = TlsVersion::kAny) {
    TlsOptions options;
    options.trusted_ca_file = folder_.path("ca.pem");
    options.alpn = std::move(alpn);
    options.max_version = highest;
    if (certificate != nullptr) {
      options.certificate_file = folder_.path("client.pem");
      options.key_file = folder_.path("client.key");
      certificate->Write(options.certificate_file, options.key_file);
    }
    return *TlsContext::Create(options);
  }

  std::uint64_t Failures(TlsFailure kind) {
    return server_->server().stats().tls_failures[static_cast<std::size_t>(kind)];
  }
  std::uint64_t Handshakes() { return server_->server().stats().tls_handshakes; }

  // A request over HTTP/1.1 on a new connection; empty if it was refused.
  std::string Health(TlsContext& context) {
    TlsClient client(port_, context);
    if (!client.Handshake() || !client.Send(kGetHealth)) return {};
    return client.ReceiveUntil(kHealthy);
  }

  // gRPC C++, an independent client.
  grpc::Status Call(const std::string& method, const std::string& request, std::string* answer,
                    const TestCertificate* certificate = nullptr) {
    grpc::SslCredentialsOptions ssl;
    ssl.pem_root_certs = ca_.pem();
    if (certificate != nullptr) {
      ssl.pem_cert_chain = certificate->certificate_pem();
      ssl.pem_private_key = certificate->key_pem();
    }
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride("localhost");
    grpc::GenericStub stub(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                                     grpc::SslCredentials(ssl), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    grpc::CompletionQueue queue;
    const grpc::Slice slice(request);
    const auto reader = stub.PrepareUnaryCall(&context, "/test.Echo/" + method,
                                              grpc::ByteBuffer(&slice, 1), &queue);
    reader->StartCall();
    grpc::Status status;
    grpc::ByteBuffer response;
    reader->Finish(&response, &status, this);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    if (status.ok()) (void)response.Dump(&slices);
    answer->clear();
    for (const grpc::Slice& each : slices)
      answer->append(reinterpret_cast<const char*>(each.begin()), each.size());
    return status;
  }

  TestFolder folder_;
  TestAuthority ca_{"ca"};
  std::shared_ptr<TlsContext> context_;
  std::unique_ptr<TestServer> server_;
  std::uint16_t port_ = 0;
  Traffic traffic_ = Traffic::kGrpcAndHttp;
};

// With gRPC's own client.
class TlsGrpcTest : public TlsServerTest {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "what OpenSSL does on gRPC's threads looks like races to the thread sanitizer";
#endif
  }
};

// ---- Protocols ----

TEST_F(TlsGrpcTest, GrpcIsServedToAnIndependentClient) {
  Start();
  std::string answer;
  const grpc::Status status = Call("Unary", "hello", &answer);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(answer, "hello");
  EXPECT_EQ(server_->last_certificate_name(), std::nullopt);
  EXPECT_EQ(Handshakes(), 1U);
}

TEST_F(TlsGrpcTest, AListenerForGrpcAloneServesNothingElse) {
  traffic_ = Traffic::kGrpc;
  Start(Clients::kAnybody, {}, /*plain_too=*/true);
  std::string answer;
  EXPECT_TRUE(Call("Unary", "hello", &answer).ok());
  EXPECT_THAT(Health(*ClientContext({"http/1.1"})), Not(HasSubstr("HTTP/1")));
  EXPECT_THAT(Health(*ClientContext()), Not(HasSubstr("HTTP/1")));
}

TEST_F(TlsGrpcTest, AListenerForHttpAloneTakesGrpcForAnyOtherRequest) {
  traffic_ = Traffic::kHttp;
  Start();
  EXPECT_THAT(Health(*ClientContext({"http/1.1"})), HasSubstr(kHealthy));
  std::string answer;
  EXPECT_EQ(Call("Unary", "hello", &answer).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(Call("Unary", "hello", &answer).error_message(), HasSubstr("404"));
}

TEST_F(TlsServerTest, AlpnDecidesAndWithoutItTheFirstBytesDo) {
  Start();
  EXPECT_THAT(Health(*ClientContext({"http/1.1"})), HasSubstr(kHealthy));
  EXPECT_THAT(Health(*ClientContext()), HasSubstr(kHealthy));
  EXPECT_THAT(Health(*ClientContext({}, nullptr, TlsVersion::kTls12)), HasSubstr(kHealthy));
  for (const std::vector<std::string>& alpn : {std::vector<std::string>{"h2"}, {}}) {
    const auto context = ClientContext(alpn);
    TlsClient client(port_, *context);
    ASSERT_TRUE(client.Handshake());
    ASSERT_TRUE(client.Send(rpc::Handshake() + UnaryCall(1, "/test.Echo/Unary", "over h2")));
    EXPECT_THAT(client.ReceiveUntil("over h2"), HasSubstr("over h2"));
  }
}

// ALPN gives curl and Go's HTTP client h2, and they send plain HTTP requests.
TEST_F(TlsServerTest, HttpIsServedOverHttp2BesideGrpc) {
  Start(Clients::kWithCertificate);
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const auto context = ClientContext({"h2"}, &alice);
  TlsClient client(port_, *context);
  ASSERT_TRUE(client.Handshake());
  const auto head = [](std::string_view method, std::string_view path) {
    return HeaderBlock({{":method", std::string(method)},
                        {":scheme", "https"},
                        {":path", std::string(path)},
                        {":authority", "a"},
                        {"content-type", "application/json"}});
  };
  constexpr std::uint8_t kWhole = kEndHeaders | kEndStream;
  client.Send(rpc::Handshake() + Frame(FrameType::kHeaders, kWhole, 1, head("GET", "/health?x=1")));
  EXPECT_THAT(client.ReceiveUntil(kHealthy), HasSubstr(kHealthy));
  client.Send(UnaryCall(3, "/test.Echo/Unary", "grpc"));
  EXPECT_THAT(client.ReceiveUntil("grpc"), HasSubstr("grpc"));
  std::string body = Frame(FrameType::kHeaders, kEndHeaders, 5, head("POST", "/echo"));
  for (int i = 0; i < 4; ++i) body += Frame(FrameType::kData, 0, 5, std::string(10'000, 'b'));
  client.Send(body + Frame(FrameType::kData, kEndStream, 5, "the end"));
  const auto count = std::ranges::count(client.ReceiveUntil("the end"), 'b');
  EXPECT_GE(count, 40'000);
  EXPECT_LT(count, 40'100) << "the heads of frames may have some, too";
  client.Send(Frame(FrameType::kHeaders, kWhole, 7, head("GET", "/later")) +
              Frame(FrameType::kHeaders, kWhole, 9, head("GET", "/nowhere")) +
              Frame(FrameType::kHeaders, kWhole, 11, head("HEAD", "/health")));
  EXPECT_THAT(client.ReceiveUntil("404 page not found"), HasSubstr("404 page not found"));
  // A request to a gRPC method that is not gRPC goes to the handlers as well.
  client.Send(Frame(FrameType::kHeaders, kWhole, 13, head("POST", "/v3/kv/range")));
  EXPECT_THAT(client.ReceiveUntil("/v3/kv/range"), HasSubstr("/v3/kv/range"));
  client.Send(Frame(FrameType::kHeaders, kWhole, 15, head("POST", "/test.Echo/Unary")));
  EXPECT_THAT(client.ReceiveUntil("404 page not found"), HasSubstr("404 page not found"));
}

TEST_F(TlsServerTest, ABodyOverHttp2IsBounded) {
  Options options;
  options.http_max_body_bytes = 1000;
  Start(Clients::kAnybody, options);
  const auto context = ClientContext({"h2"});
  TlsClient client(port_, *context);
  ASSERT_TRUE(client.Handshake());
  const std::string head = HeaderBlock(
      {{":method", "POST"}, {":scheme", "https"}, {":path", "/echo"}, {":authority", "a"}});
  client.Send(rpc::Handshake() + Frame(FrameType::kHeaders, kEndHeaders, 1, head) +
              Frame(FrameType::kData, 0, 1, std::string(1001, 'b')));
  EXPECT_THAT(client.ReceiveUntil("413 Request"), HasSubstr("413 Request"));
  client.Send(Frame(FrameType::kData, 0, 1, std::string(1001, 'b')));
  client.Send(UnaryCall(3, "/test.Echo/Unary", "still here"));
  EXPECT_THAT(client.ReceiveUntil("still here"), HasSubstr("still here"));
}

TEST_F(TlsServerTest, WhatComesTogetherWithTheHandshakesEndIsServed) {
  Start();
  const auto context = ClientContext({"http/1.1"});
  TlsClient client(port_, *context);
  ASSERT_TRUE(client.socket().Send(client.Hello()));
  std::string received = client.socket().Receive();
  std::string_view rest = received;
  // The second flight and the request in one segment.
  TlsStream& stream = client.stream();
  std::string out;
  while (stream.Handshake(&rest, &out) == TlsStream::Progress::kMore) {
    received = client.socket().Receive();
    rest = received;
  }
  ASSERT_TRUE(stream.Seal(kGetHealth, &out));
  ASSERT_TRUE(client.socket().Send(out));
  EXPECT_THAT(client.ReceiveUntil(kHealthy), HasSubstr(kHealthy));
}

TEST_F(TlsServerTest, OneAddressServesBothWhereItIsToldTo) {
  Start(Clients::kAnybody, {}, /*plain_too=*/true);
  EXPECT_THAT(Health(*ClientContext({"http/1.1"})), HasSubstr(kHealthy));
  RawSocket plain(port_);
  plain.Send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(plain.ReceiveAll(), HasSubstr(kHealthy));
  Http2Client grpc(port_);
  EXPECT_TRUE(grpc.Works(1));
}

TEST_F(TlsServerTest, PlainTextOnATlsPortIsToldSoIfItIsHttp) {
  Start();
  RawSocket http(port_);
  http.Send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(http.ReceiveAll(),
            "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
  RawSocket byte_by_byte(port_);
  for (const char byte : std::string_view("POST /v3")) byte_by_byte.Send({&byte, 1});
  EXPECT_THAT(byte_by_byte.ReceiveAll(), HasSubstr("400 Bad Request"));
  RawSocket grpc(port_);
  grpc.Send(kPreface);
  EXPECT_EQ(grpc.ReceiveAll(), "");
  RawSocket noise(port_);
  noise.Send(std::string(100, '\xff'));
  EXPECT_EQ(noise.ReceiveAll(), "");
  EXPECT_TRUE(Eventually([&] { return Failures(TlsFailure::kPlainText) == 4; }));
  EXPECT_EQ(Handshakes(), 0U);
}

// ---- Certificates ----

TEST_F(TlsGrpcTest, CallsKnowTheNameInTheCertificate) {
  Start(Clients::kWithCertificate);
  for (const std::string name : {"alice", ""}) {
    const TestCertificate certificate = ca_.Issue({.common_name = name});
    std::string answer;
    EXPECT_TRUE(Call("Unary", "hello", &answer, &certificate).ok());
    EXPECT_EQ(server_->last_certificate_name(), name);
  }
}

TEST_F(TlsGrpcTest, WhoShowsNoGoodCertificateIsNotServed) {
  Start(Clients::kWithCertificate);
  EXPECT_EQ(Health(*ClientContext({"http/1.1"})), "");
  EXPECT_EQ(Health(*ClientContext({"http/1.1"}, nullptr, TlsVersion::kTls12)), "");
  const TestCertificate forged = TestAuthority::SelfSigned({.common_name = "root"});
  EXPECT_EQ(Health(*ClientContext({"http/1.1"}, &forged)), "");
  const TestCertificate old = ca_.Issue({.common_name = "root", .not_after_s = -60});
  std::string answer;
  EXPECT_EQ(Call("Unary", "hello", &answer, &old).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Eventually([&] { return Failures(TlsFailure::kCertificate) >= 4; }));
  EXPECT_EQ(Handshakes(), 0U);
  EXPECT_EQ(server_->started, 0);
}

TEST_F(TlsServerTest, CertificatesRotateUnderOpenConnections) {
  Start(Clients::kWithCertificate);
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const auto context = ClientContext({"http/1.1"}, &alice);
  TlsClient standing(port_, *context);
  ASSERT_TRUE(standing.Handshake());
  TestAuthority next("next");
  next.Issue({.common_name = "moved", .dns_names = {"localhost"}})
      .Write(folder_.path("server.pem"), folder_.path("server.key"));
  next.Write(folder_.path("ca.pem"));
  standing.Send(kGetHealth);
  EXPECT_THAT(standing.ReceiveUntil(kHealthy), HasSubstr(kHealthy));
  EXPECT_EQ(Health(*context), "") << "the old CA is gone";
  const TestCertificate bob = next.Issue({.common_name = "bob"});
  EXPECT_THAT(Health(*ClientContext({"http/1.1"}, &bob)), HasSubstr(kHealthy));
}

// ---- Slow and wrong clients ----

TEST_F(TlsServerTest, AHandshakeMayComeByteByByte) {
  Start(Clients::kWithCertificate);
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  for (const TlsVersion version : {TlsVersion::kTls12, TlsVersion::kTls13}) {
    const auto context = ClientContext({"http/1.1"}, &alice, version);
    TlsClient client(port_, *context);
    ASSERT_TRUE(client.Handshake(1));
    ASSERT_TRUE(client.Send(kGetHealth));
    EXPECT_THAT(client.ReceiveUntil(kHealthy), HasSubstr(kHealthy));
  }
}

// GHSA-6vch-q96h-7gc3: handshakes without a deadline.
TEST_F(TlsServerTest, GHSA_6vch_AHandshakeThatStopsIsEnded) {
  Options options;
  options.handshake_timeout = std::chrono::milliseconds(200);
  Start(Clients::kAnybody, options);
  const auto context = ClientContext();
  RawSocket silent(port_);
  TlsClient half(port_, *context);
  const std::string hello = half.Hello();
  half.socket().Send(hello.substr(0, hello.size() / 2));
  TlsClient whole(port_, *context);
  whole.socket().Send(whole.Hello());
  EXPECT_EQ(silent.ReceiveAll(), "");
  EXPECT_EQ(half.socket().ReceiveAll(), "");
  whole.socket().ReceiveAll();  // the server's flight, then the end
  EXPECT_TRUE(Eventually([&] { return Failures(TlsFailure::kTimeout) == 3; }));
  EXPECT_TRUE(Eventually([&] { return server_->server().stats().open_connections == 0; }));
}

// GHSA-6vch-q96h-7gc3: handshakes without a bound.
TEST_F(TlsServerTest, GHSA_6vch_ThousandsOfHalfHandshakesHoldNobodyUp) {
  Options options;
  options.max_handshakes = 4;
  Start(Clients::kAnybody, options);
  const auto context = ClientContext({"http/1.1"});
  TlsClient standing(port_, *context);
  ASSERT_TRUE(standing.Handshake());
  const std::string hello = TlsClient(port_, *context).Hello();
  std::vector<std::unique_ptr<RawSocket>> idle;
  for (int i = 0; i < 2000; ++i) {
    idle.push_back(std::make_unique<RawSocket>(port_));
    if (i % 4 != 0) idle.back()->Send(std::string_view(hello).substr(0, hello.size() - 1));
  }
  EXPECT_THAT(Health(*context), HasSubstr(kHealthy));
  standing.Send(kGetHealth);
  EXPECT_THAT(standing.ReceiveUntil(kHealthy), HasSubstr(kHealthy));
}

// A record may hold as little as one byte of the message.
TEST_F(TlsServerTest, AFirstMessageInPiecesTakesNoPlaceUntilItIsWhole) {
  Options options;
  options.max_handshakes = 2;
  Start(Clients::kAnybody, options);
  const auto context = ClientContext({"http/1.1"});
  const std::string hello = TlsClient(port_, *context).Hello();
  const std::string first = std::string("\x16\x03\x01\x00\x01", 5) + hello[5];
  std::vector<std::unique_ptr<RawSocket>> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(std::make_unique<RawSocket>(port_));
    idle.back()->Send(first);
  }
  EXPECT_THAT(Health(*context), HasSubstr(kHealthy));
  EXPECT_EQ(Failures(TlsFailure::kTimeout), 0U) << "nobody had to leave";
  TlsClient whole(port_, *context);
  const std::string other = whole.Hello();
  const std::size_t rest = other.size() - first.size();
  whole.socket().Send(first + std::string("\x16\x03\x01", 3) + static_cast<char>(rest >> 8) +
                      static_cast<char>(rest & 0xff) + other.substr(first.size()));
  EXPECT_TRUE(whole.Handshake());
}

TEST_F(TlsServerTest, WhoTakesAPlaceAndStopsHasToLeave) {
  Options options;
  options.max_handshakes = 2;
  options.handshake_patience = std::chrono::milliseconds(50);
  Start(Clients::kAnybody, options);
  const auto context = ClientContext({"http/1.1"});
  std::vector<std::unique_ptr<TlsClient>> idle;
  for (int i = 0; i < 10; ++i) {
    idle.push_back(std::make_unique<TlsClient>(port_, *context));
    idle.back()->socket().Send(idle.back()->Hello());
  }
  EXPECT_THAT(Health(*context), HasSubstr(kHealthy));
  EXPECT_GE(Failures(TlsFailure::kTimeout), 8U);
}

TEST_F(TlsServerTest, ClientsThatLeaveInTheMiddleLeaveNothing) {
  Start();
  const auto context = ClientContext();
  for (int i = 0; i < 20; ++i) {
    TlsClient client(port_, *context);
    const std::string hello = client.Hello();
    client.socket().Send(hello.substr(0, hello.size() * static_cast<std::size_t>(i) / 19));
    if (i % 2 == 0) client.socket().Abort();
  }
  EXPECT_TRUE(Eventually([&] { return server_->server().stats().open_connections == 0; }));
  EXPECT_EQ(Handshakes(), 0U);
  EXPECT_THAT(Health(*context), HasSubstr(kHealthy));
}

TEST_F(TlsServerTest, RecordsThatAreBrokenEndTheConnection) {
  Start();
  const auto context = ClientContext({"http/1.1"});
  const std::string hello = TlsClient(port_, *context).Hello();
  const auto send = [this](std::string_view broken, std::size_t /*at*/) {
    RawSocket socket(port_);
    socket.Send(std::string(broken));
    socket.CloseWriting();
    socket.ReceiveAll();
  };
  ForEachFlip(hello, send, std::array{0x55});
  TlsClient client(port_, *context);
  ASSERT_TRUE(client.Handshake());
  client.socket().Send(std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'));
  EXPECT_EQ(client.ReceiveAll(), "");
  EXPECT_THAT(Health(*context), HasSubstr(kHealthy));
}

TEST_F(TlsServerTest, RenegotiationIsNotAnswered) {
  Start();
  const auto context = ClientContext({"http/1.1"}, nullptr, TlsVersion::kTls12);
  TlsClient client(port_, *context);
  ASSERT_TRUE(client.Handshake());
  SSL* ssl = const_cast<SSL*>(client.ssl());
  SSL_clear_options(ssl, SSL_OP_NO_RENEGOTIATION);
  SSL_renegotiate(ssl);
  const std::string hello = client.Hello();
  ASSERT_FALSE(hello.empty());
  client.socket().Send(hello);
  client.ReceiveAll();
  EXPECT_THAT(client.error(), HasSubstr("no renegotiation"));
  EXPECT_EQ(Handshakes(), 1U);
}

// ---- Much ----

TEST_F(TlsGrpcTest, BigAnswersComeWhole) {
  Start();
  for (const int size : {1, 16'383, 16'384, 16'385, 1'000'000, 30'000'000}) {
    std::string answer;
    const grpc::Status status = Call("Size", std::to_string(size), &answer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(answer, std::string(static_cast<std::size_t>(size), 's'));
  }
}

TEST_F(TlsGrpcTest, BigRequestsComeWhole) {
  Start();
  const std::string request(2'000'000, 'r');
  std::string answer;
  EXPECT_TRUE(Call("Unary", request, &answer).ok());
  EXPECT_EQ(answer, request);
}

TEST_F(TlsServerTest, ASlowReaderHoldsUpItselfAndGetsAllOfIt) {
  Start();
  const auto context = ClientContext({"h2"});
  TlsClient slow(port_, *context);
  ASSERT_TRUE(slow.Handshake());
  // Windows that hold everything: only the socket is in the way.
  const std::string wide =
      Frame(FrameType::kSettings, 0, 0, std::string("\x00\x04\x7f\xff\xff\xff", 6)) +
      Frame(FrameType::kWindowUpdate, 0, 0, BigEndian32(0x7fff0000));
  ASSERT_TRUE(
      slow.Send(std::string(kPreface) + wide + UnaryCall(1, "/test.Echo/Size", "20000000")));
  EXPECT_TRUE(Eventually([&] { return server_->ended == 1; }));
  EXPECT_THAT(Health(*ClientContext({"http/1.1"})), HasSubstr(kHealthy));
  const std::string all = slow.ReceiveAtLeast(20'000'000);
  EXPECT_GE(std::ranges::count(all, 's'), 19'990'000);  // the difference is the frames' heads
}

TEST_F(TlsServerTest, AnAddressWithTooManyConnectionsIsToldSoAfterTheHandshake) {
  Options options;
  options.max_connections_per_address = 1;
  options.too_many_connections_text = "too many\n";
  Start(Clients::kAnybody, options);
  const auto context = ClientContext({"http/1.1"});
  {
    TlsClient served(port_, *context);
    ASSERT_TRUE(served.Handshake());
    TlsClient refused(port_, *context);
    ASSERT_TRUE(refused.Handshake());
    refused.Send(kGetHealth);
    EXPECT_THAT(refused.ReceiveAll(), EndsWith("\r\n\r\ntoo many\n"));
    // A client of HTTP/2 could not read that.
    const auto h2 = ClientContext({"h2"});
    TlsClient closed(port_, *h2);
    ASSERT_TRUE(closed.Handshake());
    EXPECT_EQ(closed.ReceiveAll(), "");
    served.Send(kGetHealth);
    EXPECT_THAT(served.ReceiveUntil(kHealthy), HasSubstr(kHealthy));
  }
  EXPECT_TRUE(Eventually([&] { return server_->server().stats().open_connections == 0; }));
  EXPECT_THAT(Health(*context), HasSubstr(kHealthy));
}

TEST_F(TlsServerTest, AConnectionEndsWithAWordOfIt) {
  Start();
  const auto context = ClientContext({"http/1.1"});
  TlsClient client(port_, *context);
  ASSERT_TRUE(client.Handshake());
  client.Send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReceiveAll(), HasSubstr(kHealthy));
  EXPECT_TRUE(client.stream().ended()) << "close_notify, not a cut";
}

TEST_F(TlsServerTest, ShutdownEndsHandshakesToo) {
  Start();
  const auto context = ClientContext({"http/1.1"});
  TlsClient half(port_, *context);
  half.socket().Send(half.Hello().substr(0, 20));
  TlsClient standing(port_, *context);
  ASSERT_TRUE(standing.Handshake());
  server_->Shutdown(std::chrono::milliseconds(0));
  EXPECT_EQ(half.socket().ReceiveAll(), "");
  standing.ReceiveAll();
}

}  // namespace
}  // namespace kvorum::rpc
