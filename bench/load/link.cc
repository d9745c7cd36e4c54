#include "bench/load/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "bench/load/connect.h"

namespace kvorum::bench {
namespace {

std::unexpected<Error> TlsError(std::string_view what) {
  std::array<char, 256> reason{};
  ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
  ERR_clear_error();
  return Fail(Code::kUnavailable, fmt::format("{}: {}", what, reason.data()));
}

int IntSize(std::size_t size_bytes) {
  return static_cast<int>(std::min<std::size_t>(size_bytes, INT_MAX));
}

}  // namespace

Result<TlsContext> MakeTlsContext(const TlsFiles& files) {
  if (files.authority.empty()) return TlsContext();
  TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (SSL_CTX_load_verify_file(context.get(), files.authority.c_str()) != 1)
    return TlsError(files.authority);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (!files.certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1)
      return TlsError(files.certificate);
    if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
      return TlsError(files.key);
  }
  static constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), kHttp2.data(), kHttp2.size());
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context.get(), 1);
  return context;
}

Result<Link> Link::Connect(const std::string& endpoint, const TlsContext& tls) {
  KV_TRY(const int fd, ConnectSocket(endpoint));
  Link link(fd);
  if (tls != nullptr)
    KV_RETURN_IF_ERROR(link.ShakeHands(tls, endpoint.substr(0, endpoint.rfind(':'))));
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return link;
}

Link::Link(Link&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), ssl_(std::exchange(other.ssl_, nullptr)) {}

Link::~Link() {
  SSL_free(ssl_);
  if (fd_ >= 0) close(fd_);
}

Result<void> Link::ShakeHands(const TlsContext& tls, const std::string& host) {
  ssl_ = SSL_new(tls.get());
  SSL_set_fd(ssl_, fd_);
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host.c_str()) != 1) {
    SSL_set1_host(ssl_, host.c_str());
    SSL_set_tlsext_host_name(ssl_, host.c_str());
    ERR_clear_error();
  }
  if (SSL_connect(ssl_) != 1) return TlsError("TLS handshake");
  return {};
}

ssize_t Link::Send(const char* data, std::size_t size_bytes) {
  if (ssl_ == nullptr) return send(fd_, data, size_bytes, MSG_NOSIGNAL);
  return Outcome(SSL_write(ssl_, data, IntSize(size_bytes)));
}

ssize_t Link::Receive(char* data, std::size_t size_bytes) {
  if (ssl_ == nullptr) return recv(fd_, data, size_bytes, 0);
  return Outcome(SSL_read(ssl_, data, IntSize(size_bytes)));
}

ssize_t Link::Outcome(int returned) {
  if (returned > 0) return returned;
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      if (errno == 0 || errno == EAGAIN || errno == EINTR) errno = ECONNRESET;
      return -1;
    default:
      ERR_clear_error();
      errno = EPROTO;
      return -1;
  }
}

bool Link::has_more() const { return ssl_ != nullptr && SSL_has_pending(ssl_) == 1; }

}  // namespace kvorum::bench
