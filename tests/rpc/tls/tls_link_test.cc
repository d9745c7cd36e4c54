// TLS around a descriptor: one end is the link, the other is played by hand over a socket pair.
#include "rpc/tls/tls_link.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "rpc/tls/socket.h"
#include "tests/rpc/certificates.h"

namespace kvorum::rpc {
namespace {

class TlsLinkTest : public ::testing::Test {
 protected:
  TlsLinkTest() {
    TestAuthority ca("ca");
    ca.Write(folder_.path("ca.pem"));
    ca.Issue({.dns_names = {"localhost"}}).Write(folder_.path("s.pem"), folder_.path("s.key"));
    TlsOptions server;
    server.certificate_file = folder_.path("s.pem");
    server.key_file = folder_.path("s.key");
    TlsOptions client;
    client.trusted_ca_file = folder_.path("ca.pem");
    link_ = std::make_unique<TlsLink>((*TlsContext::Create(server))->NewServer(), buffers_);
    client_ = std::make_unique<TlsStream>((*TlsContext::Create(client))->NewClient("localhost"));
    std::array<int, 2> pair{};
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data());
    server_fd_ = FileDescriptor(pair[0]);
    client_fd_ = FileDescriptor(pair[1]);
    const int small = 4096;
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    Shake();
  }

  void Shake() {
    std::string_view rest;
    std::string received;
    auto ours = TlsStream::Progress::kMore;
    while (true) {
      std::string out;
      const auto theirs = client_->Handshake(&rest, &out);
      ASSERT_NE(theirs, TlsStream::Progress::kFailed);
      if (!out.empty()) SendBytes(client_fd_.get(), out);
      std::size_t none = 0;
      if (ours == TlsStream::Progress::kMore)
        ours = link_->Handshake(server_fd_.get(), {}, buffer_, &none);
      if (ours == TlsStream::Progress::kDone && theirs == TlsStream::Progress::kDone) return;
      received = Received();
      rest = received;
    }
  }
  // The bytes that the link has sent, as they are on the wire.
  std::string Received() {
    std::vector<char> bytes(64 * 1024);
    const std::ptrdiff_t count = ReceiveBytes(client_fd_.get(), bytes);
    return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : std::string();
  }

  TestFolder folder_;
  TlsBuffers buffers_;
  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
  std::unique_ptr<TlsLink> link_;
  std::unique_ptr<TlsStream> client_;
  FileDescriptor server_fd_;
  FileDescriptor client_fd_;
};

TEST_F(TlsLinkTest, WhatTheSocketDoesNotTakeIsKeptAndNothingIsLost) {
  std::string plain;
  for (int i = 0; plain.size() < 400'000; ++i) plain += std::to_string(i) + ' ';
  // Large and small pieces, more than one write takes.
  const std::vector<std::string_view> pieces{
      std::string_view(plain).substr(0, 10), std::string_view(plain).substr(10, 100'000),
      std::string_view(plain).substr(100'010, 1), std::string_view(plain).substr(100'011)};
  const std::ptrdiff_t taken = link_->Write(server_fd_.get(), pieces);
  EXPECT_EQ(taken, static_cast<std::ptrdiff_t>(TlsLink::kSealBytes));
  EXPECT_TRUE(link_->has_unsent());
  EXPECT_EQ(link_->Write(server_fd_.get(), pieces), 0) << "nothing more before that has gone";
  std::string opened;
  std::string none;
  while (opened.size() < TlsLink::kSealBytes) {
    ASSERT_GE(link_->Flush(server_fd_.get()), 0);
    const std::string received = Received();
    std::string_view part = std::string_view(received).substr(0, TlsStream::kMaxOpenBytes);
    opened.append(buffer_.data(), client_->Open(&part, buffer_, &none));
    ASSERT_FALSE(client_->broken());
  }
  EXPECT_EQ(opened, plain.substr(0, TlsLink::kSealBytes));
  EXPECT_FALSE(link_->has_unsent());
}

// Each update of its keys that it asks us to answer costs us bytes that it need not take.
TEST_F(TlsLinkTest, AFloodOfKeyUpdatesIsCutOff) {
  SSL* ssl = const_cast<SSL*>(client_->ssl());
  std::size_t most = 0;
  std::ptrdiff_t result = 0;
  for (int i = 0; i < 100'000 && result != -1; ++i) {
    ASSERT_EQ(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    std::string out;
    ASSERT_TRUE(client_->Seal("x", &out));
    SendBytes(client_fd_.get(), out);
    result = link_->Read(server_fd_.get(), buffer_);
    most = std::max(most, link_->unsent_bytes());
  }
  EXPECT_EQ(result, -1);
  EXPECT_GT(most, TlsLink::kMaxUnsentBytes) << "cut off for another reason";
  EXPECT_LT(most, TlsLink::kMaxUnsentBytes + 1000);
}

}  // namespace
}  // namespace kvorum::rpc
