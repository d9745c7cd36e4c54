// An HTTP/1.1 server on the loopback whose reaction to each request a test scripts: answer it,
// close the connection, reset it. Keeps the requests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace kvorum::server {

class ScriptedServer {
 public:
  struct Request {
    int connection = 0;  // counted from 1
    std::string head;
    std::string body;
  };
  enum class Then : std::uint8_t {
    kKeep,   // the next request may come
    kEnd,    // no more is sent; it waits for what the client does with its end
    kReset,  // the connection breaks
    kTake,   // nothing is sent before a body in chunks has been taken, then 204
  };
  struct Reply {
    std::string text;
    Then then = Then::kKeep;
  };
  using Script = std::function<Reply(const Request& request)>;

  // The script runs on a connection's own thread, one call at a time.
  explicit ScriptedServer(Script script)
      : script_(std::move(script)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~ScriptedServer() {
    {
      std::lock_guard lock(mutex_);
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
      shutdown(listener_, SHUT_RDWR);
    }
    acceptor_.join();
    for (std::thread& thread : connections_) thread.join();
    close(listener_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<Request> requests() const {
    std::lock_guard lock(mutex_);
    return requests_;
  }
  // The sizes of the chunks in which bodies came.
  std::vector<std::size_t> chunk_sizes() const {
    std::lock_guard lock(mutex_);
    return chunk_sizes_;
  }
  // The number of times that a body came.
  int TimesOf(std::string_view body) const {
    std::lock_guard lock(mutex_);
    int times = 0;
    for (const Request& request : requests_) times += request.body == body ? 1 : 0;
    return times;
  }
  // True if this many clients have closed a connection that the script had ended.
  bool AwaitClosed(int count, std::chrono::seconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return closed_ >= count; });
  }

  static std::string NoContent() { return "HTTP/1.1 204 No Content\r\n\r\n"; }

 private:
  void Accept() {
    int number = 0;
    while (true) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      std::lock_guard lock(mutex_);
      open_.push_back(fd);
      connections_.emplace_back([this, fd, connection = ++number] { Serve(fd, connection); });
    }
  }

  void Serve(int fd, int connection) {
    std::string input;
    while (true) {
      Request request{.connection = connection, .head = {}, .body = {}};
      if (!ReadRequest(fd, input, request)) break;
      Reply reply;
      {
        std::lock_guard lock(mutex_);
        requests_.push_back(request);
        reply = script_(request);
        changed_.notify_all();
      }
      if (reply.then == Then::kTake) {
        if (!TakeChunks(fd, input)) break;
        reply.text = NoContent();
      }
      send(fd, reply.text.data(), reply.text.size(), MSG_NOSIGNAL);
      if (reply.then == Then::kReset) {
        const linger reset{.l_onoff = 1, .l_linger = 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        break;
      }
      if (reply.then == Then::kEnd) {
        shutdown(fd, SHUT_WR);
        char byte = 0;
        while (recv(fd, &byte, 1, 0) > 0) {
        }
        std::lock_guard lock(mutex_);
        ++closed_;
        changed_.notify_all();
        break;
      }
    }
    std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    close(fd);
  }

  static bool ReadRequest(int fd, std::string& input, Request& request) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    std::size_t end = 0;
    while ((end = input.find(kEnd)) == std::string::npos) {
      if (!ReadSome(fd, input)) return false;
    }
    request.head = input.substr(0, end + kEnd.size());
    input.erase(0, end + kEnd.size());
    std::size_t length = 0;
    constexpr std::string_view kLength = "Content-Length: ";
    if (const std::size_t at = request.head.find(kLength); at != std::string::npos) {
      const char* digits = request.head.data() + at + kLength.size();
      std::from_chars(digits, request.head.data() + request.head.size(), length);
    }
    while (input.size() < length) {
      if (!ReadSome(fd, input)) return false;
    }
    request.body = input.substr(0, length);
    input.erase(0, length);
    return true;
  }

  bool TakeChunks(int fd, std::string& input) {
    constexpr std::string_view kEnd = "\r\n";
    while (true) {
      std::size_t end = 0;
      while ((end = input.find(kEnd)) == std::string::npos) {
        if (!ReadSome(fd, input)) return false;
      }
      std::size_t size = 0;
      std::from_chars(input.data(), input.data() + end, size, 16);
      input.erase(0, end + kEnd.size());
      while (input.size() < size + kEnd.size()) {
        if (!ReadSome(fd, input)) return false;
      }
      input.erase(0, size + kEnd.size());
      if (size == 0) return true;
      std::lock_guard lock(mutex_);
      chunk_sizes_.push_back(size);
    }
  }

  static bool ReadSome(int fd, std::string& input) {
    char buffer[4096];
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    input.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  const Script script_;
  const int listener_;
  std::uint16_t port_ = 0;
  std::thread acceptor_;
  std::vector<std::thread> connections_;  // of the acceptor's thread until that has ended

  mutable std::mutex mutex_;  // guards the following, and the calls of the script
  std::condition_variable changed_;
  std::vector<int> open_;
  std::vector<Request> requests_;
  std::vector<std::size_t> chunk_sizes_;
  int closed_ = 0;
};

}  // namespace kvorum::server
