#include "rpc/http/http1_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <limits>
#include <utility>

#include "base/letter_case.h"
#include "rpc/http/chunked_body.h"

namespace kvorum::rpc {
namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

// A field takes more memory than bytes: a head full of empty ones would take 16 times its own.
// Clients send a few dozen.
constexpr std::size_t kMaxFields = 1024;

// Go's client takes no more before an answer. sync/checks/http_probe.cc has the same bound.
constexpr int kMaxInterimAnswers = 5;
constexpr unsigned kSwitchingProtocols = 101;

Error ToError(const error_code& error) {
  const bool too_large = error == http::error::header_limit;
  return {.code = too_large ? Code::kResourceExhausted : Code::kInvalidArgument,
          .message = "HTTP: " + error.message()};
}

Error ToError(const Http1Head::Refusal& refusal) {
  return {.code = refusal.status == 501 ? Code::kUnimplemented : Code::kInvalidArgument,
          .message = "HTTP: " + std::string(refusal.text)};
}

std::optional<Http1Head::Refusal> UseOriginForm(HttpHead& head) {
  if (head.method == "CONNECT") return std::nullopt;
  std::string host;
  if (auto refusal = ToOriginForm(head.target, host)) return refusal;
  if (host.empty()) return std::nullopt;
  const auto field = std::ranges::find(head.headers, "host", &HttpHeader::name);
  if (field == head.headers.end()) {
    head.headers.push_back({"host", std::move(host)});  // HTTP/1.0 needs none
  } else {
    field->value = std::move(host);
  }
  return std::nullopt;
}

}  // namespace

std::string_view HttpHead::Header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &HttpHeader::name);
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

// Beast's part ends with the head: its bounds of a chunked body (1.74) leave out what stands around
// the data, which it keeps until it is complete.
struct Http1Parser::Impl {
  virtual ~Impl() = default;
  virtual std::size_t PutHead(std::string_view bytes, error_code& error) = 0;
  // The rest is of a complete head.
  virtual bool head_done() const = 0;
  virtual bool has_body() const = 0;
  virtual std::optional<Http1Head::Refusal> Judge() const = 0;
};

template <bool is_request>
struct Http1Parser::Parser final : Http1Parser::Impl, private http::basic_parser<is_request> {
  using Base = http::basic_parser<is_request>;

  Parser(HttpHead& h, std::size_t max_head_bytes) : head(h) {
    Base::header_limit(static_cast<std::uint32_t>(max_head_bytes));
    // The caller bounds the body. In Boost 1.74 boost::none would be a limit of zero.
    Base::body_limit(std::numeric_limits<std::uint64_t>::max());
  }

  std::size_t PutHead(std::string_view bytes, error_code& error) override {
    const std::size_t used = Base::put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    if (!Base::is_header_done()) return used;
    head.chunked = Base::chunked();
    head.keep_alive = Base::keep_alive();
    if (const auto length = Base::content_length()) head.content_length = *length;
    return used;
  }
  bool head_done() const override { return Base::is_header_done(); }
  bool has_body() const override { return !Base::is_done(); }
  std::optional<Http1Head::Refusal> Judge() const override {
    if (!is_request) return std::nullopt;
    return rules.Judge(head.is_http_1_0, head.method == "CONNECT");
  }

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code&) override {
    head.method = std::string(method);
    head.target = std::string(target);
    head.is_http_1_0 = version == 10;
  }
  void on_response_impl(int status, string_view, int version, error_code&) override {
    head.status = static_cast<unsigned>(status);
    head.is_http_1_0 = version == 10;
  }
  void on_field_impl(http::field field, string_view name, string_view value,
                     error_code& error) override {
    if (head.headers.size() == kMaxFields) {
      error = http::error::header_limit;
      return;
    }
    head.headers.push_back({LowerCase(std::string(name)), std::string(value)});
    const std::string& kept = head.headers.back().value;
    if (field == http::field::host) rules.AddHost(kept);
    if (field == http::field::transfer_encoding) rules.AddTransferEncoding(kept);
    if (field == http::field::content_length) rules.AddContentLength();
  }
  void on_header_impl(error_code&) override {}
  void on_finish_impl(error_code&) override {}
  // Never called: it is given no byte after the head.
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(string_view, error_code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view, error_code&) override { return 0; }

  HttpHead& head;
  Http1Head rules;
};

Http1Parser::Http1Parser(Kind kind, std::size_t max_head_bytes) : max_head_bytes_(max_head_bytes) {
  if (kind == Kind::kRequest) {
    impl_ = std::make_unique<Parser<true>>(head_, max_head_bytes);
  } else {
    impl_ = std::make_unique<Parser<false>>(head_, max_head_bytes);
  }
}

Http1Parser::~Http1Parser() = default;

Result<std::size_t> Http1Parser::Put(std::string_view bytes, std::string& body) {
  if (bytes.empty() || done()) return 0;
  return stage_ == Stage::kHead ? PutHead(bytes) : PutBody(bytes, body);
}

Result<std::size_t> Http1Parser::PutHead(std::string_view bytes) {
  // Beast's own limit begins anew with each line that is complete.
  const std::size_t room = max_head_bytes_ - head_bytes_;
  error_code error;
  const std::size_t used = impl_->PutHead(bytes.substr(0, room), error);
  head_bytes_ += used;
  if (!impl_->head_done()) {
    if (bytes.size() >= room && (!error || error == http::error::need_more))
      error = http::error::header_limit;
    if (error && error != http::error::need_more) return std::unexpected(ToError(error));
    return used;
  }
  if (error) return std::unexpected(ToError(error));
  refusal_ = impl_->Judge();
  if (!refusal_) refusal_ = UseOriginForm(head_);
  if (refusal_) return std::unexpected(ToError(*refusal_));
  if (!is_interim()) {
    BeginBody();
    return used;
  }
  KV_RETURN_IF_ERROR(SkipInterim());
  if (used == bytes.size()) return used;
  KV_TRY(const std::size_t more, PutHead(bytes.substr(used)));
  return used + more;
}

Result<void> Http1Parser::SkipInterim() {
  if (head_.status == kSwitchingProtocols)
    return Fail(Code::kUnimplemented, "HTTP: 101 without a request for another protocol");
  if (++interim_answers_ > kMaxInterimAnswers)
    return Fail(Code::kResourceExhausted, "HTTP: too many 1xx answers before the final one");
  head_ = {};
  impl_ = std::make_unique<Parser<false>>(head_, max_head_bytes_);
  return {};
}

void Http1Parser::BeginBody() {
  if (!impl_->has_body()) {
    stage_ = Stage::kDone;
  } else if (head_.chunked) {
    stage_ = Stage::kChunks;
    chunks_ = std::make_unique<ChunkedBody>(max_head_bytes_);
  } else if (head_.content_length) {
    stage_ = Stage::kLength;
    left_bytes_ = *head_.content_length;
  } else {
    stage_ = Stage::kUntilEnd;
  }
}

Result<std::size_t> Http1Parser::PutBody(std::string_view bytes, std::string& body) {
  if (stage_ == Stage::kChunks) {
    KV_TRY(const std::size_t used, chunks_->Put(bytes, body));
    if (chunks_->done()) stage_ = Stage::kDone;
    return used;
  }
  std::size_t used = bytes.size();
  if (stage_ == Stage::kLength) {
    used = std::min<std::uint64_t>(used, left_bytes_);
    left_bytes_ -= used;
    if (left_bytes_ == 0) stage_ = Stage::kDone;
  }
  body.append(bytes.substr(0, used));
  return used;
}

Result<void> Http1Parser::PutEnd() {
  if (stage_ == Stage::kUntilEnd) stage_ = Stage::kDone;
  if (done()) return {};
  return std::unexpected(ToError(error_code(http::error::partial_message)));
}

bool Http1Parser::head_done() const { return impl_->head_done(); }

std::string_view ReasonOf(unsigned status) {
  if (status == 499) return "status code 499";  // one of proxies for a client that has left
  const auto reason = http::obsolete_reason(http::int_to_status(status));
  return {reason.data(), reason.size()};
}

}  // namespace kvorum::rpc
