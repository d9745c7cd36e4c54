// Checks of https:// URLs on this machine: who is trusted, and under which name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "sync/checks/system_prober.h"
#include "tests/rpc/certificates.h"

namespace kvorum::sync {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;
using testing::HasSubstr;
using testing::StartsWith;

// Answers one connection under TLS, without TLS' own end.
class HttpsServer {
 public:
  HttpsServer(const TestCertificate& certificate, std::string answer)
      : acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
    context_.use_certificate_chain(asio::buffer(certificate.certificate_pem()));
    context_.use_private_key(asio::buffer(certificate.key_pem()), ssl::context::pem);
    thread_ = std::thread([this, answer = std::move(answer)] { Serve(answer); });
  }
  ~HttpsServer() { thread_.join(); }
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;

  std::string url(const std::string& host) const {
    return "https://" + host + ":" + std::to_string(acceptor_.local_endpoint().port()) + "/health";
  }
  const std::string& request() {
    thread_.join();
    thread_ = std::thread([] {});
    return request_;
  }

 private:
  void Serve(const std::string& answer) {
    tcp::socket socket(io_);
    error_code error;
    acceptor_.accept(socket, error);
    ssl::stream<tcp::socket&> stream(socket, context_);
    stream.handshake(ssl::stream_base::server, error);
    if (error) return;
    asio::read_until(stream, asio::dynamic_buffer(request_), "\r\n\r\n", error);
    asio::write(stream, asio::buffer(answer), error);
  }

  asio::io_context io_;
  ssl::context context_{ssl::context::tls_server};
  tcp::acceptor acceptor_;
  std::string request_;
  std::thread thread_;
};

class SyncHttpsProbe : public testing::Test {
 protected:
  SyncHttpsProbe() { authority_.Write(folder_.path("ca.pem")); }

  static ProbeResult Probe(const std::string& url, const CheckTls& tls) {
    std::promise<ProbeResult> result;
    SystemProber prober;
    prober.Begin({.id = "up", .kind = CheckKind::kHttp, .target = url, .tls = tls},
                 [&](ProbeResult ended) { result.set_value(std::move(ended)); });
    return result.get_future().get();
  }

  TestFolder folder_;
  TestAuthority authority_{"ca"};
  const TestCertificate leaf_ =
      authority_.Issue({.common_name = "web", .dns_names = {"localhost", "web.example.org"}});
  const std::string ok_ = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
  const std::string ca_file_ = folder_.path("ca.pem");
};

TEST_F(SyncHttpsProbe, ACertificateOfTheNamedAuthorityPasses) {
  HttpsServer server(leaf_, ok_);
  EXPECT_EQ(Probe(server.url("localhost"), {.ca_file = ca_file_}),
            (ProbeResult{.health = Health::kPassing, .output = "HTTP 200\nfine"}));
  EXPECT_THAT(server.request(), StartsWith("GET /health HTTP/1.1\r\nHost: localhost:"));
}

TEST_F(SyncHttpsProbe, ACertificateOfAnotherAuthorityOrNameIsCritical) {
  for (const bool is_trusted : {true, false}) {
    HttpsServer server(leaf_, ok_);
    const ProbeResult result = Probe(server.url(is_trusted ? "127.0.0.1" : "localhost"),
                                     {.ca_file = is_trusted ? ca_file_ : std::string()});
    EXPECT_EQ(result.health, Health::kCritical);
    EXPECT_THAT(result.output, HasSubstr("certificate verify failed"));
  }
}

TEST_F(SyncHttpsProbe, AServerNameStandsForTheHost) {
  HttpsServer server(leaf_, ok_);
  EXPECT_EQ(Probe(server.url("127.0.0.1"), {.ca_file = ca_file_, .server_name = "web.example.org"})
                .health,
            Health::kPassing);
}

TEST_F(SyncHttpsProbe, WithoutVerificationAnyCertificatePasses) {
  HttpsServer server(TestAuthority::SelfSigned({.common_name = "x"}), ok_);
  EXPECT_EQ(Probe(server.url("127.0.0.1"), {.skip_verify = true}).health, Health::kPassing);
}

TEST_F(SyncHttpsProbe, AnAnswerWithoutALengthEndsWithTheConnection) {
  HttpsServer server(leaf_, "HTTP/1.1 503 Down\r\n\r\nbroken");
  EXPECT_EQ(Probe(server.url("localhost"), {.ca_file = ca_file_}),
            (ProbeResult{.health = Health::kCritical, .output = "HTTP 503\nbroken"}));
}

TEST_F(SyncHttpsProbe, AnAuthorityThatCannotBeReadIsNamed) {
  const ProbeResult result = Probe("https://127.0.0.1:1/", {.ca_file = folder_.path("none.pem")});
  EXPECT_EQ(result.health, Health::kCritical);
  EXPECT_THAT(result.output, StartsWith(folder_.path("none.pem") + ": "));
}

TEST_F(SyncHttpsProbe, AServerWithoutTlsIsCritical) {
  asio::io_context io;
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  std::thread server([&] {
    tcp::socket socket(io);
    error_code error;
    acceptor.accept(socket, error);
    asio::write(socket, asio::buffer(std::string("HTTP/1.1 400 Bad\r\n\r\n")), error);
  });
  const ProbeResult result =
      Probe("https://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/",
            {.skip_verify = true});
  EXPECT_EQ(result.health, Health::kCritical);
  EXPECT_THAT(result.output, StartsWith("TLS: "));
  server.join();
}

}  // namespace
}  // namespace kvorum::sync
