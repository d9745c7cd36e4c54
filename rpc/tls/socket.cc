#include "rpc/tls/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/file_descriptor.h"
#include "base/freed_by.h"
#include "base/net/uri.h"

namespace kvorum::rpc {
namespace {

constexpr int kBacklog = 4096;

std::string AddressText(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    return fmt::format("{}:{}", text, ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    char text[INET6_ADDRSTRLEN];
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof(text));
      return fmt::format("{}:{}", text, ntohs(v6.sin6_port));
    }
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
    return fmt::format("[{}]:{}", text, ntohs(v6.sin6_port));
  }
  return "@";
}

std::string BoundAddress(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  return AddressText(address);
}

struct Binding {
  sockaddr_storage address{};
  socklen_t length = 0;
};

// Addresses are Go's: "every address" means both families if the machine has both; a name with
// several addresses is bound at its first IPv4 one.
Result<Binding> Resolve(const std::string& host, std::uint16_t port, bool dual_stack) {
  Binding binding;
  if (dual_stack) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(binding.address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = in6addr_any;
    binding.length = sizeof(v6);
    return binding;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.empty() ? "0.0.0.0" : host.c_str(),
                                 std::to_string(port).c_str(), &hints, &found);
  if (status != 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("listen tcp: lookup {}: {}", host, gai_strerror(status)));
  }
  const std::unique_ptr<addrinfo, FreedBy<freeaddrinfo>> guard(found);
  const addrinfo* best = found;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family == AF_INET) {
      best = each;
      break;
    }
  }
  std::memcpy(&binding.address, best->ai_addr, best->ai_addrlen);
  binding.length = best->ai_addrlen;
  return binding;
}

Error ListenError(std::string_view network, const std::string& address, const char* what,
                  int number) {
  return {Code::kUnavailable,
          fmt::format("listen {} {}: {}: {}", network, address, what, GoErrnoText(number))};
}

// A client over HTTP/1.1 may wait for a watch's next line for days: the kernel finds out whether it
// is still there, at Go's pace. What a listener accepts inherits this.
void FindDeadClients(int listener) {
  constexpr int kOn = 1;
  constexpr int kSilenceSeconds = 15;
  constexpr int kProbes = 9;
  setsockopt(listener, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof(kOn));
  setsockopt(listener, IPPROTO_TCP, TCP_KEEPIDLE, &kSilenceSeconds, sizeof(kSilenceSeconds));
  setsockopt(listener, IPPROTO_TCP, TCP_KEEPINTVL, &kSilenceSeconds, sizeof(kSilenceSeconds));
  setsockopt(listener, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof(kProbes));
}

Result<FileDescriptor> BindTcp(const std::string& host, std::uint16_t port, bool dual_stack,
                               PortUse use) {
  KV_TRY(const Binding binding, Resolve(host, port, dual_stack));
  const std::string wanted = JoinHostPort(host, port);
  FileDescriptor fd(
      socket(binding.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return Fail(ListenError("tcp", wanted, "socket", errno));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  FindDeadClients(fd.get());
  if (use == PortUse::kShared) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
  if (binding.address.ss_family == AF_INET6) {
    const int v6_only = dual_stack ? 0 : 1;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only));
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&binding.address), binding.length) != 0)
    return Fail(ListenError("tcp", wanted, "bind", errno));
  return fd;
}

}  // namespace

std::string LocalAddress(int fd) {
  sockaddr_un path{};
  socklen_t length = sizeof(path) - 1;  // a path is not always terminated
  getsockname(fd, reinterpret_cast<sockaddr*>(&path), &length);
  return path.sun_family == AF_UNIX ? path.sun_path : BoundAddress(fd);
}

std::ptrdiff_t ReceiveBytes(int fd, std::span<char> buffer) {
  while (true) {
    const ssize_t count = recv(fd, buffer.data(), buffer.size(), 0);
    if (count >= 0) return count;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? Socket::kWouldBlock : -1;
  }
}

std::ptrdiff_t SendBytes(int fd, std::string_view bytes) {
  while (true) {
    const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) return count;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
  }
}

std::ptrdiff_t Socket::Read(std::span<char> buffer) {
  return tls_ == nullptr ? ReceiveBytes(fd(), buffer) : tls_->Read(fd(), buffer);
}

std::ptrdiff_t Socket::Write(const Pieces& pieces) {
  const auto parts = pieces.parts();
  if (tls_ != nullptr) return tls_->Write(fd(), parts);
  std::array<iovec, Pieces::kMax> vectors;
  for (std::size_t i = 0; i < parts.size(); ++i)
    vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = parts.size();
  while (true) {
    const ssize_t count = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (count >= 0) return count;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
  }
}

void Socket::SetUserTimeout(std::chrono::milliseconds limit) {
  const auto milliseconds = static_cast<unsigned>(limit.count());
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

void Socket::LimitUnsent(std::size_t bytes) {
  const auto limit = static_cast<unsigned>(bytes);
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &limit, sizeof(limit));
}

void Socket::CloseWriting() {
  if (tls_ != nullptr) tls_->CloseWriting(fd());
  shutdown(fd_.get(), SHUT_WR);
}

Result<ListenSocket> ListenSocket::Tcp(const std::string& host, std::uint16_t port, PortUse use) {
  if (host.empty() || host == "0.0.0.0" || host == "::") {
    // Without IPv6 on the machine, or with the IPv4 wildcard taken elsewhere, IPv4 alone is tried.
    if (auto both = BindTcp("::", port, /*dual_stack=*/true, use)) {
      std::string address = BoundAddress(both->get());
      return ListenSocket(std::move(*both), std::move(address), {});
    } else if (host == "::") {
      return Fail(std::move(both).error());
    }
  }
  KV_TRY(FileDescriptor fd, BindTcp(host, port, /*dual_stack=*/false, use));
  std::string address = BoundAddress(fd.get());
  return ListenSocket(std::move(fd), std::move(address), {});
}

Result<ListenSocket> ListenSocket::Unix(const std::string& path, UnixUse use) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return Fail(ListenError("unix", path, "bind", EINVAL));
  std::memcpy(address.sun_path, path.data(), path.size());
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path.c_str());
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return Fail(ListenError("unix", path, "socket", errno));
  constexpr mode_t kOwner = S_IRUSR | S_IWUSR;
  // The file gets the socket's mode, less the umask.
  if (use == UnixUse::kOwnerAlone && fchmod(fd.get(), kOwner) != 0)
    return Fail(ListenError("unix", path, "chmod", errno));
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return Fail(ListenError("unix", path, "bind", errno));
  // Gives the owner back what a strange umask took; goes through no link.
  if (use == UnixUse::kOwnerAlone &&
      fchmodat(AT_FDCWD, path.c_str(), kOwner, AT_SYMLINK_NOFOLLOW) != 0) {
    const int error = errno;
    unlink(path.c_str());
    return Fail(ListenError("unix", path, "chmod", error));
  }
  return ListenSocket(std::move(fd), path, path);
}

ListenSocket::~ListenSocket() {
  if (fd_.get() >= 0 && !unix_path_.empty()) unlink(unix_path_.c_str());
}

Result<void> ListenSocket::Listen() const {
  if (listen(fd(), kBacklog) == 0) return {};
  return Fail(ListenError(unix_path_.empty() ? "tcp" : "unix", address_, "listen", errno));
}

std::expected<Accepted, AcceptFailure> ListenSocket::Accept() {
  while (true) {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    FileDescriptor fd(accept4(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() >= 0) {
      if (address.ss_family != AF_UNIX) {
        const int on = 1;
        setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      }
      return Accepted{std::move(fd), AddressText(address)};
    }
    switch (errno) {
      case EAGAIN:
        return std::unexpected(AcceptFailure::kNothing);
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        return std::unexpected(AcceptFailure::kExhausted);
      case EBADF:
      case EINVAL:
      case ENOTSOCK:
      case EOPNOTSUPP:
        // The listener is closed or never was one; no connection will ever come.
        return std::unexpected(AcceptFailure::kNothing);
      default:
        // An error of the connection itself (aborted, unreachable, refused by a filter): take the
        // next.
        continue;
    }
  }
}

}  // namespace kvorum::rpc
