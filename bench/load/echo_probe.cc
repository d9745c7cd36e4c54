#include "bench/load/echo_probe.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "bench/load/connect.h"

namespace kvorum::bench {
namespace {

// Closes itself; -1: none.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }

 private:
  const int fd_;
};

bool SendAll(int fd, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

bool ReceiveAll(int fd, std::string& bytes) {
  return recv(fd, bytes.data(), bytes.size(), MSG_WAITALL) == static_cast<ssize_t>(bytes.size());
}

// Until the other end closes.
void Echo(int fd, std::size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  while (ReceiveAll(fd, bytes) && SendAll(fd, bytes)) {
  }
}

Result<std::string> ListenOnLoopback(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, any, size) != 0 || listen(fd, 1) != 0 || getsockname(fd, any, &size) != 0)
    return Fail(SystemError("listen on loopback"));
  return fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
}

Result<Histogram> RoundTrips(int fd, const EchoProbeOptions& options) {
  std::string bytes(options.size_bytes, 'e');
  Histogram histogram;
  for (std::uint64_t i = 0; i < options.count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!SendAll(fd, bytes) || !ReceiveAll(fd, bytes))
      return Fail(SystemError("echo over loopback"));
    const auto taken = std::chrono::steady_clock::now() - begin;
    histogram.Record(static_cast<std::uint64_t>(taken / std::chrono::nanoseconds(1)));
  }
  return histogram;
}

}  // namespace

Result<Histogram> RunEchoProbe(const EchoProbeOptions& options) {
  const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  KV_TRY(const std::string endpoint, ListenOnLoopback(listener.fd()));
  KV_TRY(const int connected, ConnectSocket(endpoint));
  const Socket near(connected);
  const Socket far(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (far.fd() < 0) return Fail(SystemError("accept on loopback"));
  const int on = 1;
  setsockopt(far.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::thread echo(Echo, far.fd(), options.size_bytes);
  Result<Histogram> result = RoundTrips(near.fd(), options);
  shutdown(near.fd(), SHUT_RDWR);
  echo.join();
  return result;
}

}  // namespace kvorum::bench
