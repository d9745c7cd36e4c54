#include "sync/checks/network_probe.h"

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/letter_case.h"
#include "base/text/parse_number.h"

namespace kvorum::sync {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
namespace ssl = asio::ssl;
using boost::system::error_code;

constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10U;
constexpr std::size_t kReadBytes = std::size_t{4} << 10U;
constexpr unsigned kTooManyRequests = 429;
// Go's client takes as many. A 101 is an answer here: a check judges the status alone.
constexpr int kMaxInterimAnswers = 5;

// HOST:PORT, HOST or [HOST]:PORT.
Address ParseAddress(const std::string& text, const std::string& default_port) {
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string::npos && !text.ends_with(']');
  Address address{.host = text.substr(0, has_port ? colon : text.size()),
                  .port = has_port ? text.substr(colon + 1) : default_port};
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  return address;
}

// Nothing if it has to be looked up.
std::optional<tcp::endpoint> EndpointOf(const Address& address) {
  error_code is_name;
  const auto host = asio::ip::make_address(address.host, is_name);
  const auto port = ParseNumber<std::uint16_t>(address.port);
  if (is_name || !port) return std::nullopt;
  return tcp::endpoint(host, *port);
}

// A connection within the check's time-out; `on_connected` goes on from there.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::io_context& io, NameLookups& lookups, Duration timeout, Prober::OnEnd on_end)
      : socket(io), lookups_(lookups), timer_(io), timeout_(timeout), on_end_(std::move(on_end)) {}

  void Connect(const Address& address, std::function<void()> on_connected) {
    timer_.expires_after(timeout_);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (error) return;
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(self->timeout_);
      self->End({.output = "no answer within " + std::to_string(ms.count()) + " ms"});
    });
    const auto connected = [self = shared_from_this(),
                            on_connected = std::move(on_connected)](const error_code& failed) {
      if (failed) return self->End({.output = failed.message()});
      on_connected();
    };
    if (const auto endpoint = EndpointOf(address))
      return socket.async_connect(*endpoint, connected);
    address_ = address;
    lookup_ = lookups_.Begin(address, [self = shared_from_this(), connected](
                                          const error_code& error, const auto& found) {
      if (error) return self->End({.output = error.message()});
      asio::async_connect(
          self->socket, found,
          [connected](const error_code& failed, const tcp::endpoint&) { connected(failed); });
    });
  }

  // The first end counts.
  void End(ProbeResult result) {
    if (!on_end_) return;
    timer_.cancel();
    if (lookup_) lookups_.Cancel(address_, *lookup_);
    error_code ignored;
    socket.close(ignored);
    std::exchange(on_end_, nullptr)(std::move(result));
  }

  tcp::socket socket;

 private:
  NameLookups& lookups_;
  asio::steady_timer timer_;
  const Duration timeout_;
  Prober::OnEnd on_end_;
  Address address_;  // of the lookup
  std::optional<std::uint64_t> lookup_;
};

Health HealthOfStatus(unsigned status) {
  if (status >= 200 && status < 300) return Health::kPassing;
  return status == kTooManyRequests ? Health::kWarning : Health::kCritical;
}

struct HttpTarget {
  bool is_https = false;
  std::string authority;
  std::string path;
};

HttpTarget ParseTarget(const std::string& url) {
  HttpTarget target{.is_https = url.starts_with("https://"), .authority = {}, .path = {}};
  const std::string rest = url.substr(url.find("://") + 3);
  target.authority = rest.substr(0, rest.find_first_of("/?#"));
  target.path = rest.substr(target.authority.size());
  target.path = target.path.substr(0, target.path.find('#'));
  if (!target.path.starts_with('/')) target.path.insert(0, 1, '/');
  return target;
}

std::string MethodOf(const CheckDefinition& check) {
  return check.method.empty() ? "GET" : check.method;
}

// Headers that frame the message are ours alone.
bool IsFraming(std::string_view name) {
  return EqualsInAnyCase(name, "connection") || EqualsInAnyCase(name, "content-length") ||
         EqualsInAnyCase(name, "transfer-encoding");
}

// The check's headers take the place of ours. A check with details asks as Consul's do.
std::string RequestOf(const CheckDefinition& check, const HttpTarget& target) {
  const std::string method = MethodOf(check);
  std::string request = method + " " + target.path + " HTTP/1.1\r\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    request.append(name).append(": ").append(value).append("\r\n");
  };
  const auto add_ours = [&](std::string_view name, std::string_view value) {
    const bool is_given = std::ranges::any_of(
        check.headers, [&](const auto& header) { return EqualsInAnyCase(header.first, name); });
    if (!is_given) add(name, value);
  };
  add_ours("Host", target.authority);
  const bool is_consuls = !check.details.empty();
  add_ours("User-Agent", is_consuls ? "Consul Health Check" : "kvorum-check");
  if (is_consuls) add_ours("Accept", "text/plain, text/*, */*");
  for (const auto& [name, values] : check.headers) {
    if (IsFraming(name)) continue;
    for (const std::string& value : values) add(name, value);
  }
  if (!check.body.empty() || method == "POST" || method == "PUT" || method == "PATCH")
    add("Content-Length", std::to_string(check.body.size()));
  add("Connection", "close");
  return request + "\r\n" + check.body;
}

// One request over the stream; of the body only as much is read as an output may have.
template <class Stream>
class HttpExchange : public std::enable_shared_from_this<HttpExchange<Stream>> {
 public:
  HttpExchange(std::shared_ptr<Connection> connection, std::shared_ptr<Stream> stream,
               const CheckDefinition& check, const HttpTarget& target)
      : connection_(std::move(connection)),
        stream_(std::move(stream)),
        request_(RequestOf(check, target)),
        has_body_(MethodOf(check) != "HEAD"),
        what_(check.details.empty() ? std::string() : MethodOf(check) + " " + check.target) {
    BeginAnswer();
  }

  void Begin() {
    asio::async_write(*stream_, asio::buffer(request_),
                      [self = this->shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->Fail(error);
                        self->Read();
                      });
  }

 private:
  void BeginAnswer() {
    parser_.emplace();
    // Boost 1.74 takes no limit as one of zero.
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    parser_->header_limit(kMaxHeaderBytes);
    parser_->skip(!has_body_);
  }
  void Read() {
    const std::size_t room = std::min(kReadBytes, buffer_.max_size() - buffer_.size());
    if (room == 0) return Fail(http::error::buffer_overflow);
    stream_->async_read_some(buffer_.prepare(room), [self = this->shared_from_this()](
                                                        const error_code& error, std::size_t got) {
      self->buffer_.commit(got);
      if (error) return self->End(error);
      self->Parse();
    });
  }
  void End(const error_code& error) {
    // Some servers leave out TLS' end.
    if (error == ssl::error::stream_truncated && parser_->is_header_done()) return Succeed();
    if (error != asio::error::eof) return Fail(error);
    if (!parser_->got_some()) return Fail(http::error::end_of_stream);
    error_code incomplete;
    parser_->put_eof(incomplete);
    if (incomplete) return Fail(incomplete);
    Succeed();
  }
  // The body goes into a buffer of our own: the length in the header is not trusted for an
  // allocation. Beast's parser is fed here, since its own reading takes g++ ten seconds a stream.
  void Parse() {
    while (buffer_.size() != 0) {
      parser_->get().body() = {.data = chunk_.data(), .size = chunk_.size(), .more = true};
      error_code error;
      buffer_.consume(parser_->put(buffer_.data(), error));
      text_.append(chunk_.data(), chunk_.size() - parser_->get().body().size);
      if (error == http::error::need_more) return Read();
      if (error && error != http::error::need_buffer) return Fail(error);
      if (parser_->is_done() && IsInterim()) {
        if (++interim_answers_ > kMaxInterimAnswers)
          return connection_->End({.output = "too many 1xx answers before the final one"});
        BeginAnswer();
        continue;
      }
      if (parser_->is_done() || text_.size() >= kMaxOutputBytes) return Succeed();
    }
    Read();
  }
  // The final answer follows. A check does not ask for another protocol, which 101 would begin.
  bool IsInterim() const {
    const unsigned status = parser_->get().result_int();
    return status >= 100 && status < 200 && status != 101;
  }
  void Fail(const error_code& error) { connection_->End({.output = error.message()}); }
  void Succeed() {
    const unsigned status = parser_->get().result_int();
    std::string output = "HTTP " + std::to_string(status) + "\n" + text_;
    if (!what_.empty()) {
      const auto given = parser_->get().reason();
      const std::string_view reason(given.data(), given.size());
      output = "HTTP " + what_ + ": " + std::to_string(status);
      if (!reason.empty()) output.append(" ").append(reason);
      output += " Output: " + text_;
    }
    connection_->End({.health = HealthOfStatus(status), .output = CleanOutput(output)});
  }

  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<Stream> stream_;
  const std::string request_;
  const bool has_body_;     // of the answer
  const std::string what_;  // for the output of a check with details
  boost::beast::flat_buffer buffer_{kMaxHeaderBytes};
  std::optional<http::response_parser<http::buffer_body>> parser_;  // of the answer that comes
  int interim_answers_ = 0;
  std::array<char, kMaxOutputBytes> chunk_{};
  std::string text_;
};

// The files are read anew for each probe, so that renewed ones count.
error_code Prepare(ssl::context& context, const CheckTls& options) {
  error_code error;
  context.set_verify_mode(options.skip_verify ? ssl::verify_none : ssl::verify_peer, error);
  if (error || options.skip_verify) return error;
  if (options.ca_file.empty())
    context.set_default_verify_paths(error);
  else
    context.load_verify_file(options.ca_file, error);
  return error;
}

// A connection under TLS.
struct TlsConnection {
  using Stream = ssl::stream<tcp::socket&>;

  // A prepared context: the stream takes over what it says.
  TlsConnection(std::shared_ptr<Connection> connection, ssl::context prepared)
      : plain(std::move(connection)),
        context(std::move(prepared)),
        stream(plain->socket, context) {}

  const std::shared_ptr<Connection> plain;
  ssl::context context;
  Stream stream;
};

// The name that the certificate must have; addresses are not sent to the server (RFC 6066).
void SetServerName(TlsConnection::Stream& stream, const std::string& name, bool skip_verify) {
  error_code is_name;
  asio::ip::make_address(name, is_name);
  if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), name.c_str());
  error_code ignored;  // there is none that a callback's setting can fail with
  if (!skip_verify) stream.set_verify_callback(ssl::host_name_verification(name), ignored);
}

void BeginHttps(const std::shared_ptr<Connection>& connection, const CheckDefinition& check,
                const HttpTarget& target) {
  ssl::context context(ssl::context::tls_client);
  if (const error_code error = Prepare(context, check.tls)) {
    return connection->End({.output = check.tls.ca_file.empty()
                                          ? error.message()
                                          : check.tls.ca_file + ": " + error.message()});
  }
  const Address address = ParseAddress(target.authority, "443");
  const auto tls = std::make_shared<TlsConnection>(connection, std::move(context));
  SetServerName(tls->stream, check.tls.server_name.empty() ? address.host : check.tls.server_name,
                check.tls.skip_verify);
  const std::shared_ptr<TlsConnection::Stream> stream(tls, &tls->stream);
  const auto exchange =
      std::make_shared<HttpExchange<TlsConnection::Stream>>(tls->plain, stream, check, target);
  connection->Connect(address, [tls, exchange] {
    tls->stream.async_handshake(ssl::stream_base::client, [tls, exchange](const error_code& error) {
      if (error) return tls->plain->End({.output = "TLS: " + error.message()});
      exchange->Begin();
    });
  });
}

}  // namespace

void BeginTcpProbe(asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                   Prober::OnEnd on_end) {
  const auto connection =
      std::make_shared<Connection>(io, lookups, check.timeout, std::move(on_end));
  const std::string output = check.details.empty() ? "connected to " + check.target
                                                   : "TCP connect " + check.target + ": Success";
  connection->Connect(ParseAddress(check.target, ""), [connection, output] {
    connection->End({.health = Health::kPassing, .output = CleanOutput(output)});
  });
}

void BeginHttpProbe(asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                    Prober::OnEnd on_end) {
  const HttpTarget target = ParseTarget(check.target);
  const auto connection =
      std::make_shared<Connection>(io, lookups, check.timeout, std::move(on_end));
  if (target.is_https) return BeginHttps(connection, check, target);
  const std::shared_ptr<tcp::socket> stream(connection, &connection->socket);
  const auto exchange =
      std::make_shared<HttpExchange<tcp::socket>>(connection, stream, check, target);
  connection->Connect(ParseAddress(target.authority, "80"), [exchange] { exchange->Begin(); });
}

}  // namespace kvorum::sync
