#include "server/tracing/collector_connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "server/tracing/http2_client.h"

namespace kvorum::server::tracing {
namespace {

std::unexpected<Error> FailSystem(std::string_view what, int number) {
  return Fail(Code::kUnavailable,
              std::string(what) + ": " + std::generic_category().message(number));
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

int NewSocket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// Rounded up: a wait ends at the limit or after it.
int MillisUntil(TimePoint limit) {
  const Duration left = limit - SystemClock().Now();
  if (left <= Duration::zero()) return 0;
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(millis, 60'000));
}

}  // namespace

CollectorConnection::CollectorConnection(CollectorAddress address, int wake_fd)
    : address_(std::move(address)), wake_fd_(wake_fd) {}

CollectorConnection::~CollectorConnection() { Close(); }

void CollectorConnection::Close() {
  session_.reset();
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

Result<std::string> CollectorConnection::Call(std::string_view path, std::string_view message,
                                              const Limit& limit) {
  KV_TRY(const bool is_new, Open(limit));
  Result<std::string> answer = Exchange(path, message, limit);
  // The collector may have closed an old connection while this call was on its way.
  if (session_ == nullptr && !is_new) {
    KV_RETURN_IF_ERROR(Open(limit));
    answer = Exchange(path, message, limit);
  }
  return answer;
}

Result<bool> CollectorConnection::Open(const Limit& limit) {
  if (session_ != nullptr && !session_->takes_calls()) Close();
  if (session_ != nullptr) return false;
  if (auto connected = Connect(limit); !connected.has_value()) {
    Close();
    return Fail(std::move(connected).error());
  }
  session_ = std::make_unique<Http2Client>();
  return true;
}

Result<void> CollectorConnection::Connect(const Limit& limit) {
  const auto try_one = [&](int family, const sockaddr* address, socklen_t size) -> Result<void> {
    Close();
    fd_ = NewSocket(family);
    if (fd_ < 0) return FailSystem("socket", errno);
    if (connect(fd_, address, size) == 0) return {};
    if (errno != EINPROGRESS && errno != EINTR) return FailSystem("connect", errno);
    KV_RETURN_IF_ERROR(Await(POLLOUT, limit));
    int failure = 0;
    socklen_t length = sizeof(failure);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &failure, &length);
    if (failure != 0) return FailSystem("connect", failure);
    return {};
  };
  if (!address_.unix_path.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (address_.unix_path.size() >= sizeof(address.sun_path))
      return Fail(Code::kUnavailable, "the path of the collector's socket is too long");
    std::ranges::copy(address_.unix_path, address.sun_path);
    return try_one(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(address_.host.c_str(), address_.port.c_str(), &hints, &found);
  if (failure != 0)
    return Fail(Code::kUnavailable, "lookup " + address_.host + ": " + gai_strerror(failure));
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  Result<void> connected = Fail(Code::kUnavailable, "the collector's name has no address");
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    connected = try_one(one->ai_family, one->ai_addr, one->ai_addrlen);
    if (connected.has_value()) {
      const int on = 1;
      setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      return {};
    }
  }
  return connected;
}

Result<void> CollectorConnection::Await(short events, const Limit& limit) {
  while (true) {
    std::array<pollfd, 2> watched{pollfd{fd_, events, 0}, pollfd{wake_fd_, POLLIN, 0}};
    const int ready = poll(watched.data(), watched.size(), MillisUntil(limit()));
    if (ready < 0 && errno != EINTR) return FailSystem("poll", errno);
    if (watched[1].revents != 0) {
      eventfd_t ignored = 0;
      eventfd_read(wake_fd_, &ignored);
    }
    if (ready > 0 && watched[0].revents != 0) return {};
    if (SystemClock().Now() >= limit())
      return Fail(Code::kDeadlineExceeded, "the collector did not answer in time");
  }
}

Result<void> CollectorConnection::Flush(const Limit& limit) {
  while (true) {
    KV_TRY(std::string_view bytes, session_->NextOutput());
    if (bytes.empty()) return {};
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        KV_RETURN_IF_ERROR(Await(POLLOUT, limit));
      } else if (errno != EINTR) {
        return FailSystem("send", errno);
      }
    }
  }
}

Result<void> CollectorConnection::Receive() {
  std::array<char, 16 * 1024> buffer;
  const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (got < 0) return FailSystem("recv", errno);
  if (got == 0) return Fail(Code::kUnavailable, "the collector closed the connection");
  return session_->Receive({buffer.data(), static_cast<std::size_t>(got)});
}

Result<std::string> CollectorConnection::Exchange(std::string_view path, std::string_view message,
                                                  const Limit& limit) {
  auto outcome = Run(path, message, limit);
  if (outcome.has_value()) return *std::move(outcome);
  Close();
  return Fail(std::move(outcome).error());
}

Result<Result<std::string>> CollectorConnection::Run(std::string_view path,
                                                     std::string_view message, const Limit& limit) {
  KV_RETURN_IF_ERROR(session_->Start(address_.authority, path, message));
  while (true) {
    KV_RETURN_IF_ERROR(Flush(limit));
    if (auto outcome = session_->TakeOutcome(); outcome.has_value()) return *std::move(outcome);
    KV_RETURN_IF_ERROR(Await(POLLIN, limit));
    KV_RETURN_IF_ERROR(Receive());
  }
}

void CollectorConnection::Idle() {
  if (session_ == nullptr) return;
  const auto at_once = [] { return TimePoint{}; };
  if (!Receive().has_value() || !Flush(at_once).has_value()) Close();
}

}  // namespace kvorum::server::tracing
