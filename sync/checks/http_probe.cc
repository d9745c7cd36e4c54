#include <algorithm>
#include <array>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "base/letter_case.h"
#include "sync/checks/connection.h"
#include "sync/checks/http_target.h"
#include "sync/checks/network_probe.h"

namespace kvorum::sync {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10U;
constexpr std::size_t kReadBytes = std::size_t{4} << 10U;
constexpr unsigned kTooManyRequests = 429;
// Go's client takes as many. A 101 is an answer here: a check judges the status alone.
constexpr int kMaxInterimAnswers = 5;
// Go's client makes as many, the first among them.
constexpr int kMaxRequests = 10;

Health HealthOfStatus(unsigned status) {
  if (status >= 200 && status < 300) return Health::kPassing;
  return status == kTooManyRequests ? Health::kWarning : Health::kCritical;
}

std::string MethodOf(const CheckDefinition& check) {
  return check.method.empty() ? "GET" : check.method;
}

// Headers that frame the message are ours alone.
bool IsFraming(std::string_view name) {
  return EqualsInAnyCase(name, "connection") || EqualsInAnyCase(name, "content-length") ||
         EqualsInAnyCase(name, "transfer-encoding");
}

// Headers that a redirect does not carry to another host: Go's list, and the API's own token.
bool IsSecret(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kSecrets = {
      "authorization",       "www-authenticate",   "cookie",        "cookie2",
      "proxy-authorization", "proxy-authenticate", "x-consul-token"};
  return std::ranges::any_of(
      kSecrets, [&](std::string_view secret) { return EqualsInAnyCase(name, secret); });
}

// One of a check's requests: the first, or one that a redirect asks for.
struct HttpRequest {
  HttpTarget target;
  std::string method;
  bool has_body = true;         // the check's
  bool has_secrets = true;      // among the check's headers; once false, false for good
  bool has_checks_host = true;  // the check's Host header
  std::string referer = {};
};

// The headers of the check that this request has.
CheckHeaders HeadersOf(const CheckDefinition& check, const HttpRequest& request) {
  CheckHeaders headers = check.headers;
  std::erase_if(headers, [&](const auto& header) {
    const std::string& name = header.first;
    return IsFraming(name) || (!request.has_secrets && IsSecret(name)) ||
           (!request.has_checks_host && EqualsInAnyCase(name, "host"));
  });
  return headers;
}

// The check's headers take the place of ours. A check with details asks as Consul's do.
std::string RequestOf(const CheckDefinition& check, const HttpRequest& request) {
  std::string bytes = request.method + " " + request.target.path + " HTTP/1.1\r\n";
  const CheckHeaders headers = HeadersOf(check, request);
  const auto add = [&](std::string_view name, std::string_view value) {
    bytes.append(name).append(": ").append(value).append("\r\n");
  };
  const auto add_ours = [&](std::string_view name, std::string_view value) {
    const bool is_given = std::ranges::any_of(
        headers, [&](const auto& header) { return EqualsInAnyCase(header.first, name); });
    if (!is_given) add(name, value);
  };
  add_ours("Host", request.target.authority);
  const bool is_consuls = !check.details.empty();
  add_ours("User-Agent", is_consuls ? "Consul Health Check" : "kvorum-check");
  if (is_consuls) add_ours("Accept", "text/plain, text/*, */*");
  if (!request.target.user.empty())
    add_ours("Authorization", "Basic " + EncodeBase64(Base64::kStandard, request.target.user));
  if (!request.referer.empty()) add_ours("Referer", request.referer);
  for (const auto& [name, values] : headers) {
    for (const std::string& value : values) add(name, value);
  }
  const std::string& method = request.method;
  const std::string_view body = request.has_body ? std::string_view(check.body) : "";
  if (!body.empty() || method == "POST" || method == "PUT" || method == "PATCH")
    add("Content-Length", std::to_string(body.size()));
  add("Connection", "close");
  return bytes.append("\r\n").append(body);
}

// An http check's probe: its requests, one after another, within one time-out.
class HttpJob : public std::enable_shared_from_this<HttpJob> {
 public:
  HttpJob(asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
          Prober::OnEnd on_end)
      : check_(check),
        connection_(std::make_shared<Connection>(io, lookups, check.timeout, std::move(on_end))),
        first_(ParseTarget(check.target)),
        request_{.target = first_, .method = MethodOf(check)} {}

  // Connects, and sends the request.
  void Begin();
  // True if the answer leads elsewhere, and the job goes on without it.
  bool Follow(unsigned status, std::string_view location);
  void Answered(unsigned status, std::string_view reason, const std::string& text);
  void Fail(std::string output) { connection_->End({.output = std::move(output)}); }
  // No more of the answer's body is read.
  std::size_t max_body_bytes() const { return check_.output_max_bytes; }

 private:
  bool Redirects(unsigned status) const;
  // Fails if there is no next request.
  bool TakeNext(unsigned status, std::string_view location);

  const CheckDefinition check_;
  const std::shared_ptr<Connection> connection_;
  const HttpTarget first_;
  HttpRequest request_;
  int requests_ = 1;
};

// One request over the stream; of the body only as much is read as an output may have.
template <class Stream>
class HttpExchange : public std::enable_shared_from_this<HttpExchange<Stream>> {
 public:
  HttpExchange(std::shared_ptr<HttpJob> job, std::shared_ptr<Stream> stream, std::string request,
               bool has_body)
      : job_(std::move(job)),
        stream_(std::move(stream)),
        request_(std::move(request)),
        has_body_(has_body) {
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
    if (error == asio::ssl::error::stream_truncated && parser_->is_header_done()) return Succeed();
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
      if (parser_->is_header_done() && IsFollowed()) return;
      if (error == http::error::need_more) return Read();
      if (error && error != http::error::need_buffer) return Fail(error);
      if (parser_->is_done() && IsInterim()) {
        if (++interim_answers_ > kMaxInterimAnswers)
          return job_->Fail("too many 1xx answers before the final one");
        BeginAnswer();
        continue;
      }
      if (parser_->is_done() || text_.size() >= job_->max_body_bytes()) return Succeed();
    }
    Read();
  }
  // The body of an answer that leads elsewhere is not read.
  bool IsFollowed() const {
    const auto location = parser_->get()[http::field::location];
    return job_->Follow(parser_->get().result_int(), {location.data(), location.size()});
  }
  // The final answer follows. A check does not ask for another protocol, which 101 would begin.
  bool IsInterim() const {
    const unsigned status = parser_->get().result_int();
    return status >= 100 && status < 200 && status != 101;
  }
  void Fail(const error_code& error) { job_->Fail(error.message()); }
  void Succeed() {
    const auto reason = parser_->get().reason();
    job_->Answered(parser_->get().result_int(), {reason.data(), reason.size()},
                   text_.substr(0, job_->max_body_bytes()));
  }

  const std::shared_ptr<HttpJob> job_;
  const std::shared_ptr<Stream> stream_;
  const std::string request_;
  const bool has_body_;  // of the answer
  boost::beast::flat_buffer buffer_{kMaxHeaderBytes};
  std::optional<http::response_parser<http::buffer_body>> parser_;  // of the answer that comes
  int interim_answers_ = 0;
  std::array<char, kMaxOutputBytes> chunk_{};
  std::string text_;
};

void HttpJob::Begin() {
  const bool has_body = request_.method != "HEAD";
  const auto self = shared_from_this();
  std::string bytes = RequestOf(check_, request_);
  if (request_.target.is_https) {
    return ConnectUnderTls(
        connection_, ParseAddress(request_.target.authority, "443"), check_.tls,
        /*is_http2=*/false, [self, bytes, has_body](const std::shared_ptr<TlsStream>& stream) {
          std::make_shared<HttpExchange<TlsStream>>(self, stream, bytes, has_body)->Begin();
        });
  }
  const std::shared_ptr<tcp::socket> stream(connection_, &connection_->socket);
  const auto exchange =
      std::make_shared<HttpExchange<tcp::socket>>(self, stream, std::move(bytes), has_body);
  connection_->Connect(ParseAddress(request_.target.authority, "80"),
                       [exchange] { exchange->Begin(); });
}

bool HttpJob::Redirects(unsigned status) const {
  return check_.follows_redirects &&
         (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

bool HttpJob::Follow(unsigned status, std::string_view location) {
  if (!Redirects(status) || location.empty()) return false;
  if (TakeNext(status, location)) Begin();
  return true;
}

bool HttpJob::TakeNext(unsigned status, std::string_view location) {
  if (++requests_ > kMaxRequests) {
    Fail("stopped after 10 redirects");
    return false;
  }
  auto next = ResolveLocation(request_.target, location);
  if (!next) {
    Fail(next.error().message);
    return false;
  }
  request_.has_secrets = request_.has_secrets && MaySeeSecrets(first_, *next);
  // The URL may have a secret too; another host does not see it.
  const bool leaves_tls = request_.target.is_https && !next->is_https;
  request_.referer = request_.has_secrets && !leaves_tls ? UrlOf(request_.target) : "";
  request_.has_checks_host =
      request_.has_checks_host && next->authority == request_.target.authority;
  if (status != 307 && status != 308) {
    if (request_.method != "HEAD") request_.method = "GET";
    request_.has_body = false;
  }
  request_.target = *std::move(next);
  return true;
}

void HttpJob::Answered(unsigned status, std::string_view reason, const std::string& text) {
  std::string output = "HTTP " + std::to_string(status) + "\n" + text;
  if (!check_.details.empty()) {
    output = "HTTP " + MethodOf(check_) + " " + check_.target + ": " + std::to_string(status);
    if (!reason.empty()) output.append(" ").append(reason);
    output += " Output: " + text;
  }
  connection_->End({.health = HealthOfStatus(status), .output = CleanOutput(output)});
}

}  // namespace

void BeginHttpProbe(asio::io_context& io, NameLookups& lookups, const CheckDefinition& check,
                    Prober::OnEnd on_end) {
  std::make_shared<HttpJob>(io, lookups, check, std::move(on_end))->Begin();
}

}  // namespace kvorum::sync
