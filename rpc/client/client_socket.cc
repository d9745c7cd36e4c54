#include "rpc/client/client_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/freed_by.h"

namespace kvorum::rpc {
namespace {

constexpr std::string_view kNoTime = "i/o timeout";
constexpr std::string_view kEnded = "the connection was closed";

std::unexpected<Error> Broken(std::string text) {
  return Fail(Code::kUnavailable, std::move(text));
}

std::unexpected<Error> BrokenBy(int error) { return Broken(ErrnoText(error)); }

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

Result<void> ClientSocket::StartTls(SslPtr ssl, const WaitLimit& limit) {
  if (ssl == nullptr) return Broken("tls: no connection could be prepared");
  tls_ = std::make_unique<TlsStream>(std::move(ssl));
  received_.resize(TlsStream::kRecordBytes);
  const auto fail = [](const std::string& why) {
    return Broken("authentication handshake failed: " + why);
  };
  while (true) {
    std::string out;
    const auto progress = tls_->Handshake(&arrived_, &out);
    const auto sent = WriteBytes(out, limit);
    if (progress == TlsStream::Progress::kFailed) return fail(tls_->error());
    if (!sent.has_value()) return fail(sent.error().message);
    if (progress == TlsStream::Progress::kDone) return {};
    const auto count = ReadBytes(received_, limit);
    if (!count.has_value()) return fail(count.error().message);
    if (*count == 0) return fail(std::string(kNoTime));
    arrived_ = {received_.data(), *count};
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

Result<std::size_t> ClientSocket::ReadBytes(std::span<char> buffer, const WaitLimit& limit) {
  while (true) {
    const std::ptrdiff_t count = ReceiveBytes(fd_.get(), buffer);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count != Socket::kWouldBlock) return Broken(std::string(kEnded));
    if (!Wait(POLLIN, limit)) return 0;
  }
}

Result<void> ClientSocket::WriteBytes(std::string_view bytes, const WaitLimit& limit) {
  while (!bytes.empty()) {
    const std::ptrdiff_t sent = SendBytes(fd_.get(), bytes);
    if (sent < 0) return Broken(std::string(kEnded));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (sent == 0 && !Wait(POLLOUT, limit)) return Broken(std::string(kNoTime));
  }
  return {};
}

Result<std::size_t> ClientSocket::Read(std::span<char> buffer, const WaitLimit& limit) {
  if (tls_ == nullptr) return ReadBytes(buffer, limit);
  while (true) {
    std::string answer;  // to a key update, or an alert
    const std::size_t opened = tls_->Open(&arrived_, buffer, &answer);
    const auto sent = WriteBytes(answer, limit);
    if (opened > 0) return opened;
    if (tls_->broken()) return Broken(tls_->error());
    if (tls_->ended()) return Broken(std::string(kEnded));
    if (!sent.has_value()) return std::unexpected(sent.error());
    KV_TRY(const std::size_t count, ReadBytes(received_, limit));
    if (count == 0) return 0;
    arrived_ = {received_.data(), count};
  }
}

Result<void> ClientSocket::Write(std::string_view bytes, const WaitLimit& limit) {
  if (tls_ == nullptr) return WriteBytes(bytes, limit);
  std::string sealed;
  if (!tls_->Seal(bytes, &sealed)) return Broken(tls_->error());
  return WriteBytes(sealed, limit);
}

}  // namespace kvorum::rpc
