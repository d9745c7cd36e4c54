// TLS of the client: whom it trusts, who it says it is, and which files it refuses before it sends
// anything.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/freed_by.h"
#include "client/client.h"
#include "client/tls_files.h"
#include "proto/rpc.pb.h"
#include "tests/client/fake_member.h"
#include "tests/client/stalled_member.h"
#include "tests/rpc/certificates.h"

namespace kvorum::client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ClientTlsTest : public testing::Test {
 protected:
  ClientTlsTest() {
    ca_.Write(File("ca.pem"));
    other_ca_.Write(File("other-ca.pem"));
    ca_.Issue({.common_name = "ann"}).Write(File("ann.pem"), File("ann.key"));
    ca_.Issue({.common_name = "ben"}).Write(File("ben.pem"), File("ben.key"));
  }

  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "what OpenSSL does on gRPC's threads looks like races to the thread sanitizer";
#endif
  }

  std::string File(std::string_view name) const { return folder_.path(name); }

  // A member's certificate, and whether it requires one of its clients.
  std::shared_ptr<grpc::ServerCredentials> MemberWith(
      const TestCertificate& certificate, grpc_ssl_client_certificate_request_type clients =
                                              GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE) const {
    grpc::SslServerCredentialsOptions options(clients);
    options.pem_root_certs = ca_.pem();
    options.pem_key_cert_pairs.push_back({certificate.key_pem(), certificate.certificate_pem()});
    return grpc::SslServerCredentials(options);
  }
  TestCertificate ForThisHost() { return ca_.Issue({.ip_addresses = {"127.0.0.1"}}); }

  // The put's error, and the text reported about the connection.
  struct Ended {
    Result<etcdserverpb::PutResponse> put;
    std::string why;
  };
  static Ended PutAt(const FakeMember& member, TlsOptions tls,
                     std::chrono::nanoseconds timeout = 20s) {
    Ended ended;
    Options options{.endpoints = {"https://" + member.endpoint()}, .tls = std::move(tls)};
    options.on_unreachable = [&](const std::string& why) { ended.why = why; };
    const auto client = Client::Connect(options);
    if (client)
      ended.put = (*client)->Put({}, CallOptions::Within(timeout));
    else
      ended.put = Fail(client.error());
    return ended;
  }

  TestFolder folder_;
  TestAuthority ca_{"ca"};
  TestAuthority other_ca_{"other"};
};

TEST_F(ClientTlsTest, AMemberOfATrustedAuthorityIsSpokenTo) {
  const FakeMember member(MemberWith(ForThisHost()));
  EXPECT_TRUE(PutAt(member, {.ca_file = File("ca.pem")}).put);
}

TEST_F(ClientTlsTest, AMemberOfAnotherAuthorityIsNotAndTheReasonIsTold) {
  const FakeMember member(MemberWith(ForThisHost()));
  const Ended ended = PutAt(member, {.ca_file = File("other-ca.pem")}, 500ms);
  ASSERT_FALSE(ended.put);
  EXPECT_EQ(ended.put.error(), (Error{Code::kDeadlineExceeded, "context deadline exceeded"}));
  EXPECT_THAT(ended.why, HasSubstr("certificate verify failed"));
}

TEST_F(ClientTlsTest, AMemberWithAnotherHostsCertificateIsNot) {
  const FakeMember member(MemberWith(ca_.Issue({.dns_names = {"elsewhere"}})));
  EXPECT_FALSE(PutAt(member, {.ca_file = File("ca.pem")}, 500ms).put);
  EXPECT_TRUE(PutAt(member, {.ca_file = File("ca.pem"), .server_name = "elsewhere"}).put);
}

TEST_F(ClientTlsTest, AMemberWithAnExpiredCertificateIsNot) {
  const FakeMember member(
      MemberWith(ca_.Issue({.ip_addresses = {"127.0.0.1"}, .not_after_s = -1})));
  EXPECT_FALSE(PutAt(member, {.ca_file = File("ca.pem")}, 500ms).put);
}

TEST_F(ClientTlsTest, WithoutVerificationAnyMemberIsSpokenTo) {
  const FakeMember member(MemberWith(TestAuthority::SelfSigned({.dns_names = {"elsewhere"}})));
  EXPECT_TRUE(PutAt(member, {.skip_verification = true}).put);
}

TEST_F(ClientTlsTest, ACertificateIsShownToWhoAsksForIt) {
  for (const bool skip : {false, true}) {
    FakeMember member(
        MemberWith(ForThisHost(), GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY));
    TlsOptions tls{.ca_file = File("ca.pem"), .skip_verification = skip};
    EXPECT_FALSE(PutAt(member, tls, 500ms).put);
    tls.certificate_file = File("ann.pem");
    tls.key_file = File("ann.key");
    EXPECT_TRUE(PutAt(member, tls).put);
  }
}

TEST_F(ClientTlsTest, AUserLogsInOverTls) {
  FakeMember member(MemberWith(ForThisHost()));
  const auto client = Client::Connect({.endpoints = {"https://" + member.endpoint()},
                                       .tls = {.ca_file = File("ca.pem")},
                                       .user = "ann",
                                       .password = "secret"});
  ASSERT_TRUE(client);
  member.RequireToken();
  ASSERT_TRUE((*client)->Put({}, Soon()));
  EXPECT_EQ(member.Metadata("token"), "token-of-ann-2");
}

etcdserverpb::MemberListResponse MembersAt(const std::vector<std::string>& urls) {
  etcdserverpb::MemberListResponse members;
  for (const std::string& url : urls) {
    auto& member = *members.add_members();
    member.set_name("n");
    member.add_clienturls(url);
  }
  return members;
}

TEST_F(ClientTlsTest, EndpointsInPlainTextAreNotTakenFromTheCluster) {
  FakeMember member(MemberWith(ForThisHost()));
  for (const std::string& endpoint : {"https://" + member.endpoint(), member.endpoint()}) {
    const auto client = Client::Connect(
        {.endpoints = {endpoint},
         .tls = {.enabled = !endpoint.starts_with("https"), .ca_file = File("ca.pem")}});
    ASSERT_TRUE(client);
    const std::string url = "https://" + member.endpoint();
    member.SetMembers(MembersAt({"http://127.0.0.1:1", url}));
    ASSERT_TRUE((*client)->SyncEndpoints(Soon()));
    EXPECT_EQ((*client)->endpoints(), std::vector<std::string>{url});
    member.SetMembers(MembersAt({"http://127.0.0.1:1"}));
    const auto synced = (*client)->SyncEndpoints(Soon());
    ASSERT_FALSE(synced);
    EXPECT_EQ(synced.error(),
              (Error{Code::kFailedPrecondition, "etcdclient: no member serves in TLS"}));
    EXPECT_EQ((*client)->endpoints(), std::vector<std::string>{url});
  }
}

// Trusting a new authority stands in for the expiry of a certificate.
TEST_F(ClientTlsTest, ARenewedCertificateIsShownWithoutANewClient) {
  for (const bool skip : {false, true}) {
    other_ca_.Issue({.common_name = "old"}).Write(File("own.pem"), File("own.key"));
    FakeMember member(
        MemberWith(ForThisHost(), GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY));
    const auto client = Client::Connect({.endpoints = {"https://" + member.endpoint()},
                                         .tls = {.certificate_file = File("own.pem"),
                                                 .key_file = File("own.key"),
                                                 .ca_file = File("ca.pem"),
                                                 .skip_verification = skip,
                                                 .reload_interval = 1s}});
    ASSERT_TRUE(client);
    EXPECT_FALSE((*client)->Put({}, CallOptions::Within(500ms)));
    ca_.Issue({.common_name = "new"}).Write(File("own.pem"), File("own.key"));
    EXPECT_TRUE((*client)->Put({}, Soon()));
  }
}

TEST_F(ClientTlsTest, ANewAuthorityIsTrustedWithoutANewClient) {
  const FakeMember member(MemberWith(ForThisHost()));
  other_ca_.Write(File("trusted.pem"));
  const auto client =
      Client::Connect({.endpoints = {"https://" + member.endpoint()},
                       .tls = {.ca_file = File("trusted.pem"), .reload_interval = 1s}});
  ASSERT_TRUE(client);
  EXPECT_FALSE((*client)->Put({}, CallOptions::Within(500ms)));
  ca_.Write(File("trusted.pem"));
  EXPECT_TRUE((*client)->Put({}, Soon()));
}

// gRPC takes a file of 1970 for one that can't be read.
TEST_F(ClientTlsTest, FilesThatAreOfNoUseToGrpcDoNotMeanPlainText) {
  const std::array<timespec, 2> epoch{};
  ASSERT_EQ(::utimensat(AT_FDCWD, File("ann.pem").c_str(), epoch.data(), 0), 0);
  const StalledMember member(0);
  const auto client =
      Client::Connect({.endpoints = {"https://" + member.endpoint()},
                       .tls = {.certificate_file = File("ann.pem"), .key_file = File("ann.key")}});
  ASSERT_TRUE(client);
  EXPECT_FALSE((*client)->Put({}, CallOptions::Within(500ms)));
  EXPECT_FALSE(member.was_spoken_to());
}

// In the place of the standard input, which OpenSSL asks where there is no terminal.
class Keyboard {
 public:
  explicit Keyboard(std::string_view typed) : before_(::dup(STDIN_FILENO)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::write(ends[1], typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
    ::close(ends[1]);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
  }
  ~Keyboard() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  std::string Left() const {
    std::string left(100, '\0');
    const ssize_t size = ::read(STDIN_FILENO, left.data(), left.size());
    return left.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }

 private:
  int before_;
};

std::string Encrypted(const std::string& certificate_pem, std::string_view passphrase) {
  const std::unique_ptr<BIO, FreedBy<BIO_free>> in(
      BIO_new_mem_buf(certificate_pem.data(), static_cast<int>(certificate_pem.size())));
  const std::unique_ptr<X509, FreedBy<X509_free>> certificate(
      PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<BIO, FreedBy<BIO_free>> out(BIO_new(BIO_s_mem()));
  const std::string key(passphrase);
  PEM_ASN1_write_bio(reinterpret_cast<i2d_of_void*>(i2d_X509), PEM_STRING_X509, out.get(),
                     certificate.get(), EVP_aes_256_cbc(),
                     reinterpret_cast<const unsigned char*>(key.data()),
                     static_cast<int>(key.size()), nullptr, nullptr);
  char* pem = nullptr;
  const long size = BIO_get_mem_data(out.get(), &pem);
  return {pem, static_cast<std::size_t>(size)};
}

TEST_F(ClientTlsTest, NobodyIsAskedForACertificatesPassphrase) {
  OverwriteFile(File("hidden.pem"), Encrypted(ca_.pem(), "open sesame"));
  const Keyboard keyboard("open sesame\n");
  const auto checked = CheckTlsFiles({.ca_file = File("hidden.pem")});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "tls: no certificate in PEM form in " + File("hidden.pem"));
  EXPECT_EQ(keyboard.Left(), "open sesame\n");
}

TEST_F(ClientTlsTest, FilesThatAreOfNoUseAreRefusedByName) {
  OverwriteFile(File("garbage.pem"), "no certificate");
  OverwriteFile(File("empty.pem"), "");
  struct Case {
    TlsOptions tls;
    std::string message;
  };
  const std::string ann = File("ann.pem");
  const std::string ann_key = File("ann.key");
  for (const auto& [tls, message] : std::initializer_list<Case>{
           {{.ca_file = File("none.pem")},
            "open " + File("none.pem") + ": no such file or directory"},
           {{.ca_file = File(".")}, "open " + File(".") + ": is a directory"},
           {{.ca_file = File("garbage.pem")},
            "tls: no certificate in PEM form in " + File("garbage.pem")},
           {{.ca_file = File("empty.pem")},
            "tls: no certificate in PEM form in " + File("empty.pem")},
           {{.certificate_file = ann},
            "KeyFile and CertFile must both be present[key: , cert: " + ann + "]"},
           {{.key_file = ann_key},
            "KeyFile and CertFile must both be present[key: " + ann_key + ", cert: ]"},
           {{.certificate_file = ann_key, .key_file = ann_key},
            "tls: no certificate in PEM form in " + ann_key},
           {{.certificate_file = ann, .key_file = ann},
            "tls: no private key in PEM form, without a passphrase, in " + ann},
           {{.certificate_file = ann, .key_file = File("ben.key")},
            "tls: private key " + File("ben.key") + " does not match certificate " + ann},
       }) {
    const auto files = CheckTlsFiles(tls);
    ASSERT_FALSE(files) << message;
    EXPECT_EQ(files.error(), (Error{Code::kFailedPrecondition, message}));
  }
}

}  // namespace
}  // namespace kvorum::client
