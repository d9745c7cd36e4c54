// Who may connect, and with which files: two ends in memory, no sockets.
#include "rpc/tls_context.h"

#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <openssl/ui.h>

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "rpc/self_signed.h"
#include "rpc/tls_ciphers.h"
#include "rpc/tls_files.h"
#include "tests/rpc/certificates.h"

namespace kvorum::rpc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Ends {
  SslPtr server = {};
  SslPtr client = {};
  bool agreed = false;
  std::string server_error = {};  // why it did not agree, empty if only the client refused
  std::string client_error = {};
};

std::string Shake(SSL* ssl) {
  const int result = SSL_do_handshake(ssl);
  if (result == 1 || SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ) return {};
  return TlsErrorText(ssl);
}

// Runs the handshake to its end, and one byte each way: only then has the client heard of a
// refusal in TLS 1.3.
Ends Meet(SslPtr server, SslPtr client) {
  Ends ends{.server = std::move(server), .client = std::move(client)};
  BIO* server_bio = nullptr;
  BIO* client_bio = nullptr;
  BIO_new_bio_pair(&server_bio, 256 * 1024, &client_bio, 256 * 1024);
  SSL_set_bio(ends.server.get(), server_bio, server_bio);
  SSL_set_bio(ends.client.get(), client_bio, client_bio);
  for (int i = 0; i < 10; ++i) {
    if (ends.client_error.empty()) ends.client_error = Shake(ends.client.get());
    if (ends.server_error.empty()) ends.server_error = Shake(ends.server.get());
  }
  if (!ends.client_error.empty() || !ends.server_error.empty()) return ends;
  char byte = 'x';
  ends.agreed =
      SSL_write(ends.server.get(), &byte, 1) == 1 && SSL_read(ends.client.get(), &byte, 1) == 1 &&
      SSL_write(ends.client.get(), &byte, 1) == 1 && SSL_read(ends.server.get(), &byte, 1) == 1;
  return ends;
}

class TlsContextTest : public ::testing::Test {
 protected:
  TlsContextTest() {
    ca_.Write(folder_.path("ca.pem"));
    ca_.Write(folder_.path("trusted.pem"));
    ca_.Issue({.common_name = "server", .dns_names = {"localhost"}, .ip_addresses = {"127.0.0.1"}})
        .Write(folder_.path("server.pem"), folder_.path("server.key"));
  }

  TlsOptions ServerOptions() {
    TlsOptions options;
    options.certificate_file = folder_.path("server.pem");
    options.key_file = folder_.path("server.key");
    return options;
  }
  TlsOptions MutualOptions() {
    TlsOptions options = ServerOptions();
    options.trusted_ca_file = folder_.path("ca.pem");
    options.client_cert_auth = true;
    return options;
  }
  TlsOptions ClientOptions() {
    TlsOptions options;
    options.trusted_ca_file = folder_.path("trusted.pem");
    return options;
  }
  TlsOptions ClientOptions(const TestCertificate& certificate) {
    TlsOptions options = ClientOptions();
    options.certificate_file = folder_.path("client.pem");
    options.key_file = folder_.path("client.key");
    certificate.Write(options.certificate_file, options.key_file);
    return options;
  }
  static std::shared_ptr<TlsContext> Context(const TlsOptions& options) {
    auto context = TlsContext::Create(options);
    EXPECT_TRUE(context.has_value()) << context.error().message;
    return std::move(*context);
  }
  static Ends Meet(const TlsOptions& server, const TlsOptions& client,
                   const std::string& host = "localhost") {
    return rpc::Meet(Context(server)->NewServer(), Context(client)->NewClient(host));
  }
  static std::string CreateError(const TlsOptions& options) {
    const auto context = TlsContext::Create(options);
    return context.has_value() ? "" : context.error().message;
  }
  void ExpectRefused(const TlsOptions& server, const TestCertificate& client,
                     const std::string& why) {
    const Ends ends = Meet(server, ClientOptions(client));
    EXPECT_FALSE(ends.agreed);
    EXPECT_THAT(ends.server_error, HasSubstr(why));
    EXPECT_EQ(VerifiedIdentity(ends.server.get()), std::nullopt);
  }
  void ExpectAccepted(const TlsOptions& server, const TestCertificate& client) {
    const Ends ends = Meet(server, ClientOptions(client));
    EXPECT_TRUE(ends.agreed) << ends.server_error << " / " << ends.client_error;
  }

  TestFolder folder_;
  TestAuthority ca_{"ca"};
};

// ---- Who may connect ----

TEST_F(TlsContextTest, AClientThatTrustsTheAuthorityConnects) {
  const Ends ends = Meet(ServerOptions(), ClientOptions());
  EXPECT_TRUE(ends.agreed) << ends.server_error << ends.client_error;
  EXPECT_EQ(VerifiedIdentity(ends.server.get()), std::nullopt);
  const auto server = VerifiedIdentity(ends.client.get());
  ASSERT_TRUE(server.has_value());
  EXPECT_EQ(server->common_name, "server");
  EXPECT_EQ(server->dns_names, std::vector<std::string>{"localhost"});
  EXPECT_EQ(server->ip_addresses, std::vector<std::string>{"127.0.0.1"});
}

TEST_F(TlsContextTest, AServerIsOnlyBelievedForTheNamesOfItsCertificate) {
  EXPECT_TRUE(Meet(ServerOptions(), ClientOptions(), "127.0.0.1").agreed);
  EXPECT_FALSE(Meet(ServerOptions(), ClientOptions(), "127.0.0.2").agreed);
  EXPECT_FALSE(Meet(ServerOptions(), ClientOptions(), "server").agreed) << "a CN is no host";
  EXPECT_FALSE(Meet(ServerOptions(), ClientOptions(), "").agreed);
  TlsOptions named = ClientOptions();
  named.server_name = "localhost";
  EXPECT_TRUE(Meet(ServerOptions(), named, "10.1.2.3").agreed);
  TlsOptions trusting;
  trusting.skip_server_verification = true;
  const Ends ends = Meet(ServerOptions(), trusting, "10.1.2.3");
  EXPECT_TRUE(ends.agreed);
  EXPECT_EQ(VerifiedIdentity(ends.client.get()), std::nullopt);
}

TEST_F(TlsContextTest, AClientThatIsVerifiedIsKnownByItsLeafsName) {
  const Ends ends = Meet(MutualOptions(), ClientOptions(ca_.Issue({.common_name = "alice"})));
  ASSERT_TRUE(ends.agreed) << ends.server_error << ends.client_error;
  EXPECT_EQ(VerifiedIdentity(ends.server.get())->common_name, "alice");
}

TEST_F(TlsContextTest, WithoutACertificateAClientIsRefused) {
  const Ends ends = Meet(MutualOptions(), ClientOptions());
  EXPECT_FALSE(ends.agreed);
  EXPECT_EQ(ends.server_error, "tls: client didn't provide a certificate");
}

TEST_F(TlsContextTest, ATrustedCaAloneRequiresCertificatesToo) {
  TlsOptions options = MutualOptions();
  options.client_cert_auth = false;
  EXPECT_FALSE(Meet(options, ClientOptions()).agreed);
  ExpectAccepted(options, ca_.Issue({.common_name = "alice"}));
}

TEST_F(TlsContextTest, CertificatesOfOthersAreRefused) {
  TestAuthority other("ca");  // of the same name
  ExpectRefused(MutualOptions(), other.Issue({.common_name = "root"}), "x509: ");
  ExpectRefused(MutualOptions(), TestAuthority::SelfSigned({.common_name = "root"}), "x509: ");
}

TEST_F(TlsContextTest, CertificatesOutOfTheirTimeAreRefused) {
  ExpectRefused(MutualOptions(), ca_.Issue({.common_name = "a", .not_after_s = -60}), "expired");
  ExpectRefused(MutualOptions(), ca_.Issue({.common_name = "a", .not_before_s = 3600}),
                "not yet valid");
}

TEST_F(TlsContextTest, ACertificateForServersIsNoneForClients) {
  ExpectRefused(MutualOptions(), ca_.Issue({.common_name = "a", .usage = TestUsage::kServer}),
                "purpose");
  ExpectAccepted(MutualOptions(), ca_.Issue({.common_name = "a", .usage = TestUsage::kClient}));
  ExpectAccepted(MutualOptions(), ca_.Issue({.common_name = "a", .usage = TestUsage::kNone}));
  ca_.Issue({.dns_names = {"localhost"}, .usage = TestUsage::kClient})
      .Write(folder_.path("server.pem"), folder_.path("server.key"));
  EXPECT_FALSE(Meet(ServerOptions(), ClientOptions()).agreed);
}

TEST_F(TlsContextTest, ALeafIsNoAuthority) {
  TestAuthority intermediate("intermediate", ca_);
  ExpectAccepted(MutualOptions(), intermediate.Issue({.common_name = "bob"}));
  TestAuthority pretender("alice", ca_, 0, TestAuthority::Kind::kPretender);
  ExpectRefused(MutualOptions(), pretender.Issue({.common_name = "bob"}), "x509: ");
}

TEST_F(TlsContextTest, EachCertificateOfTheCaFileIsAnAnchor) {
  TestAuthority intermediate("intermediate", ca_);
  ReplaceFile(folder_.path("ca.pem"), intermediate.pem());
  ExpectAccepted(MutualOptions(), intermediate.Issue({.common_name = "bob"}));
  ExpectRefused(MutualOptions(), ca_.Issue({.common_name = "bob"}), "x509: ");
}

// An authority that is rotated keeps its name as a rule, and certificates made by hand do not say
// by which key they are signed.
TEST_F(TlsContextTest, OfTwoAuthoritiesOfOneNameBothAreBelieved) {
  TestAuthority next("ca");
  TestAuthority stranger("ca");
  for (const std::string& trusted : {ca_.pem() + next.pem(), next.pem() + ca_.pem()}) {
    ReplaceFile(folder_.path("ca.pem"), trusted);
    for (const bool names_key : {false, true}) {
      const TestSubject subject{.common_name = "a", .names_issuers_key = names_key};
      ExpectAccepted(MutualOptions(), ca_.Issue(subject));
      ExpectAccepted(MutualOptions(), next.Issue(subject));
      ExpectRefused(MutualOptions(), stranger.Issue(subject), "x509: ");
      ExpectRefused(MutualOptions(), TestAuthority::SelfSigned({.common_name = "a"}), "x509: ");
      TestAuthority intermediate("intermediate", next);
      ExpectAccepted(MutualOptions(), intermediate.Issue(subject));
      ExpectRefused(MutualOptions(), next.Issue({.common_name = "a", .not_after_s = -60}),
                    "expired");
    }
  }
}

// ---- Names ----

TEST_F(TlsContextTest, OnlyAllowedCommonNamesMayConnect) {
  TlsOptions options = MutualOptions();
  options.allowed_cns = {"alice", "bob"};
  ExpectAccepted(options, ca_.Issue({.common_name = "bob"}));
  ExpectRefused(options, ca_.Issue({.common_name = "eve", .dns_names = {"bob"}}), "mismatch");
  ExpectRefused(options, ca_.Issue({.common_name = "bob2"}), "mismatch");
  ExpectRefused(options, ca_.Issue({}), "mismatch");
}

TEST_F(TlsContextTest, OnlyAllowedHostnamesMayConnect) {
  TlsOptions options = MutualOptions();
  options.allowed_hostnames = {"client.example.com", "10.0.0.1"};
  ExpectAccepted(options, ca_.Issue({.dns_names = {"other", "client.example.com"}}));
  ExpectAccepted(options, ca_.Issue({.dns_names = {"*.example.com"}}));
  ExpectAccepted(options, ca_.Issue({.ip_addresses = {"10.0.0.1"}}));
  ExpectRefused(options, ca_.Issue({.common_name = "client.example.com"}), "mismatch");
  ExpectRefused(options, ca_.Issue({.dns_names = {"cl*.example.com"}}), "mismatch");
  ExpectRefused(options, ca_.Issue({.dns_names = {"x.client.example.com", "10.0.0.1"}}),
                "mismatch");
  options.allowed_hostnames = {".example.com"};
  ExpectRefused(options, ca_.Issue({.dns_names = {"client.example.com"}}), "mismatch");
}

// Hosts of a private network have two labels as a rule, and names that are none of the web's.
TEST_F(TlsContextTest, NamesMatchAsGosDo) {
  const auto matches = [this](const std::string& name, const std::string& host) {
    ca_.Issue({.dns_names = {"other", name}})
        .Write(folder_.path("server.pem"), folder_.path("server.key"));
    const bool dialled = Meet(ServerOptions(), ClientOptions(), host).agreed;
    TlsOptions options = MutualOptions();
    options.allowed_hostnames = {host};
    EXPECT_EQ(Meet(options, ClientOptions(ca_.Issue({.dns_names = {name}})), "other").agreed,
              dialled)
        << name << " " << host;
    return dialled;
  };
  EXPECT_TRUE(matches("*.lan", "m1.lan"));
  EXPECT_TRUE(matches("*.Example.com", "M1.example.COM"));
  EXPECT_TRUE(matches("*.example.com", "m_1.example.com"));
  EXPECT_TRUE(matches("m_1.db_x", "m_1.db_x"));
  EXPECT_TRUE(matches("m1.lan", "m1.lan."));
  EXPECT_TRUE(matches("*.lan", "m1.lan."));
  EXPECT_FALSE(matches("*.lan", "lan"));
  EXPECT_FALSE(matches("*.lan", ".lan"));
  EXPECT_FALSE(matches("*.lan", "a.m1.lan"));
  EXPECT_FALSE(matches("m1.lan", ".lan"));
  EXPECT_FALSE(matches("*", "lan"));
  EXPECT_FALSE(matches("m*.lan", "m1.lan"));
  EXPECT_FALSE(matches("a.*.lan", "a.m1.lan"));
  EXPECT_FALSE(matches("m1.lan", "m1.lan.."));
}

TEST_F(TlsContextTest, WhatIsAskedForHasNoDotAtItsEnd) {
  const auto asked = [this](const std::string& host) {
    return std::string(RequestedName(Meet(ServerOptions(), ClientOptions(), host).server.get()));
  };
  EXPECT_EQ(asked("localhost."), "localhost");
  EXPECT_EQ(asked("127.0.0.1"), "");
  EXPECT_EQ(Context(ClientOptions())->NewClient(std::string(300, 'x')), nullptr);
}

// An authority's constraint is one of hosts: what a user is called is none of it.
TEST_F(TlsContextTest, AConstraintOfNamesIsNoneOfCommonNames) {
  TestAuthority constrained("constrained", ca_, 0, TestAuthority::Kind::kConstrained);
  ExpectAccepted(MutualOptions(), constrained.Issue({.common_name = "alice.other.org"}));
  ExpectAccepted(MutualOptions(), constrained.Issue({.dns_names = {"a.example.com"}}));
  ExpectRefused(MutualOptions(), constrained.Issue({.dns_names = {"a.other.org"}}), "permitted");
}

TEST_F(TlsContextTest, WhatWasRefusedIsKnownAndNotBelieved) {
  TestAuthority stranger("stranger");
  const Ends ends =
      Meet(MutualOptions(),
           ClientOptions(stranger.Issue({.common_name = "eve", .dns_names = {"e.lan"}})));
  ASSERT_FALSE(ends.agreed);
  const auto shown = ShownIdentity(ends.server.get());
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->common_name, "eve");
  EXPECT_EQ(shown->dns_names, std::vector<std::string>{"e.lan"});
  EXPECT_EQ(VerifiedIdentity(ends.server.get()), std::nullopt);
}

// A variable that was empty where the flag was made must not open the door.
TEST_F(TlsContextTest, AnEmptyNameAllowsNobody) {
  TlsOptions options = MutualOptions();
  options.allowed_hostnames = {""};
  ExpectRefused(options, ca_.Issue({.dns_names = {"client.example.com"}}), "mismatch");
  ExpectRefused(options, ca_.Issue({}), "mismatch");
  options.allowed_hostnames.clear();
  options.allowed_cns = {""};
  ExpectRefused(options, ca_.Issue({.common_name = "alice"}), "mismatch");
}

TEST_F(TlsContextTest, NamesAreAskedForOfTheServerTooWhereWeDial) {
  TlsOptions options = ClientOptions();
  options.allowed_cns = {"server"};
  EXPECT_TRUE(Meet(ServerOptions(), options).agreed);
  options.allowed_cns = {"other"};
  EXPECT_FALSE(Meet(ServerOptions(), options).agreed);
}

// ---- Revocation ----

TEST_F(TlsContextTest, ARevokedCertificateIsRefused) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate bob = ca_.Issue({.common_name = "bob"});
  TlsOptions options = MutualOptions();
  options.crl_file = folder_.path("crl");
  ReplaceFile(options.crl_file, ca_.RevocationListPem({alice.serial()}));
  ExpectRefused(options, alice, "revoked");
  ExpectAccepted(options, bob);
  ReplaceFile(options.crl_file, ca_.RevocationListDer({alice.serial()}));
  ExpectRefused(options, alice, "revoked");
  ExpectAccepted(options, bob);
}

TEST_F(TlsContextTest, EachListOfTheFileCounts) {
  TestAuthority other("other");
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  TlsOptions options = MutualOptions();
  options.crl_file = folder_.path("crl");
  ReplaceFile(options.crl_file,
              other.RevocationListPem({7}) + ca_.RevocationListPem({alice.serial()}));
  ExpectRefused(options, alice, "revoked");
}

TEST_F(TlsContextTest, AListThatHasExpiredOrIsOfAnotherIssuerRevokesStill) {
  TestAuthority other("other");
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  TlsOptions options = MutualOptions();
  options.crl_file = folder_.path("crl");
  ReplaceFile(options.crl_file, ca_.RevocationListPem({alice.serial()}, -60));
  ExpectRefused(options, alice, "revoked");
  ExpectAccepted(options, ca_.Issue({.common_name = "bob"}));
  ReplaceFile(options.crl_file, other.RevocationListPem({alice.serial()}));
  ExpectRefused(options, alice, "revoked");
}

// GHSA-3wh4-j44w-pg92: the list must hold wherever a certificate is looked at.
TEST_F(TlsContextTest, GHSA_3wh4_TheListIsNotPassedByAnIntermediateNorByDialling) {
  TestAuthority intermediate("intermediate", ca_, 4711);
  TlsOptions options = MutualOptions();
  options.crl_file = folder_.path("crl");
  ReplaceFile(options.crl_file, ca_.RevocationListPem({4711}));
  ExpectRefused(options, intermediate.Issue({.common_name = "alice"}), "revoked");
  // The same, with the intermediate from our own file.
  ReplaceFile(folder_.path("ca.pem"), ca_.pem() + intermediate.pem());
  ExpectRefused(options, intermediate.Issue({.common_name = "alice"}), "revoked");

  const TestCertificate server = ca_.Issue({.dns_names = {"localhost"}});
  server.Write(folder_.path("server.pem"), folder_.path("server.key"));
  TlsOptions client = ClientOptions();
  client.crl_file = folder_.path("crl");
  EXPECT_TRUE(Meet(ServerOptions(), client).agreed);
  ReplaceFile(client.crl_file, ca_.RevocationListPem({server.serial()}));
  EXPECT_FALSE(Meet(ServerOptions(), client).agreed);
}

TEST_F(TlsContextTest, ASessionIsNeverResumed) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  TlsOptions options = MutualOptions();
  options.crl_file = folder_.path("crl");
  ReplaceFile(options.crl_file, ca_.RevocationListPem({1}));
  const auto server = Context(options);
  for (const TlsVersion version : {TlsVersion::kTls12, TlsVersion::kTls13}) {
    TlsOptions client_options = ClientOptions(alice);
    client_options.max_version = version;
    const auto client = Context(client_options);
    const Ends first = rpc::Meet(server->NewServer(), client->NewClient("localhost"));
    ASSERT_TRUE(first.agreed);
    SSL_SESSION* session = SSL_get1_session(first.client.get());
    EXPECT_EQ(SSL_SESSION_has_ticket(session), 0);
    SslPtr again = client->NewClient("localhost");
    SSL_set_session(again.get(), session);
    const Ends second = rpc::Meet(server->NewServer(), std::move(again));
    EXPECT_TRUE(second.agreed);
    EXPECT_EQ(SSL_session_reused(second.server.get()), 0);
    SSL_SESSION_free(session);
  }
}

// ---- Versions, ciphers, protocols ----

TEST_F(TlsContextTest, VersionsAreLimited) {
  const auto version = [&](TlsVersion server_min, TlsVersion server_max, TlsVersion client_min,
                           TlsVersion client_max) -> std::string {
    TlsOptions server = ServerOptions();
    server.min_version = server_min;
    server.max_version = server_max;
    TlsOptions client = ClientOptions();
    client.min_version = client_min;
    client.max_version = client_max;
    const Ends ends = Meet(server, client);
    return ends.agreed ? SSL_get_version(ends.server.get()) : "none";
  };
  using enum TlsVersion;
  EXPECT_EQ(version(kAny, kAny, kAny, kAny), "TLSv1.3");
  EXPECT_EQ(version(kAny, kTls12, kAny, kAny), "TLSv1.2");
  EXPECT_EQ(version(kTls13, kAny, kAny, kTls12), "none");
  EXPECT_EQ(version(kTls12, kTls12, kTls13, kAny), "none");
  EXPECT_EQ(version(kTls12, kTls13, kAny, kTls12), "TLSv1.2");
}

TEST_F(TlsContextTest, Tls11IsRefused) {
  const auto client = Context(ClientOptions());
  SslPtr old = client->NewClient("localhost");
  SSL_set_min_proto_version(old.get(), TLS1_VERSION);
  SSL_set_max_proto_version(old.get(), TLS1_1_VERSION);
  SSL_set_security_level(old.get(), 0);
  const auto server = Context(ServerOptions());
  EXPECT_FALSE(rpc::Meet(server->NewServer(), std::move(old)).agreed);
}

TEST_F(TlsContextTest, TheListOfCiphersIsKept) {
  const auto cipher = [&](std::vector<std::string> names) -> std::string {
    TlsOptions server = ServerOptions();
    server.cipher_suites = std::move(names);
    TlsOptions client = ClientOptions();
    client.max_version = TlsVersion::kTls12;
    const Ends ends = Meet(server, client);
    return ends.agreed ? SSL_CIPHER_standard_name(SSL_get_current_cipher(ends.server.get()))
                       : "none";
  };
  EXPECT_EQ(cipher({"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}),
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384");
  EXPECT_EQ(cipher({"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"}),
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
  EXPECT_EQ(cipher({"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}), "none") << "the key is no RSA key";
  EXPECT_EQ(cipher({"TLS_AES_128_GCM_SHA256"}), "none") << "nothing of it is for TLS 1.2";
}

// GHSA-5x4g-q5rc-36jp: ciphers that are weak, by default.
TEST_F(TlsContextTest, WeakCiphersAreOffUnlessNamed) {
  const auto client = Context(ClientOptions());
  const auto server = Context(ServerOptions());
  SslPtr weak = client->NewClient("localhost");
  SSL_set_max_proto_version(weak.get(), TLS1_2_VERSION);
  SSL_set_cipher_list(weak.get(), "ECDHE-ECDSA-AES128-SHA");
  EXPECT_FALSE(rpc::Meet(server->NewServer(), std::move(weak)).agreed);
}

TEST_F(TlsContextTest, LimitsThatCannotBeAreRefusedAtTheStart) {
  TlsOptions options = ServerOptions();
  options.cipher_suites = {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "AES128-SHA"};
  EXPECT_EQ(CreateError(options), "unexpected TLS cipher suite \"AES128-SHA\"");
  options.cipher_suites = {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"};
  options.min_version = TlsVersion::kTls13;
  EXPECT_EQ(CreateError(options), "cipher suites cannot be configured when only TLS1.3 is enabled");
  options.cipher_suites = {};
  options.max_version = TlsVersion::kTls12;
  EXPECT_EQ(CreateError(options), "min version (TLS1.3) is greater than max version (TLS1.2)");
  EXPECT_EQ(ParseTlsVersion("TLS1.1").error().message,
            "unexpected TLS version \"TLS1.1\" (must be one of: TLS1.2, TLS1.3)");
}

TEST_F(TlsContextTest, CiphersThatAreNotThereAreKnown) {
  EXPECT_EQ(UnavailableCiphers({"TLS_RSA_WITH_RC4_128_SHA", "TLS_AES_128_GCM_SHA256",
                                "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"}),
            std::vector<std::string>{"TLS_RSA_WITH_RC4_128_SHA"});
}

TEST_F(TlsContextTest, ProtocolsAreChosenAsGoDoes) {
  const auto chosen = [&](std::vector<std::string> ours,
                          std::vector<std::string> theirs) -> std::string {
    TlsOptions server = ServerOptions();
    server.alpn = std::move(ours);
    TlsOptions client = ClientOptions();
    client.alpn = std::move(theirs);
    const Ends ends = Meet(server, client);
    return ends.agreed ? std::string(NegotiatedProtocol(ends.client.get())) : "refused";
  };
  EXPECT_EQ(chosen({"h2", "http/1.1"}, {"http/1.1", "h2"}), "h2");
  EXPECT_EQ(chosen({"h2", "http/1.1"}, {"http/1.1"}), "http/1.1");
  EXPECT_EQ(chosen({"h2", "http/1.1"}, {}), "");
  EXPECT_EQ(chosen({"h2"}, {"http/1.1"}), "");
  EXPECT_EQ(chosen({"h2", "http/1.1"}, {"spdy/1"}), "refused");
}

TEST_F(TlsContextTest, RenegotiationIsRefused) {
  TlsOptions client_options = ClientOptions();
  client_options.max_version = TlsVersion::kTls12;
  Ends ends = Meet(ServerOptions(), client_options);
  ASSERT_TRUE(ends.agreed);
  SSL_clear_options(ends.client.get(), SSL_OP_NO_RENEGOTIATION);
  ASSERT_EQ(SSL_renegotiate(ends.client.get()), 1);
  SSL_do_handshake(ends.client.get());
  std::array<char, 16> buffer;
  SSL_read(ends.server.get(), buffer.data(), static_cast<int>(buffer.size()));
  EXPECT_NE(SSL_do_handshake(ends.client.get()), 1);
}

// ---- Files ----

TEST_F(TlsContextTest, FilesThatAreNotGoodAreNamedAtTheStart) {
  const std::string none = folder_.path("none");
  TlsOptions options = MutualOptions();
  options.certificate_file = none;
  EXPECT_EQ(CreateError(options), "open " + none + ": no such file or directory");
  options = MutualOptions();
  options.trusted_ca_file = none;
  EXPECT_EQ(CreateError(options), "open " + none + ": no such file or directory");
  options = MutualOptions();
  options.crl_file = none;
  EXPECT_EQ(CreateError(options), "open " + none + ": no such file or directory");
  options.crl_file = folder_.path("ca.pem");
  EXPECT_THAT(CreateError(options), HasSubstr("ca.pem"));
  options = MutualOptions();
  OverwriteFile(none, "nothing");
  options.certificate_file = none;
  EXPECT_THAT(CreateError(options), HasSubstr("certificate input (" + none));
  options = MutualOptions();
  options.key_file = none;
  EXPECT_THAT(CreateError(options), HasSubstr("key input (" + none));
  options.key_file = "";
  EXPECT_THAT(CreateError(options), HasSubstr("KeyFile and CertFile must both be present[key: , "));
  options = MutualOptions();
  options.client_key_file = none;
  EXPECT_THAT(CreateError(options), HasSubstr("must both be present or both absent"));
  options = MutualOptions();
  options.trusted_ca_file = none;
  EXPECT_THAT(CreateError(options), HasSubstr(none));
}

TEST_F(TlsContextTest, AKeyOfAnotherCertificateIsRefusedAndNotShown) {
  const TestCertificate other = ca_.Issue({.common_name = "other"});
  OverwriteFile(folder_.path("server.key"), other.key_pem());
  const std::string error = CreateError(ServerOptions());
  EXPECT_THAT(error, HasSubstr("tls: private key does not match public key"));
  EXPECT_THAT(error, HasSubstr("server.key"));
  EXPECT_EQ(error.find("PRIVATE"), std::string::npos);
}

// What is in a file that cannot be used stays in it: files are mistaken for one another.
TEST_F(TlsContextTest, ErrorsTellNothingOfWhatIsInAFile) {
  const std::string secret = "MHcCAQEEISecretSecretSecretSecret";
  const std::string broken =
      "-----BEGIN EC PRIVATE KEY-----\n" + secret + "\n-----END EC PRIVATE KEY-----\n";
  const std::string bad = folder_.path("bad.pem");
  for (const std::string& content : {broken, secret, FileBytes(folder_.path("server.key"))}) {
    OverwriteFile(bad, content);
    for (std::string TlsOptions::* file : {&TlsOptions::certificate_file, &TlsOptions::key_file,
                                           &TlsOptions::trusted_ca_file, &TlsOptions::crl_file}) {
      TlsOptions options = MutualOptions();
      options.*file = bad;
      const std::string error = CreateError(options);
      if (file == &TlsOptions::key_file && content != broken && content != secret) {
        EXPECT_EQ(error, "") << "the right key";
        continue;
      }
      EXPECT_THAT(error, HasSubstr(bad));
      EXPECT_THAT(error, Not(HasSubstr("MHcC")));
      EXPECT_LT(error.size(), 100 + 2 * bad.size());
    }
  }
}

// A server that asks the terminal it was started from waits for ever.
TEST_F(TlsContextTest, NobodyIsAskedForAPassphrase) {
  static bool asked;
  asked = false;
  UI_METHOD* const method = UI_create_method("asked");
  UI_method_set_opener(method, [](UI*) {
    asked = true;
    return 0;
  });
  UI_set_default_method(method);
  std::string pem = FileBytes(folder_.path("server.pem"));
  pem.insert(pem.find('\n') + 1,
             "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123456789ABCDEF0123456789ABCDEF\n\n");
  EXPECT_FALSE(CertificateEnd(pem).has_value());
  OverwriteFile(folder_.path("server.pem"), pem);
  EXPECT_THAT(CreateError(ServerOptions()), HasSubstr("failed to parse a certificate"));
  EXPECT_FALSE(asked);
  UI_set_default_method(UI_OpenSSL());
  UI_destroy_method(method);
}

// Time stamps may come from another machine, or from the future.
TEST_F(TlsContextTest, FilesThatStandStillAreNotReadAgainWhateverTheirTime) {
  ManualClock clock;  // at the beginning of time
  Watched watched({folder_.path("ca.pem")}, clock);
  ASSERT_TRUE(watched.Poll().has_value());
  EXPECT_TRUE(watched.BytesToRead().has_value());
  clock.Advance(std::chrono::seconds(1));
  EXPECT_FALSE(watched.Poll().has_value());
  EXPECT_TRUE(watched.BytesToRead().has_value()) << "it may have been written to again";
  OverwriteFile(folder_.path("ca.pem"), "else");
  clock.Advance(std::chrono::seconds(2));
  EXPECT_TRUE(watched.Poll().has_value());
  EXPECT_TRUE(watched.BytesToRead().has_value());
  clock.Advance(std::chrono::seconds(3));
  EXPECT_FALSE(watched.Poll().has_value());
  EXPECT_FALSE(watched.BytesToRead().has_value());
  OverwriteFile(folder_.path("ca.pem"), "other");
  EXPECT_TRUE(watched.BytesToRead().has_value());
}

// One context over many changes of its files, with a client that connects after each.
class TlsReloadTest : public TlsContextTest {
 protected:
  TlsReloadTest() {
    TlsOptions options = MutualOptions();
    options.crl_file = folder_.path("crl.pem");
    ReplaceFile(options.crl_file, ca_.RevocationListPem({1}));
    server_ = Context(options);
  }
  // The name of the server as a client of this CA sees it, or nothing.
  std::optional<std::string> Seen(const TestAuthority& trusted, const TestCertificate& client) {
    trusted.Write(folder_.path("client-ca.pem"));
    TlsOptions options = ClientOptions(client);
    options.trusted_ca_file = folder_.path("client-ca.pem");
    const Ends ends = rpc::Meet(server_->NewServer(), Context(options)->NewClient("localhost"));
    if (!ends.agreed) return std::nullopt;
    return VerifiedIdentity(ends.client.get())->common_name;
  }
  TestCertificate NewServer(TestAuthority& authority, const std::string& name) {
    return authority.Issue({.common_name = name, .dns_names = {"localhost"}});
  }

  std::shared_ptr<TlsContext> server_;
};

TEST_F(TlsReloadTest, ANewCertificateIsShownToWhoComesNextAndOldConnectionsStand) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  Ends standing =
      rpc::Meet(server_->NewServer(), Context(ClientOptions(alice))->NewClient("localhost"));
  ASSERT_TRUE(standing.agreed);
  NewServer(ca_, "second").Write(folder_.path("server.pem"), folder_.path("server.key"));
  EXPECT_EQ(Seen(ca_, alice), "second");
  const TestCertificate third = NewServer(ca_, "third");
  OverwriteFile(folder_.path("server.pem"), third.certificate_pem());  // in place, at once
  OverwriteFile(folder_.path("server.key"), third.key_pem());
  EXPECT_EQ(Seen(ca_, alice), "third");
  EXPECT_EQ(server_->reloads(), 2U);
  EXPECT_EQ(server_->failed_reloads(), 0U);
  char byte = 'y';
  EXPECT_EQ(SSL_write(standing.client.get(), &byte, 1), 1);
  EXPECT_EQ(SSL_read(standing.server.get(), &byte, 1), 1);
}

TEST_F(TlsReloadTest, APairInTheMakingLeavesTheLastOneInForce) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate second = NewServer(ca_, "second");
  ReplaceFile(folder_.path("server.pem"), second.certificate_pem());  // the key comes later
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(server_->failed_reloads(), 1U) << "told once";
  const std::string& key = second.key_pem();
  OverwriteFile(folder_.path("server.key"), key.substr(0, key.size() / 2));
  EXPECT_EQ(Seen(ca_, alice), "server");
  OverwriteFile(folder_.path("server.key"), "");
  EXPECT_EQ(Seen(ca_, alice), "server");
  std::filesystem::remove(folder_.path("server.key"));
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(server_->failed_reloads(), 4U);
  OverwriteFile(folder_.path("server.key"), key);
  EXPECT_EQ(Seen(ca_, alice), "second");
}

TEST_F(TlsReloadTest, TheAuthorityRotates) {
  TestAuthority next("next");
  const TestCertificate old_alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate new_alice = next.Issue({.common_name = "alice"});
  EXPECT_EQ(Seen(ca_, new_alice), std::nullopt);
  ReplaceFile(folder_.path("ca.pem"), ca_.pem() + next.pem());
  EXPECT_EQ(Seen(ca_, new_alice), "server");
  EXPECT_EQ(Seen(ca_, old_alice), "server");
  NewServer(next, "moved").Write(folder_.path("server.pem"), folder_.path("server.key"));
  ReplaceFile(folder_.path("ca.pem"), next.pem());
  EXPECT_EQ(Seen(next, new_alice), "moved");
  EXPECT_EQ(Seen(next, old_alice), std::nullopt);
  OverwriteFile(folder_.path("ca.pem"), "-----BEGIN CERTIFICATE-----\nMIIB");
  EXPECT_EQ(Seen(next, new_alice), "moved");
  EXPECT_EQ(Seen(next, old_alice), std::nullopt);
}

TEST_F(TlsReloadTest, ARevocationTakesEffectAndABrokenListTakesNothingBack) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate bob = ca_.Issue({.common_name = "bob"});
  EXPECT_EQ(Seen(ca_, alice), "server");
  ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem({1, alice.serial()}));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, bob), "server");
  OverwriteFile(folder_.path("crl.pem"), "-----BEGIN X509 CRL-----\nMII");
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  std::filesystem::remove(folder_.path("crl.pem"));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, bob), "server");
}

// So no context keeps the list that it was made with.
TEST_F(TlsReloadTest, AHandshakeUnderWayIsJudgedByTheNewestList) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const auto client = Context(ClientOptions(alice));
  SslPtr begun = server_->NewServer();
  ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem({alice.serial()}));
  EXPECT_FALSE(
      rpc::Meet(server_->NewServer(), client->NewClient("localhost")).server_error.empty());
  const Ends ends = rpc::Meet(std::move(begun), client->NewClient("localhost"));
  EXPECT_FALSE(ends.agreed);
  EXPECT_THAT(ends.server_error, HasSubstr("revoked"));
}

// A pair that cannot be used must not hold up a revocation.
TEST_F(TlsReloadTest, EachPartReloadsOnItsOwn) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  OverwriteFile(folder_.path("server.key"), "broken");
  ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem({alice.serial()}));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, ca_.Issue({.common_name = "bob"})), "server");
}

// A pair that fits, but that OpenSSL does not take.
TEST_F(TlsReloadTest, APairThatIsTooWeakHoldsUpNothingThatCameWithIt) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  ca_.Issue({.dns_names = {"localhost"}, .rsa_bits = 1024})
      .Write(folder_.path("server.pem"), folder_.path("server.key"));
  ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem({alice.serial()}));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, ca_.Issue({.common_name = "bob"})), "server");
  EXPECT_EQ(server_->failed_reloads(), 1U);
}

// ---- Large files ----

// Keeps what is to be done until it is told to, with a clock of its own.
class HeldExecutor final : public Executor {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  void PostAt(TimePoint when, Task task) override { timed_.emplace(when, std::move(task)); }
  const Clock& clock() const override { return clock_; }
  std::size_t RunAll() {
    std::vector<Task> tasks = std::exchange(tasks_, {});
    for (Task& task : tasks) task();
    return tasks.size();
  }
  // Runs what is due by then, and what that posts.
  void Pass(Duration time) {
    clock_.Advance(time);
    while (!timed_.empty() && timed_.begin()->first <= clock_.Now())
      timed_.extract(timed_.begin()).mapped()();
    while (RunAll() > 0) {
    }
  }

 private:
  ManualClock clock_;
  std::vector<Task> tasks_;
  std::multimap<TimePoint, Task> timed_;
};

// A list of a hundred thousand certificates takes a while, which those who are connected must not
// feel.
TEST_F(TlsReloadTest, LargeFilesAreReadApart) {
  HeldExecutor loader;
  server_->LoadLargeFilesOn(loader);
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate bob = ca_.Issue({.common_name = "bob"});
  std::vector<long> many(4000);
  std::iota(many.begin(), many.end(), 1'000'000);
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(loader.RunAll(), 0U) << "the small ones are read at once";

  many.push_back(alice.serial());
  const std::string list = ca_.RevocationListPem(many);
  ASSERT_GT(std::ssize(list), TlsContext::kInlineBytes);
  ReplaceFile(folder_.path("crl.pem"), list);
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(Seen(ca_, bob), "server");
  EXPECT_EQ(loader.RunAll(), 1U) << "once for all of them";
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, bob), "server");
  EXPECT_EQ(server_->reloads(), 1U);

  loader.RunAll();  // a file of a moment ago is looked at again
  OverwriteFile(folder_.path("crl.pem"), list.substr(0, list.size() - 100));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  loader.RunAll();
  EXPECT_EQ(Seen(ca_, alice), std::nullopt) << "a broken list takes nothing back";
  EXPECT_EQ(Seen(ca_, bob), "server");
  EXPECT_EQ(server_->failed_reloads(), 1U);

  Seen(ca_, bob);
  server_.reset();  // while a task is waiting
  loader.Pass(TlsContext::kLookInterval);
}

// The first who comes may be the one who was revoked.
TEST_F(TlsReloadTest, ALargeListCountsAfterASecondThoughNobodyHasConnected) {
  HeldExecutor loader;
  server_->LoadLargeFilesOn(loader);
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  std::vector<long> many(4000);
  std::iota(many.begin(), many.end(), 1'000'000);
  for (int i = 0; i < 2; ++i) {  // for ever, that is
    many.push_back(alice.serial() + 1 - i);
    ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem(many));
    loader.Pass(TlsContext::kLookInterval);
    EXPECT_EQ(server_->reloads(), i + 1);
  }
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
}

}  // namespace
}  // namespace kvorum::rpc
