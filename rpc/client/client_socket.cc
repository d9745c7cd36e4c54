#include "rpc/client/client_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

#include "base/freed_by.h"

namespace kvorum::rpc {
namespace {

constexpr std::string_view kNoTime = "i/o timeout";
constexpr std::string_view kEnded = "the connection was closed";

std::unexpected<Error> Broken(std::string text) {
  return Fail(Code::kUnavailable, std::move(text));
}

std::unexpected<Error> BrokenBy(int error) {
  return Broken(std::generic_category().message(error));
}

FileDescriptor NewSocket(int family) {
  return FileDescriptor(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

bool ClientSocket::Wait(short events, const WaitLimit& limit) const {
  while (true) {
    const Duration left = limit.Now() - SystemClock().Now();
    if (left.count() <= 0) return false;
    const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    // A negative descriptor is not watched.
    std::array<pollfd, 2> waiting{pollfd{.fd = fd_.get(), .events = events, .revents = 0},
                                  pollfd{.fd = limit.wake_fd, .events = POLLIN, .revents = 0}};
    const int ready = poll(waiting.data(), waiting.size(),
                           static_cast<int>(std::min<std::int64_t>(millis, INT_MAX)));
    if (waiting[1].revents != 0) {
      eventfd_t ignored = 0;
      eventfd_read(limit.wake_fd, &ignored);
    }
    if (ready > 0 && waiting[0].revents != 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the next call on the socket tells why
  }
}

Result<void> ClientSocket::Connect(const void* address, unsigned address_bytes,
                                   const WaitLimit& limit) {
  if (connect(fd_.get(), static_cast<const sockaddr*>(address), address_bytes) == 0) return {};
  if (errno != EINPROGRESS && errno != EAGAIN) return BrokenBy(errno);
  if (!Wait(POLLOUT, limit)) return Broken(std::string(kNoTime));
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return BrokenBy(error);
  return {};
}

Result<void> ClientSocket::WaitForTls(int outcome, const WaitLimit& limit) {
  const int reason = SSL_get_error(ssl_.get(), outcome);
  const bool is_waiting = reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE;
  if (!is_waiting) {
    const std::string text = TlsErrorText(ssl_.get());
    return Broken(text.empty() ? std::string(kEnded) : text);
  }
  if (!Wait(reason == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, limit))
    return Fail(Code::kDeadlineExceeded, std::string(kNoTime));
  return {};
}

Result<void> ClientSocket::StartTls(SslPtr ssl, const WaitLimit& limit) {
  if (ssl == nullptr) return Broken("tls: no connection could be prepared");
  ssl_ = std::move(ssl);
  SSL_set_fd(ssl_.get(), fd_.get());
  while (true) {
    ERR_clear_error();
    const int done = SSL_connect(ssl_.get());
    if (done == 1) return {};
    if (const auto waited = WaitForTls(done, limit); !waited.has_value())
      return Broken("authentication handshake failed: " + waited.error().message);
  }
}

Result<ClientSocket> ClientSocket::Dial(const DialTarget& target, TlsContext* tls,
                                        const WaitLimit& limit) {
  KV_TRY(ClientSocket socket,
         target.unix_path.empty() ? DialHost(target, limit) : DialFile(target.unix_path, limit));
  if (tls == nullptr) return socket;
  const std::string host = target.unix_path.empty() ? target.host : "localhost";
  KV_RETURN_IF_ERROR(socket.StartTls(tls->NewClient(host), limit));
  return socket;
}

Result<ClientSocket> ClientSocket::DialFile(const std::string& path, const WaitLimit& limit) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return Broken("the socket's path is too long");
  std::ranges::copy(path, address.sun_path);
  ClientSocket made(NewSocket(AF_UNIX));
  KV_RETURN_IF_ERROR(made.Connect(&address, sizeof(address), limit));
  return made;
}

Result<ClientSocket> ClientSocket::DialHost(const DialTarget& target, const WaitLimit& limit) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found);
  if (status != 0) return Broken("lookup " + target.host + ": " + gai_strerror(status));
  const std::unique_ptr<addrinfo, FreedBy<freeaddrinfo>> guard(found);
  Result<void> last = Broken("lookup " + target.host + ": no address");
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    ClientSocket made(NewSocket(each->ai_family));
    last = made.Connect(each->ai_addr, each->ai_addrlen, limit);
    if (!last.has_value()) continue;
    constexpr int kOn = 1;
    setsockopt(made.fd_.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof(kOn));
    return made;
  }
  return std::unexpected(last.error());
}

Result<std::size_t> ClientSocket::Read(std::span<char> buffer, const WaitLimit& limit) {
  while (true) {
    if (ssl_ == nullptr) {
      const std::ptrdiff_t count = ReceiveBytes(fd_.get(), buffer);
      if (count > 0) return static_cast<std::size_t>(count);
      if (count != Socket::kWouldBlock) return Broken(std::string(kEnded));
      if (!Wait(POLLIN, limit)) return 0;
      continue;
    }
    ERR_clear_error();
    const int count = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (count > 0) return static_cast<std::size_t>(count);
    if (const auto waited = WaitForTls(count, limit); !waited.has_value()) {
      if (waited.error().code == Code::kDeadlineExceeded) return 0;
      return std::unexpected(waited.error());
    }
  }
}

Result<void> ClientSocket::Write(std::string_view bytes, const WaitLimit& limit) {
  while (!bytes.empty()) {
    if (ssl_ == nullptr) {
      const std::ptrdiff_t sent = SendBytes(fd_.get(), bytes);
      if (sent < 0) return Broken(std::string(kEnded));
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      if (sent == 0 && !Wait(POLLOUT, limit)) return Broken(std::string(kNoTime));
      continue;
    }
    ERR_clear_error();
    const int size = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
    const int sent = SSL_write(ssl_.get(), bytes.data(), size);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (const auto waited = WaitForTls(sent, limit); !waited.has_value()) {
      return Broken(waited.error().message);
    }
  }
  return {};
}

}  // namespace kvorum::rpc
