// A server of HTTP/1.1 for tests: each connection has one request, which the test answers.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text/parse_number.h"

namespace kvorum::sync {

class ScriptedServer {
 public:
  using OnRequest = std::function<std::string(const std::string& request)>;

  explicit ScriptedServer(OnRequest on_request, const boost::asio::ip::address& address =
                                                    boost::asio::ip::address_v4::loopback())
      : on_request_(std::move(on_request)),
        acceptor_(io_, {address, 0}),
        thread_([this] { Serve(); }) {}
  ~ScriptedServer() {
    has_ended_ = true;
    boost::asio::ip::tcp::socket waker(io_);
    boost::system::error_code ignored;
    waker.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }
  std::string address() const {
    return acceptor_.local_endpoint().address().to_string() + ":" + port();
  }
  // Those that came until now.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void Serve() {
    while (true) {
      boost::asio::ip::tcp::socket socket(io_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (has_ended_) return;
      const std::string request = ReadRequest(socket);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      boost::asio::write(socket, boost::asio::buffer(on_request_(request)), error);
    }
  }
  static std::string ReadRequest(boost::asio::ip::tcp::socket& socket) {
    constexpr std::string_view kLength = "Content-Length: ";
    std::string request;
    boost::system::error_code error;
    const std::size_t head =
        boost::asio::read_until(socket, boost::asio::dynamic_buffer(request), "\r\n\r\n", error);
    const std::size_t at = request.find(kLength);
    if (error || at == std::string::npos) return request;
    const std::size_t begin = at + kLength.size();
    const auto body = ParseNumber<std::size_t>(
        std::string_view(request).substr(begin, request.find('\r', begin) - begin));
    while (!error && request.size() < head + body.value_or(0)) {
      std::string more(1024, '\0');
      more.resize(socket.read_some(boost::asio::buffer(more), error));
      request += more;
    }
    return request;
  }

  const OnRequest on_request_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> has_ended_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace kvorum::sync
