#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/failpoint/failpoint_control.h"
#include "base/file_descriptor.h"
#include "base/letter_case.h"
#include "base/text/parse_number.h"

namespace kvorum::failpoint {
namespace {

constexpr std::size_t kMaxRequestBytes = 64 * 1024;
// A stalled client delays the next one for at most this long.
constexpr std::chrono::milliseconds kRequestLimit(2000);

using Deadline = std::chrono::steady_clock::time_point;

// Waits for the descriptor or the stop signal; false when stopped, failed or out of time.
bool WaitFor(int fd, short events, int stop_fd, Deadline deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd fds[2] = {{fd, events, 0}, {stop_fd, POLLIN, 0}};
    const int ready =
        ::poll(fds, 2, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    if (fds[1].revents != 0) return false;
    if (fds[0].revents != 0) return true;
  }
}

struct Request {
  std::string method;
  std::string path;
  std::string body;
};

struct Answer {
  int status = 200;
  std::string body;
};

std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Bad Request";
  }
}

Answer AnswerOf(const Error& error) {
  return {error.code == Code::kNotFound ? 404 : 400, error.message + "\n"};
}

Answer GetPoint(std::string_view name) {
  constexpr std::string_view kCountSuffix = "/count";
  if (name.ends_with(kCountSuffix)) {
    name.remove_suffix(kCountSuffix.size());
    const auto count = Count(name);
    return count ? Answer{200, std::to_string(*count)} : AnswerOf(count.error());
  }
  const auto term = Get(name);
  return term ? Answer{200, *term + "\n"} : AnswerOf(term.error());
}

Answer Handle(const Request& request) {
  if (!request.path.starts_with('/')) return {400, "bad path\n"};
  const std::string_view name = std::string_view(request.path).substr(1);
  if (request.method == "GET") {
    if (!name.empty()) return GetPoint(name);
    std::string lines;
    for (const auto& [point, term] : List())
      lines.append(point).append("=").append(term).append("\n");
    return {200, std::move(lines)};
  }
  if (request.method == "PUT") {
    const Result<void> set = name == "failpoints" ? SetAll(request.body) : Set(name, request.body);
    return set ? Answer{204, ""} : AnswerOf(set.error());
  }
  if (request.method == "DELETE") {
    const Result<void> cleared = Clear(name);
    return cleared ? Answer{204, ""} : AnswerOf(cleared.error());
  }
  return {405, "only GET, PUT and DELETE\n"};
}

// The value of a header, "" if it is missing. `head` is in lower case.
std::string_view Header(std::string_view head, std::string_view name) {
  const std::size_t at = head.find("\r\n" + std::string(name) + ":");
  if (at == std::string_view::npos) return {};
  std::string_view value = head.substr(at + 2 + name.size() + 1);
  value = value.substr(0, value.find("\r\n"));
  while (value.starts_with(' ')) value.remove_prefix(1);
  while (value.ends_with(' ')) value.remove_suffix(1);
  return value;
}

class Server final : public ControlServer {
 public:
  Server(FileDescriptor listener, FileDescriptor stop, std::uint16_t port)
      : listener_(std::move(listener)), stop_(std::move(stop)), port_(port) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Server() override {
    const std::uint64_t one = 1;
    while (::write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

  std::uint16_t port() const override { return port_; }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "failpoint");
    while (true) {
      pollfd fds[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0 && errno != EINTR) return;
      if (fds[1].revents != 0) return;
      if (fds[0].revents == 0) continue;
      const FileDescriptor connection(
          ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (connection.get() >= 0) Serve(connection.get());
    }
  }

  // Serves one request, then closes the connection.
  void Serve(int fd) {
    const Deadline deadline = std::chrono::steady_clock::now() + kRequestLimit;
    Request request;
    if (!Read(fd, deadline, &request)) return;
    const AnswerPending pending;
    const Answer answer = Handle(request);
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " " +
                       std::string(Reason(answer.status)) + "\r\nConnection: close\r\n";
    if (answer.status != 204) {
      text += "Content-Type: text/plain\r\nContent-Length: " + std::to_string(answer.body.size()) +
              "\r\n";
    }
    text += "\r\n" + answer.body;
    Write(fd, deadline, text);
    ::shutdown(fd, SHUT_WR);
  }

  bool Read(int fd, Deadline deadline, Request* request) {
    std::string bytes;
    std::size_t head_end = std::string::npos;
    while ((head_end = bytes.find("\r\n\r\n")) == std::string::npos) {
      if (!ReadMore(fd, deadline, &bytes)) return false;
    }
    std::string head = bytes.substr(0, head_end + 2);
    const std::size_t method_end = head.find(' ');
    const std::size_t path_end = head.find(' ', method_end + 1);
    if (method_end == std::string::npos || path_end == std::string::npos) return false;
    request->method = head.substr(0, method_end);
    request->path = head.substr(method_end + 1, path_end - method_end - 1);
    head = LowerCase(std::move(head));
    const std::string_view length_text = Header(head, "content-length");
    const auto told = ParseNumber<std::size_t>(length_text);
    if (!told && !length_text.empty()) return false;
    const std::size_t length = told.value_or(0);
    if (length > kMaxRequestBytes) return false;
    if (Header(head, "expect") == "100-continue" &&
        !Write(fd, deadline, "HTTP/1.1 100 Continue\r\n\r\n")) {
      return false;
    }
    bytes.erase(0, head_end + 4);
    while (bytes.size() < length) {
      if (!ReadMore(fd, deadline, &bytes)) return false;
    }
    request->body = bytes.substr(0, length);
    while (request->body.ends_with('\n') || request->body.ends_with('\r')) request->body.pop_back();
    return true;
  }

  bool ReadMore(int fd, Deadline deadline, std::string* bytes) {
    if (bytes->size() > 2 * kMaxRequestBytes) return false;
    if (!WaitFor(fd, POLLIN, stop_.get(), deadline)) return false;
    char buffer[4096];
    const ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    bytes->append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  bool Write(int fd, Deadline deadline, std::string_view text) {
    while (!text.empty()) {
      if (!WaitFor(fd, POLLOUT, stop_.get(), deadline)) return false;
      const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR && errno != EAGAIN) return false;
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  FileDescriptor listener_;
  FileDescriptor stop_;
  std::uint16_t port_;
  std::thread thread_;
};

std::unexpected<Error> Bad(const std::string& address, const std::string& why) {
  return Fail(Code::kInvalidArgument, "failpoint control address \"" + address + "\": " + why);
}

std::uint16_t PortOf(int fd) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  char port[8] = "0";
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, nullptr, 0, port, sizeof(port),
                    NI_NUMERICSERV) != 0) {
    return 0;
  }
  return static_cast<std::uint16_t>(std::strtoul(port, nullptr, 10));
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::Start(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Bad(address, "host:port was expected");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string port = address.substr(colon + 1);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (host == "localhost") hints.ai_family = AF_INET;
  addrinfo* list = nullptr;
  if (const int error =
          ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &list);
      error != 0) {
    return Bad(address, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, &::freeaddrinfo);
  FileDescriptor listener(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int one = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (listener.get() < 0 || ::bind(listener.get(), list->ai_addr, list->ai_addrlen) != 0 ||
      ::listen(listener.get(), 16) != 0) {
    return Bad(address, ErrnoText(errno));
  }
  FileDescriptor stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (stop.get() < 0) return Bad(address, ErrnoText(errno));
  const std::uint16_t bound = PortOf(listener.get());
  return std::make_unique<Server>(std::move(listener), std::move(stop), bound);
}

}  // namespace kvorum::failpoint
