// The peer port under TLS and members that dial it: who may connect, whose certificate is accepted,
// unfinished handshakes, and certificates that change while members talk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <array>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/freed_by.h"
#include "server/peer/io/tls_socket.h"
#include "server/peer/transport/peer_request.h"
#include "tests/server/peer/peer_certificates.h"
#include "tests/server/peer/peer_fixture.h"
#include "tests/server/replica/log_file.h"

namespace kvorum::server {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// A blocking client under TLS.
class RawTlsClient {
 public:
  // The hook between the port's first answer and the rest of the handshake may be null.
  RawTlsClient(std::uint16_t port, rpc::TlsContext& context,
               const std::function<void()>& meanwhile = nullptr)
      : raw_(port), ssl_(context.NewClient("127.0.0.1")) {
    std::signal(SIGPIPE, SIG_IGN);
    SSL_set_fd(ssl_.get(), raw_.fd());
    if (meanwhile != nullptr) {
      // It cannot read the port's bytes yet.
      SSL_set0_rbio(ssl_.get(), BIO_new(BIO_s_mem()));
      EXPECT_EQ(SSL_get_error(ssl_.get(), SSL_connect(ssl_.get())), SSL_ERROR_WANT_READ);
      pollfd answer{.fd = raw_.fd(), .events = POLLIN, .revents = 0};
      EXPECT_EQ(poll(&answer, 1, static_cast<int>(milliseconds(kPatience).count())), 1);
      meanwhile();
      SSL_set0_rbio(ssl_.get(), BIO_new_socket(raw_.fd(), BIO_NOCLOSE));
    }
    if (SSL_connect(ssl_.get()) != 1) error_ = rpc::TlsErrorText(ssl_.get());
  }
  void Send(std::string_view bytes) {
    SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  // The first bytes of an answer, or the reason why there are none.
  std::string Answer() {
    if (!error_.empty()) return error_;
    std::array<char, 4096> buffer{};
    const int got = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got > 0) return {buffer.data(), static_cast<std::size_t>(got)};
    return "refused: " + rpc::TlsErrorText(ssl_.get());
  }
  long ServerSerial() const {
    const std::unique_ptr<X509, FreedBy<X509_free>> certificate(
        SSL_get1_peer_certificate(ssl_.get()));
    return ASN1_INTEGER_get(X509_get0_serialNumber(certificate.get()));
  }

 private:
  RawClient raw_;
  rpc::SslPtr ssl_;
  std::string error_;
};

class PeerTlsTest : public testing::Test {
 protected:
  static PeerTransport::Options Options(const PeerTls& tls) {
    PeerTransport::Options options = TestPeer::FastOptions();
    options.tls = tls;
    return options;
  }
  PeerTls Port() { return PeerCertificates::Peer(certificates_.Files("port")); }
  static std::unique_ptr<TestPeer> Serve(raft::MemberId id, const PeerTls& tls) {
    auto peer = std::make_unique<TestPeer>(id, Options(tls));
    peer->Start(ViewOf({peer.get()}));
    return peer;
  }
  TestCertificate Issue(TestSubject subject) { return certificates_.ca().Issue(subject); }
  rpc::TlsOptions Client(const TestCertificate& certificate) {
    return certificates_.Files("client", certificate);
  }
  rpc::TlsOptions GoodClient() { return Client(Issue(PeerCertificates::Subject())); }

  // The answer about /version to a client with these files.
  static std::string Answer(TestPeer& port, const rpc::TlsOptions& files) {
    auto context = rpc::TlsContext::Create(files);
    EXPECT_TRUE(context.has_value()) << context.error().message;
    RawTlsClient client(port.port(), **context);
    client.Send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
    return client.Answer();
  }
  static constexpr std::string_view kServed = "HTTP/1.1 200 OK\r\n";
  void ExpectServed(TestPeer& port, const rpc::TlsOptions& files) {
    EXPECT_THAT(Answer(port, files), testing::StartsWith(kServed));
  }
  void ExpectRejected(TestPeer& port, const rpc::TlsOptions& files) {
    const std::uint64_t before = port.transport().server_stats().rejected;
    EXPECT_THAT(Answer(port, files), testing::StartsWith("refused: "));
    ExpectRejections(port, before + 1);
    EXPECT_EQ(port.transport().server_stats().open, 0);
  }
  // They are counted after the last byte that the other end gets.
  static void ExpectRejections(TestPeer& port, std::uint64_t count) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (port.transport().server_stats().rejected < count) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
    EXPECT_EQ(port.transport().server_stats().rejected, count);
  }
  static void AwaitActive(TestPeer& peer, raft::MemberId other) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!peer.transport().ActiveSince(other).has_value()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }
  // Why a member with these files cannot ask the one at the URL.
  static std::string DialError(const std::string& url, const PeerTls& tls) {
    HttpPeerRequester requester(&tls);
    const auto answer = requester.Ask("GET", url, "/version", kPatience);
    return answer.has_value() ? "answered: " + answer->body : answer.error().message;
  }

  PeerCertificates certificates_;
};

// ---- accepting members ----

TEST_F(PeerTlsTest, OnlyThoseWithACertificateOfTheAuthorityAreHeard) {
  const auto port = Serve(1, Port());
  ExpectServed(*port, GoodClient());
  rpc::TlsOptions nobody;
  nobody.trusted_ca_file = certificates_.Path("ca.pem");
  ExpectRejected(*port, nobody);
  TestAuthority stranger("ca");
  ExpectRejected(*port, Client(stranger.Issue(PeerCertificates::Subject())));
  ExpectRejected(*port, Client(TestAuthority::SelfSigned(PeerCertificates::Subject())));
  ExpectRejected(*port, Client(Issue({.common_name = "member", .not_after_s = -60})));
  ExpectRejected(*port, Client(Issue({.common_name = "member", .not_before_s = 3600})));
  ExpectRejected(*port, Client(Issue({.common_name = "member", .usage = TestUsage::kServer})));
  ExpectServed(*port, GoodClient());
  port->Stop();
}

// GHSA-3wh4-j44w-pg92, on the peer port.
TEST_F(PeerTlsTest, RevokedCertificatesAreRefused) {
  const TestCertificate revoked = Issue(PeerCertificates::Subject());
  rpc::TlsOptions files = certificates_.Files("port");
  files.crl_file = certificates_.Path("crl.pem");
  ReplaceFile(files.crl_file, certificates_.ca().RevocationListPem({revoked.serial()}));
  const auto port = Serve(1, PeerCertificates::Peer(files));
  ExpectRejected(*port, Client(revoked));
  const TestCertificate next = Issue(PeerCertificates::Subject());
  ExpectServed(*port, Client(next));
  ReplaceFile(files.crl_file,
              certificates_.ca().RevocationListPem({revoked.serial(), next.serial()}));
  ExpectRejected(*port, Client(next));
  port->Stop();
}

TEST_F(PeerTlsTest, OnlyAllowedNamesAreHeard) {
  rpc::TlsOptions files = certificates_.Files("port");
  files.allowed_cns = {"db-1", "db-2"};
  const auto by_cn = Serve(1, PeerCertificates::Peer(files));
  ExpectServed(*by_cn, Client(Issue({.common_name = "db-2"})));
  ExpectRejected(*by_cn, Client(Issue({.common_name = "db-3"})));
  by_cn->Stop();
  files.allowed_cns.clear();
  files.allowed_hostnames = {"db.example.com"};
  PeerTls tls = PeerCertificates::Peer(files);
  tls.checks_client_address = false;
  const auto by_name = Serve(1, tls);
  ExpectServed(*by_name, Client(Issue({.dns_names = {"*.example.com"}})));
  ExpectRejected(*by_name, Client(Issue({.common_name = "db.example.com"})));
  by_name->Stop();
}

TEST_F(PeerTlsTest, WhoNamesAddressesMustComeFromOneOfThem) {
  const auto port = Serve(1, Port());
  const auto client = [this](std::vector<std::string> names, std::vector<std::string> addresses) {
    return Client(Issue({.dns_names = std::move(names), .ip_addresses = std::move(addresses)}));
  };
  ExpectServed(*port, client({}, {}));
  ExpectServed(*port, client({}, {"10.0.0.1", "127.0.0.1"}));
  ExpectServed(*port, client({"localhost"}, {}));
  ExpectServed(*port, client({"no-such-host.invalid", "localhost"}, {"10.0.0.1"}));
  ExpectRejected(*port, client({}, {"10.0.0.1"}));
  ExpectRejected(*port, client({"no-such-host.invalid"}, {}));
  ExpectRejected(*port, client({"no-such-host.invalid"}, {"10.0.0.1"}));
  port->Stop();

  PeerTls lenient = Port();
  lenient.checks_client_address = false;
  const auto lenient_port = Serve(1, lenient);
  ExpectServed(*lenient_port, client({}, {"10.0.0.1"}));
  lenient_port->Stop();
}

TEST_F(PeerTlsTest, APortThatAsksForNoCertificateServesWhoShowsNone) {
  rpc::TlsOptions files = certificates_.Files("port");
  files.client_cert_auth = false;
  files.trusted_ca_file.clear();
  const auto port = Serve(1, PeerCertificates::Peer(files));
  rpc::TlsOptions nobody;
  nobody.trusted_ca_file = certificates_.Path("ca.pem");
  ExpectServed(*port, nobody);
  port->Stop();
}

TEST_F(PeerTlsTest, PlainPeersAndTlsPortsDoNotMeet) {
  const auto port = Serve(1, Port());
  RawClient plain(port->port());
  plain.Send(PeerRequest("GET", "/version"));
  EXPECT_THAT(plain.ReadToEnd(), testing::Not(HasSubstr("HTTP/1.1 200")));
  ExpectRejections(*port, 1);
  port->Stop();

  TestPeer plain_port(2);
  plain_port.Start(ViewOf({&plain_port}));
  const std::string url = "https://127.0.0.1:" + std::to_string(plain_port.port());
  EXPECT_THAT(DialError(url, Port()), HasSubstr(url + ": dial " + url + ": tls: "));
  plain_port.Stop();
}

TEST_F(PeerTlsTest, AUrlUnderTlsNeedsCertificates) {
  HttpPeerRequester requester;
  EXPECT_THAT(requester.Ask("GET", "https://127.0.0.1:1", "/", kPatience).error().message,
              HasSubstr("no certificates are configured for peers"));
  PeerTransport without(TestPeer::FastOptions());
  EXPECT_EQ(without.Bind(*Url::Parse("https://127.0.0.1:0")).error().message,
            "cannot listen on TLS for 127.0.0.1:0: KeyFile and CertFile are not presented");
  rpc::TlsOptions only_ca;
  only_ca.trusted_ca_file = certificates_.Path("ca.pem");
  PeerTransport dials_only(Options(PeerCertificates::Peer(only_ca)));
  EXPECT_EQ(dials_only.Bind(*Url::Parse("https://127.0.0.1:0")).error().message,
            "cannot listen on TLS for 127.0.0.1:0: KeyFile and CertFile are not presented");
}

// ---- dialling members ----

TEST_F(PeerTlsTest, AMemberIsBelievedOnlyWithAGoodCertificate) {
  const PeerTls dialler = PeerCertificates::Peer(GoodClient());
  const auto error = [&](const TestCertificate& certificate) {
    const auto port = Serve(1, PeerCertificates::Peer(certificates_.Files("port", certificate)));
    std::string text = DialError(port->url(), dialler);
    port->Stop();
    return text;
  };
  EXPECT_EQ(error(Issue(PeerCertificates::Subject())), "answered: GET /version");
  TestAuthority stranger("ca");
  for (const TestCertificate& bad :
       {Issue({.common_name = "127.0.0.1"}), Issue({.ip_addresses = {"127.0.0.2"}}),
        Issue({.dns_names = {"localhost"}}), stranger.Issue(PeerCertificates::Subject()),
        TestAuthority::SelfSigned(PeerCertificates::Subject()),
        Issue({.ip_addresses = {"127.0.0.1"}, .not_after_s = -60}),
        Issue({.ip_addresses = {"127.0.0.1"}, .usage = TestUsage::kClient})}) {
    const std::string text = error(bad);
    EXPECT_THAT(text, HasSubstr("certificate")) << text;
    EXPECT_THAT(text, testing::Not(HasSubstr("answered"))) << text;
  }
}

TEST_F(PeerTlsTest, ADialledNameIsLookedForInTheCertificate) {
  const auto port = Serve(
      1, PeerCertificates::Peer(certificates_.Files("port", Issue({.dns_names = {"localhost"}}))));
  const std::string url = "https://localhost:" + std::to_string(port->port());
  EXPECT_EQ(DialError(url, PeerCertificates::Peer(GoodClient())), "answered: GET /version");
  port->Stop();
}

TEST_F(PeerTlsTest, ARevokedMemberIsNotBelieved) {
  const TestCertificate revoked = Issue(PeerCertificates::Subject());
  const auto port = Serve(1, PeerCertificates::Peer(certificates_.Files("port", revoked)));
  rpc::TlsOptions files = GoodClient();
  files.crl_file = certificates_.Path("crl.pem");
  ReplaceFile(files.crl_file, certificates_.ca().RevocationListPem({revoked.serial()}));
  EXPECT_THAT(DialError(port->url(), PeerCertificates::Peer(files)), HasSubstr("revoked"));
  port->Stop();
}

TEST_F(PeerTlsTest, MembersThatBelieveAnyCertificateMeet) {
  const auto self_signed = [this](const std::string& name) {
    const TestCertificate made = TestAuthority::SelfSigned({.common_name = name});
    rpc::TlsOptions files = certificates_.Files(name, made);
    files.trusted_ca_file.clear();
    files.client_cert_auth = false;
    files.skip_server_verification = true;
    return PeerCertificates::Peer(files);
  };
  TestPeer a(1, Options(self_signed("a")));
  TestPeer b(2, Options(self_signed("b")));
  a.Start(ViewOf({&a, &b}));
  b.Start(ViewOf({&a, &b}));
  AwaitActive(a, 2);
  AwaitActive(b, 1);
  a.Stop();
  b.Stop();
}

// ---- those who never finish ----

// GHSA-6vch-q96h-7gc3, on the peer port.
TEST_F(PeerTlsTest, AHandshakeHasItsTime) {
  PeerTls tls = Port();
  tls.handshake_timeout = milliseconds(50);
  const auto port = Serve(1, tls);
  RawClient silent(port->port());
  EXPECT_EQ(silent.ReadToEnd(), "");
  RawClient half(port->port());
  half.Send(std::string_view("\x16\x03\x01\x01\x00", 5));  // a record that never comes
  EXPECT_EQ(half.ReadToEnd(), "");
  ExpectRejections(*port, 2);
  EXPECT_EQ(port->transport().server_stats().accepted, 0);
  port->Stop();
}

TEST_F(PeerTlsTest, PastTheCapTheOldestHandshakeMakesRoom) {
  PeerTls tls = Port();
  tls.max_handshakes = 4;
  tls.handshake_timeout = kPatience * 2;
  const auto port = Serve(1, tls);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<RawClient>(port->port()));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(silent[static_cast<std::size_t>(i)]->ReadToEnd(), "");
  ExpectServed(*port, GoodClient());  // which replaces one more
  ExpectRejections(*port, 7);
  port->Stop();
}

TEST_F(PeerTlsTest, WhoOnlyOpensConnectionsPushesOutNobodyWhoSpeaks) {
  PeerTls tls = Port();
  tls.max_handshakes = 4;
  tls.handshake_timeout = kPatience * 2;
  const auto port = Serve(1, tls);
  const auto context = *rpc::TlsContext::Create(GoodClient());
  std::vector<std::unique_ptr<RawClient>> silent;
  RawTlsClient member(port->port(), *context, [&] {
    for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<RawClient>(port->port()));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(silent[static_cast<std::size_t>(i)]->ReadToEnd(), "");
  });
  member.Send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(member.Answer(), testing::StartsWith(kServed));
  port->Stop();
}

TEST_F(PeerTlsTest, OfThoseWhoSpeakAndStopTheOldestMakesRoomToo) {
  PeerTls tls = Port();
  tls.max_handshakes = 2;
  tls.handshake_timeout = kPatience * 2;
  const auto port = Serve(1, tls);
  const auto context = *rpc::TlsContext::Create(GoodClient());
  RawTlsClient first(port->port(), *context, [&] {
    RawTlsClient second(port->port(), *context, [&] {
      RawTlsClient third(port->port(), *context, [&] { ExpectRejections(*port, 1); });
      third.Send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
      EXPECT_THAT(third.Answer(), testing::StartsWith(kServed));
    });
    second.Send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(second.Answer(), testing::StartsWith(kServed));
  });
  first.Send("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(first.Answer(), testing::Not(testing::StartsWith(kServed)));
  port->Stop();
}

// Supervisors look in this way whether a port is open.
TEST_F(PeerTlsTest, WhoLeavesWithoutAWordTakesNobodysLineInTheLog) {
  const LogFile log;
  const auto port = Serve(1, Port());
  {
    const RawClient probe(port->port());
  }
  ExpectRejections(*port, 1);
  for (std::uint64_t i = 2; i <= 3; ++i) {
    RawClient plain(port->port());
    plain.Send(PeerRequest("GET", "/version"));
    plain.ReadToEnd();
    ExpectRejections(*port, i);
  }
  port->Stop();
  std::vector<std::string> levels;
  std::istringstream lines(log.Text());
  for (std::string line; std::getline(lines, line);) {
    if (line.find("rejected connection on peer endpoint") == std::string::npos) continue;
    levels.push_back(line.substr(0, line.find(',')));
  }
  EXPECT_THAT(levels, testing::ElementsAre(R"({"level":"debug")", R"({"level":"warn")"));
}

// ---- answers ----

// An answer without a length, after which the connection ends in one way or the other.
std::string WhatComesOf(const PeerTls& tls, bool announced) {
  PeerLoop loop("answerer");
  const auto listener = *PeerListener::Bind(loop, *Url::Parse("https://127.0.0.1:0"));
  EXPECT_TRUE(listener->Listen().has_value());
  std::unique_ptr<TlsSocket> socket;
  std::array<char, 4096> question{};
  loop.Post([&] {
    listener->Start([&](std::unique_ptr<PeerSocket> accepted) {
      socket = std::make_unique<TlsSocket>(loop, std::move(accepted), tls.context->NewServer());
      socket->Handshake([&](const Result<void>&) {
        // Unread bytes would turn the end into a reset.
        socket->Read(question, [&](const Result<std::size_t>&) {
          socket->Write({SharedBytes::Static("HTTP/1.1 200 OK\r\n\r\nso far")},
                        [&](const Result<std::size_t>&) {
                          announced ? socket->CloseWriting() : socket->Close();
                        });
        });
      });
    });
  });
  loop.Start();
  HttpPeerRequester requester(&tls);
  const auto answer = requester.Ask("GET", "https://" + listener->address(), "/", kPatience);
  loop.Post([&] {
    listener->Close();
    socket.reset();
  });
  loop.Stop();
  return answer.has_value() ? answer->body : answer.error().message;
}

TEST_F(PeerTlsTest, AnAnswerThatWasCutIsNone) {
  EXPECT_EQ(WhatComesOf(Port(), /*announced=*/true), "so far");
  EXPECT_THAT(WhatComesOf(Port(), /*announced=*/false), HasSubstr(kEndUnannounced));
}

TEST_F(PeerTlsTest, ADialledPortThatKeepsSilentIsGivenUp) {
  PeerLoop loop("silent");
  const auto listener = *PeerListener::Bind(loop, *Url::Parse("https://127.0.0.1:0"));
  ASSERT_TRUE(listener->Listen().has_value());  // the kernel accepts, no process answers
  PeerTls tls = Port();
  tls.handshake_timeout = milliseconds(50);
  EXPECT_THAT(DialError("https://" + listener->address(), tls),
              HasSubstr("TLS handshake: timed out"));
}

TEST_F(PeerTlsTest, StoppingDropsHandshakesThatAreUnderWay) {
  const auto port = Serve(1, Port());
  RawClient silent(port->port());
  TestPeer other(2, Options(Port()));
  MembershipView view = ViewOf({&other});
  view.members[1] =
      MemberAt(1, {"https://" + std::string("127.0.0.1:") + std::to_string(port->port())});
  other.Start(std::move(view));
  other.Stop();
  port->Stop();
}

// ---- certificates that change ----

TEST_F(PeerTlsTest, NewCertificatesAreTakenAndWhatStandsIsLeftAlone) {
  rpc::TlsOptions files = certificates_.Files("port");
  files.trusted_ca_file = certificates_.Path("believed.pem");
  certificates_.ca().Write(files.trusted_ca_file);
  TestPeer a(1, Options(PeerCertificates::Peer(files)));
  TestPeer b(2, Options(PeerCertificates::Peer(certificates_.Files("b"))));
  a.Start(ViewOf({&a, &b}));
  b.Start(ViewOf({&a, &b}));
  AwaitActive(a, 2);
  AwaitActive(b, 1);
  const auto since = a.transport().ActiveSince(2);
  const auto client = *rpc::TlsContext::Create(GoodClient());
  const long first = RawTlsClient(a.port(), *client).ServerSerial();
  const TestCertificate next = Issue(PeerCertificates::Subject());
  certificates_.Files("port", next);
  EXPECT_NE(first, next.serial());
  EXPECT_EQ(RawTlsClient(a.port(), *client).ServerSerial(), next.serial());
  // Also with another authority: the old one is not trusted any more, but established connections
  // stay.
  TestAuthority newer("ca");
  newer.Write(files.trusted_ca_file);
  EXPECT_THAT(Answer(a, GoodClient()), testing::StartsWith("refused: "));
  a.transport().Send({{.type = raft::MessageType::kHeartbeat, .to = 2, .from = 1, .term = 9}});
  ASSERT_TRUE(b.receiver().Until([&] { return !b.receiver().messages.empty(); }));
  EXPECT_EQ(a.transport().ActiveSince(2), since);
  a.Stop();
  b.Stop();
}

}  // namespace
}  // namespace kvorum::server
