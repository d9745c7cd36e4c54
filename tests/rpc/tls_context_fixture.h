// Two ends of TLS in memory, no sockets, with the files that they take in a folder of the test.
#pragma once

#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rpc/tls/tls_context.h"
#include "tests/rpc/certificates.h"

namespace kvorum::rpc {

struct Ends {
  SslPtr server = {};
  SslPtr client = {};
  bool agreed = false;
  std::string server_error = {};  // why it did not agree, empty if only the client refused
  std::string client_error = {};
};

inline std::string Shake(SSL* ssl) {
  const int result = SSL_do_handshake(ssl);
  if (result == 1 || SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ) return {};
  return TlsErrorText(ssl);
}

// Runs the handshake to its end, and one byte each way: only then has the client heard of a
// refusal in TLS 1.3.
inline Ends Meet(SslPtr server, SslPtr client) {
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
    EXPECT_THAT(ends.server_error, ::testing::HasSubstr(why));
    EXPECT_EQ(VerifiedIdentity(ends.server.get()), std::nullopt);
  }
  void ExpectAccepted(const TlsOptions& server, const TestCertificate& client) {
    const Ends ends = Meet(server, ClientOptions(client));
    EXPECT_TRUE(ends.agreed) << ends.server_error << " / " << ends.client_error;
  }

  TestFolder folder_;
  TestAuthority ca_{"ca"};
};

}  // namespace kvorum::rpc
