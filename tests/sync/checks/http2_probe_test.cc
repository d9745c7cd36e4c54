// Checks over HTTP/2, of this tree's own server: a PING, and gRPC's health service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "rpc/call/health.h"
#include "rpc/server/server.h"
#include "rpc/tls/tls_context.h"
#include "sync/checks/http2_dialogue.h"
#include "sync/checks/system_prober.h"
#include "tests/damage.h"
#include "tests/rpc/certificates.h"
#include "tests/rpc/test_server.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

ProbeResult ProbeHttp2(const CheckDefinition& check) {
  std::promise<ProbeResult> result;
  SystemProber prober;
  prober.Begin(check, [&](ProbeResult ended) { result.set_value(std::move(ended)); });
  return result.get_future().get();
}

CheckDefinition GrpcCheck(const std::string& target) {
  return {.id = "up", .kind = CheckKind::kGrpc, .target = target};
}
CheckDefinition PingCheck(const std::string& target) {
  return {.id = "up", .kind = CheckKind::kH2Ping, .target = target};
}

TEST(SyncHttp2Probe, AServerThatAnswersAPingPasses) {
  const rpc::TestServer server;
  EXPECT_EQ(ProbeHttp2(PingCheck(server.address())),
            (ProbeResult{.health = Health::kPassing, .output = "HTTP2 ping was successful"}));
}

TEST(SyncHttp2Probe, TheHealthServiceDecides) {
  rpc::TestServer server;
  server.health().SetServing(true);
  EXPECT_EQ(ProbeHttp2(GrpcCheck(server.address())),
            (ProbeResult{.health = Health::kPassing,
                         .output = "gRPC check " + server.address() + ": success"}));
  server.health().SetServing(false);
  EXPECT_EQ(ProbeHttp2(GrpcCheck(server.address())),
            (ProbeResult{.health = Health::kCritical,
                         .output = "gRPC " + server.address() + " serving status: NOT_SERVING"}));
}

TEST(SyncHttp2Probe, AServiceThatIsUnknownIsCriticalWithTheCallsStatus) {
  rpc::TestServer server;
  server.health().SetServing(true);
  const ProbeResult result = ProbeHttp2(GrpcCheck(server.address() + "/web"));
  EXPECT_EQ(result.health, Health::kCritical);
  EXPECT_THAT(result.output, StartsWith("rpc error: code = NotFound desc = "));
}

TEST(SyncHttp2Probe, AServerUnderTlsIsKnownByItsCertificate) {
  const TestFolder folder;
  TestAuthority authority("ca");
  authority.Write(folder.path("ca.pem"));
  const TestCertificate leaf = authority.Issue({.common_name = "web", .dns_names = {"localhost"}});
  leaf.Write(folder.path("web.pem"), folder.path("web.key"));
  rpc::TlsOptions files;
  files.certificate_file = folder.path("web.pem");
  files.key_file = folder.path("web.key");
  files.alpn = {"h2"};
  auto context = rpc::TlsContext::Create(std::move(files));
  ASSERT_TRUE(context) << context.error().message;
  rpc::Health health;
  health.SetServing(true);
  rpc::Router router;
  health.Register(router);
  rpc::Server server({}, std::move(router), nullptr);
  const auto bound = server.Listen("127.0.0.1", 0,
                                   {.tls = std::make_shared<const rpc::TlsListen>(rpc::TlsListen{
                                        .context = *std::move(context), .plain_text_too = false})});
  ASSERT_TRUE(bound) << bound.error().message;
  server.Start();
  const std::string port = bound->substr(bound->rfind(':'));
  for (CheckDefinition check : {GrpcCheck("localhost" + port), PingCheck("localhost" + port)}) {
    check.uses_tls = true;
    check.tls.ca_file = folder.path("ca.pem");
    EXPECT_EQ(ProbeHttp2(check).health, Health::kPassing);
    check.tls.server_name = "other";
    EXPECT_THAT(ProbeHttp2(check).output, HasSubstr("certificate verify failed"));
    check.tls = {.skip_verify = true};
    EXPECT_EQ(ProbeHttp2(check).health, Health::kPassing);
  }
  // A connection under TLS alone is a check too.
  EXPECT_EQ(ProbeHttp2({.id = "up",
                        .kind = CheckKind::kTcp,
                        .target = "localhost" + port,
                        .uses_tls = true,
                        .tls = {.skip_verify = true},
                        .details = "{}"}),
            (ProbeResult{.health = Health::kPassing,
                         .output = "TCP+TLS connect localhost" + port + ": Success"}));
  server.Shutdown(0ms);
}

TEST(SyncHttp2Probe, APortWithoutAListenerIsCritical) {
  EXPECT_EQ(ProbeHttp2(PingCheck("127.0.0.1:1")).output,
            "Failed to dial to 127.0.0.1:1: Connection refused");
  EXPECT_EQ(ProbeHttp2(GrpcCheck("127.0.0.1:1")).output, "Connection refused");
}

TEST(SyncHttp2Probe, AServerOfAnotherProtocolIsCritical) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  std::thread server([&] {
    for (int i = 0; i < 2; ++i) {
      boost::asio::ip::tcp::socket socket(io);
      boost::system::error_code error;
      acceptor.accept(socket, error);
      boost::asio::write(socket, boost::asio::buffer(std::string("HTTP/1.1 400 Bad\r\n\r\n")),
                         error);
      std::string rest(1024, '\0');
      while (!error) socket.read_some(boost::asio::buffer(rest), error);
    }
  });
  const std::string address = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  EXPECT_THAT(ProbeHttp2(PingCheck(address)).output, StartsWith("HTTP2 ping failed: "));
  EXPECT_EQ(ProbeHttp2(GrpcCheck(address)).health, Health::kCritical);
  server.join();
}

TEST(SyncHttp2Probe, AServerThatIsSilentIsCriticalAfterTheTimeOut) {
  boost::asio::io_context io;
  const boost::asio::ip::tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  CheckDefinition check =
      PingCheck("127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  check.timeout = 50ms;
  EXPECT_EQ(ProbeHttp2(check).output, "HTTP2 ping failed: no answer within 50 ms");
}

// Frames of a server, byte for byte: settings, then those of the test.
std::optional<ProbeResult> FedTo(const CheckDefinition& check, std::string_view frames) {
  Http2Dialogue dialogue(check);
  EXPECT_THAT(dialogue.TakeOutput(), StartsWith("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  dialogue.Feed(std::string("\0\0\0\x04\0\0\0\0\0", 9));
  (void)dialogue.TakeOutput();
  EXPECT_FALSE(dialogue.result());
  dialogue.Feed(frames);
  (void)dialogue.TakeOutput();
  return dialogue.result();
}

TEST(SyncHttp2Dialogue, AnAnswerIsReadAsFarAsAHealthAnswerGoes) {
  // HEADERS of stream 1 with :status 200, then DATA.
  const std::string head("\0\0\x01\x01\x04\0\0\0\x01\x88", 10);
  std::string data("\0\x20\0\0\0\0\0\0\x01", 9);
  data += std::string(8192, 'x');
  EXPECT_EQ(FedTo(GrpcCheck("x:1"), head + data)->output, "the answer is longer than 4096 bytes");
  // The stream ends with a status of HTTP alone.
  const std::string ended("\0\0\x01\x01\x05\0\0\0\x01\x8d", 10);
  EXPECT_EQ(FedTo(GrpcCheck("x:1"), ended)->output,
            "the call ended without a gRPC status: HTTP status 404");
}

// HEADERS with :status 200, the answer as DATA, trailers with grpc-status 0.
std::string AnswerFrames(std::string_view framed) {
  std::string frames("\0\0\x01\x01\x04\0\0\0\x01\x88", 10);
  frames += std::string("\0\0", 2) + static_cast<char>(framed.size());
  frames += std::string("\0\0\0\0\0\x01", 6);
  frames += framed;
  frames += std::string("\0\0\x0f\x01\x05\0\0\0\x01", 9);
  return frames + std::string("\0\x0bgrpc-status\x01", 14) + "0";
}

TEST(SyncHttp2Dialogue, ADamagedAnswerIsNotServing) {
  const std::string serving("\0\0\0\0\x02\x08\x01", 7);
  ASSERT_EQ(FedTo(GrpcCheck("x:1"), AnswerFrames(serving))->health, Health::kPassing);
  ForEachCut(serving, [](std::string_view cut) {
    EXPECT_EQ(FedTo(GrpcCheck("x:1"), AnswerFrames(cut))->health, Health::kCritical);
  });
  ForEachFlip(serving, [](std::string_view flipped, std::size_t) {
    EXPECT_EQ(FedTo(GrpcCheck("x:1"), AnswerFrames(flipped))->health, Health::kCritical);
  });
  const std::string frames = AnswerFrames(serving);
  ForEachCut(frames, [](std::string_view cut) {
    const auto result = FedTo(GrpcCheck("x:1"), cut);
    EXPECT_TRUE(!result || result->health == Health::kCritical);
  });
}

TEST(SyncHttp2Dialogue, BytesThatAreNotFramesEndIt) {
  const auto result = FedTo(PingCheck("x:1"), std::string(64, '\xff'));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->health, Health::kCritical);
}

}  // namespace
}  // namespace kvorum::sync
