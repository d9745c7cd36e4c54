#include "server/peer_request.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>

#include "server/peer/peer_links.h"
#include "server/url.h"

namespace kvorum::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

constexpr std::uint64_t kMaxBodyBytes = std::uint64_t{4} << 20;

// One request on a connection of its own, until its outcome is told.
class Exchange {
 public:
  using Done = std::function<void(Result<PeerAnswer> answer)>;
  virtual ~Exchange() = default;
  virtual void Start() = 0;
};

template <class Protocol>
class ExchangeOver final : public Exchange {
 public:
  ExchangeOver(asio::io_context& io, Url url, std::string_view method, std::string_view path,
               Done done)
      : url_(std::move(url)), resolver_(io), stream_(io), done_(std::move(done)) {
    request_.method_string({method.data(), method.size()});
    request_.target({path.data(), path.size()});
    request_.version(11);
    request_.set(http::field::host, HostOf(url_));
    request_.set(http::field::connection, "close");
    if (method != "GET") request_.content_length(0);
    parser_.body_limit(kMaxBodyBytes);
  }

  void Start() override {
    if constexpr (std::is_same_v<Protocol, asio::ip::tcp>) {
      resolver_.async_resolve(
          url_.host(), std::to_string(url_.port()),
          [this](const error_code& failed, const asio::ip::tcp::resolver::results_type& found) {
            if (failed) return End(failed);
            asio::async_connect(stream_, found,
                                [this](const error_code& error, const asio::ip::tcp::endpoint&) {
                                  OnConnected(error);
                                });
          });
    } else {
      stream_.async_connect(typename Protocol::endpoint(url_.socket_path()),
                            [this](const error_code& error) { OnConnected(error); });
    }
  }

 private:
  void OnConnected(const error_code& error) {
    if (error) return End(error);
    http::async_write(stream_, request_, [this](const error_code& failed, std::size_t) {
      if (failed) return End(failed);
      http::async_read(stream_, buffer_, parser_,
                       [this](const error_code& ended, std::size_t) { End(ended); });
    });
  }
  void End(const error_code& error) {
    if (error) return done_(Fail(Code::kUnavailable, url_.text() + ": " + error.message()));
    const auto& message = parser_.get();
    const auto cluster_id = message["X-Etcd-Cluster-ID"];
    done_(PeerAnswer{.status = message.result_int(),
                     .cluster_id = std::string(cluster_id.data(), cluster_id.size()),
                     .body = message.body()});
  }

  const Url url_;
  asio::ip::tcp::resolver resolver_;
  typename Protocol::socket stream_;
  http::request<http::empty_body> request_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
  Done done_;
};

}  // namespace

Result<PeerAnswer> PeerRequester::Ask(std::string_view method, const std::string& url,
                                      std::string_view path, Duration timeout) {
  Result<PeerAnswer> outcome = Fail(Code::kUnavailable, url + ": no answer in time");
  AskAll(method, {url}, path, timeout, [&](const std::string&, Result<PeerAnswer> answer) {
    outcome = std::move(answer);
    return true;
  });
  return outcome;
}

struct HttpPeerRequester::Impl {
  std::mutex mutex;  // guards both
  bool stopped = false;
  std::set<asio::io_context*> running;

  // Runs what was started on it, for so long at most.
  void Run(asio::io_context& io, Duration timeout) {
    {
      std::lock_guard lock(mutex);
      if (stopped) return;
      running.insert(&io);
    }
    io.run_for(std::max(timeout, Duration(0)));
    std::lock_guard lock(mutex);
    running.erase(&io);
  }
};

HttpPeerRequester::HttpPeerRequester() : impl_(std::make_unique<Impl>()) {}
HttpPeerRequester::~HttpPeerRequester() = default;

void HttpPeerRequester::Stop() {
  std::lock_guard lock(impl_->mutex);
  impl_->stopped = true;
  for (asio::io_context* io : impl_->running) io->stop();
}

void HttpPeerRequester::AskAll(std::string_view method, const std::vector<std::string>& urls,
                               std::string_view path, Duration timeout, const Take& take) {
  // Destroyed last: handlers that never ran are dropped with it, when nothing they refer to is
  // used.
  asio::io_context io;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::set<std::string> unanswered;
  bool enough = false;
  const auto tell = [&](const std::string& url, Result<PeerAnswer> answer) {
    unanswered.erase(url);
    enough = take(url, std::move(answer));
    if (enough) io.stop();
  };
  for (const std::string& text : urls) {
    const auto url = Url::Parse(text);
    if (!url.has_value() || url->tls()) {
      if (take(text, Fail(Code::kUnavailable, text + ": no URL that this version can ask"))) return;
      continue;
    }
    unanswered.insert(text);
    const auto done = [&tell, text](Result<PeerAnswer> answer) { tell(text, std::move(answer)); };
    if (url->unix_socket()) {
      exchanges.push_back(std::make_unique<ExchangeOver<asio::local::stream_protocol>>(
          io, *url, method, path, done));
    } else {
      exchanges.push_back(
          std::make_unique<ExchangeOver<asio::ip::tcp>>(io, *url, method, path, done));
    }
    exchanges.back()->Start();
  }
  impl_->Run(io, timeout);
  if (enough) return;
  for (const std::string& url : std::set<std::string>(std::move(unanswered))) {
    if (take(url, Fail(Code::kUnavailable, url + ": no answer in time"))) return;
  }
}

std::string HttpPeerRequester::Resolve(const std::string& url_text) {
  const auto url = Url::Parse(url_text);
  if (!url.has_value() || url->unix_socket()) return url_text;
  asio::io_context io;
  asio::ip::tcp::resolver resolver(io);
  error_code error;
  const auto found = resolver.resolve(url->host(), std::to_string(url->port()), error);
  if (error || found.empty()) return url_text;
  // IPv4 first, as everywhere.
  const auto v4 = std::ranges::find_if(
      found, [](const auto& entry) { return entry.endpoint().address().is_v4(); });
  const auto& entry = v4 == found.end() ? *found.begin() : *v4;
  return (url->tls() ? "https://" : "http://") + entry.endpoint().address().to_string() + ":" +
         std::to_string(url->port());
}

}  // namespace kvorum::server
