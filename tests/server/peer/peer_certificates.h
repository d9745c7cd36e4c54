// Members' certificates for tests on the loopback: one authority, files in a folder that goes with
// the test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rpc/tls/tls_context.h"
#include "server/peer/io/peer_tls.h"
#include "tests/rpc/certificates.h"

namespace kvorum::server {

class PeerCertificates {
 public:
  PeerCertificates() { ca_.Write(Path("ca.pem")); }

  // A member that shows this certificate and asks for one of the authority.
  rpc::TlsOptions Files(const std::string& name, const TestCertificate& certificate) const {
    certificate.Write(Path(name + ".pem"), Path(name + ".key"));
    rpc::TlsOptions files;
    files.certificate_file = Path(name + ".pem");
    files.key_file = Path(name + ".key");
    files.trusted_ca_file = Path("ca.pem");
    files.client_cert_auth = true;
    return files;
  }
  rpc::TlsOptions Files(const std::string& name = "member") {
    return Files(name, ca_.Issue(Subject()));
  }
  static TestSubject Subject() { return {.common_name = "member", .ip_addresses = {"127.0.0.1"}}; }
  PeerTls Peer() { return Peer(Files()); }
  static PeerTls Peer(const rpc::TlsOptions& options) {
    auto context = rpc::TlsContext::Create(options);
    EXPECT_TRUE(context.has_value()) << context.error().message;
    PeerTls tls;
    tls.context = *context;
    return tls;
  }

  TestAuthority& ca() { return ca_; }
  std::string Path(std::string_view name) const { return folder_.path(name); }

 private:
  TestFolder folder_;
  TestAuthority ca_{"ca"};
};

// One for all tests of a program that only need good ones.
inline PeerCertificates& MutualTls() {
  static PeerCertificates certificates;
  return certificates;
}

}  // namespace kvorum::server
