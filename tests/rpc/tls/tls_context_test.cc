// The rules for connecting: with which certificates, names, versions and ciphers.
#include "rpc/tls/tls_context.h"

#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "rpc/tls/tls_ciphers.h"
#include "tests/rpc/tls_context_fixture.h"

namespace kvorum::rpc {
namespace {

// ---- Certificates that may connect ----

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
                "x509: certificate specifies an incompatible key usage");
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

// Certificates made by hand often have one subject for all, and do not say by which key they are
// signed: to OpenSSL such a leaf is a self-signed one.
TEST_F(TlsContextTest, ALeafMayBearItsAuthoritysName) {
  ExpectAccepted(MutualOptions(), ca_.Issue({.common_name = "ca"}));
  ExpectAccepted(MutualOptions(), ca_.Issue({.common_name = "ca", .names_issuers_key = true}));
  ca_.Issue({.common_name = "ca", .dns_names = {"localhost"}})
      .Write(folder_.path("server.pem"), folder_.path("server.key"));
  EXPECT_TRUE(Meet(ServerOptions(), ClientOptions()).agreed);
  const Ends ends = Meet(MutualOptions(), ClientOptions(ca_.Issue({.common_name = "ca"})));
  EXPECT_EQ(VerifiedIdentity(ends.server.get())->common_name, "ca");

  TestAuthority next("ca");
  ReplaceFile(folder_.path("ca.pem"), next.pem() + ca_.pem());
  ExpectAccepted(MutualOptions(), ca_.Issue({.common_name = "ca"}));
}

TEST_F(TlsContextTest, ALeafOfItsAuthoritysNameIsCheckedLikeOthers) {
  constexpr const char* kUnknown = "x509: certificate signed by unknown authority";
  TestAuthority other("ca");
  ExpectRefused(MutualOptions(), other.Issue({.common_name = "ca"}), kUnknown);
  ExpectRefused(MutualOptions(), TestAuthority::SelfSigned({.common_name = "ca"}), kUnknown);
  ExpectRefused(MutualOptions(), ca_.Issue({.common_name = "ca", .not_after_s = -60}), "x509: ");
  ExpectRefused(MutualOptions(), ca_.Issue({.common_name = "ca", .not_before_s = 3600}), "x509: ");
  ExpectRefused(MutualOptions(), ca_.Issue({.common_name = "ca", .usage = TestUsage::kServer}),
                "incompatible key usage");
  TlsOptions options = MutualOptions();
  options.allowed_cns = {"alice"};
  ExpectRefused(options, ca_.Issue({.common_name = "ca"}),
                "client certificate authentication failed");

  TestAuthority constrained("constrained", ca_, 0, TestAuthority::Kind::kConstrained);
  ReplaceFile(folder_.path("ca.pem"), constrained.pem());
  ExpectAccepted(MutualOptions(),
                 constrained.Issue({.common_name = "constrained", .dns_names = {"a.example.com"}}));
  ExpectRefused(MutualOptions(),
                constrained.Issue({.common_name = "constrained", .dns_names = {"a.other.com"}}),
                kUnknown);
  TestAuthority pretender("pretender", ca_, 0, TestAuthority::Kind::kPretender);
  ReplaceFile(folder_.path("ca.pem"), pretender.pem());
  ExpectRefused(MutualOptions(), pretender.Issue({.common_name = "pretender"}), kUnknown);
}

// The texts that operators and the tests of etcd look for in the log.
TEST_F(TlsContextTest, RefusalsHaveGosWords) {
  TlsOptions options = MutualOptions();
  options.allowed_cns = {"alice"};
  Ends ends = Meet(options, ClientOptions(ca_.Issue({.common_name = "eve"})));
  EXPECT_EQ(ends.server_error, "client certificate authentication failed");
  char byte = 0;  // the client has completed the handshake, and learns of it when it reads
  EXPECT_NE(SSL_read(ends.client.get(), &byte, 1), 1);
  EXPECT_EQ(TlsErrorText(ends.client.get()), "remote error: tls: bad certificate");
  ends = Meet(ServerOptions(), ClientOptions(), "10.1.2.3");
  EXPECT_EQ(ends.client_error,
            "tls: failed to verify certificate: x509: certificate is valid for 127.0.0.1, not "
            "10.1.2.3");
  EXPECT_EQ(ends.server_error, "remote error: tls: bad certificate");
  ends = Meet(ServerOptions(), ClientOptions(), "elsewhere");
  EXPECT_EQ(ends.client_error,
            "tls: failed to verify certificate: x509: certificate is valid for localhost, not "
            "elsewhere");
  ca_.Issue({.common_name = "server", .dns_names = {"localhost"}})
      .Write(folder_.path("server.pem"), folder_.path("server.key"));
  EXPECT_EQ(Meet(ServerOptions(), ClientOptions(), "10.1.2.3").client_error,
            "tls: failed to verify certificate: x509: cannot validate certificate for 10.1.2.3 "
            "because it doesn't contain any IP SANs");
  ca_.Issue({.common_name = "localhost"})
      .Write(folder_.path("server.pem"), folder_.path("server.key"));
  EXPECT_EQ(Meet(ServerOptions(), ClientOptions()).client_error,
            "tls: failed to verify certificate: x509: certificate relies on legacy Common Name "
            "field, use SANs instead");
  EXPECT_EQ(Meet(ServerOptions(), ClientOptions(), "elsewhere").client_error,
            "tls: failed to verify certificate: x509: certificate is not valid for any names, but "
            "wanted to match elsewhere");
  ca_.Issue({.dns_names = {"localhost"}})
      .Write(folder_.path("server.pem"), folder_.path("server.key"));
  TestAuthority other("other");
  EXPECT_EQ(Meet(MutualOptions(), ClientOptions(other.Issue({.common_name = "a"}))).server_error,
            "tls: failed to verify certificate: x509: certificate signed by unknown authority");
  EXPECT_THAT(
      Meet(MutualOptions(), ClientOptions(ca_.Issue({.common_name = "a", .not_after_s = -60})))
          .server_error,
      testing::MatchesRegex(
          "tls: failed to verify certificate: x509: certificate has expired or is "
          "not yet valid: current time 2.*Z is after 2.*Z"));
}

// ---- Names ----

TEST_F(TlsContextTest, OnlyAllowedCommonNamesMayConnect) {
  TlsOptions options = MutualOptions();
  options.allowed_cns = {"alice", "bob"};
  ExpectAccepted(options, ca_.Issue({.common_name = "bob"}));
  ExpectRefused(options, ca_.Issue({.common_name = "eve", .dns_names = {"bob"}}),
                "client certificate authentication failed");
  ExpectRefused(options, ca_.Issue({.common_name = "bob2"}),
                "client certificate authentication failed");
  ExpectRefused(options, ca_.Issue({}), "client certificate authentication failed");
}

TEST_F(TlsContextTest, OnlyAllowedHostnamesMayConnect) {
  TlsOptions options = MutualOptions();
  options.allowed_hostnames = {"client.example.com", "10.0.0.1"};
  ExpectAccepted(options, ca_.Issue({.dns_names = {"other", "client.example.com"}}));
  ExpectAccepted(options, ca_.Issue({.dns_names = {"*.example.com"}}));
  ExpectAccepted(options, ca_.Issue({.ip_addresses = {"10.0.0.1"}}));
  ExpectRefused(options, ca_.Issue({.common_name = "client.example.com"}),
                "client certificate authentication failed");
  ExpectRefused(options, ca_.Issue({.dns_names = {"cl*.example.com"}}),
                "client certificate authentication failed");
  ExpectRefused(options, ca_.Issue({.dns_names = {"x.client.example.com", "10.0.0.1"}}),
                "client certificate authentication failed");
  options.allowed_hostnames = {".example.com"};
  ExpectRefused(options, ca_.Issue({.dns_names = {"client.example.com"}}),
                "client certificate authentication failed");
}

// Hosts of a private network usually have two labels, and names unlike those of the web.
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

// An authority's constraint is about hosts: it does not apply to a user's name.
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
  ExpectRefused(options, ca_.Issue({.dns_names = {"client.example.com"}}),
                "client certificate authentication failed");
  ExpectRefused(options, ca_.Issue({}), "client certificate authentication failed");
  options.allowed_hostnames.clear();
  options.allowed_cns = {""};
  ExpectRefused(options, ca_.Issue({.common_name = "alice"}),
                "client certificate authentication failed");
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

// GHSA-3wh4-j44w-pg92: the list must apply wherever a certificate is checked.
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

}  // namespace
}  // namespace kvorum::rpc
