#include "rpc/http1_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <limits>
#include <utility>

#include "base/letter_case.h"

namespace kvorum::rpc {
namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

// "0\r\n\r\n", the end of every chunked body. When a last chunk's header comes in pieces, Beast
// (1.74) goes on only when this many bytes are there, and asserts that they are.
constexpr std::size_t kLastChunkBytes = 5;

Error ToError(const error_code& error) {
  const bool too_large = error == http::error::header_limit;
  return {.code = too_large ? Code::kResourceExhausted : Code::kInvalidArgument,
          .message = "HTTP: " + error.message()};
}

Error ToError(const Http1Head::Refusal& refusal) {
  return {.code = refusal.status == 501 ? Code::kUnimplemented : Code::kInvalidArgument,
          .message = "HTTP: " + std::string(refusal.text)};
}

}  // namespace

std::string_view HttpHead::Header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &HttpHeader::name);
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

struct Http1Parser::Impl {
  virtual ~Impl() = default;
  virtual std::size_t Put(std::string_view bytes, std::string& body, error_code& error) = 0;
  virtual void PutEnd(error_code& error) = 0;
  virtual bool head_done() const = 0;
  virtual bool done() const = 0;
  // Checks a complete head.
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

  std::size_t Put(std::string_view bytes, std::string& out, error_code& error) override {
    if (in_chunk_header && bytes.size() < kLastChunkBytes) {
      error = http::error::need_more;
      return 0;
    }
    body = &out;
    const bool was_done = Base::is_header_done();
    const std::size_t used = Base::put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    in_chunk_header = error == http::error::need_more && Base::is_header_done() &&
                      Base::chunked() && used < bytes.size();
    if (!was_done && Base::is_header_done()) {
      head.chunked = Base::chunked();
      head.keep_alive = Base::keep_alive();
      if (const auto length = Base::content_length()) head.content_length = *length;
    }
    return used;
  }
  void PutEnd(error_code& error) override {
    std::string nothing;
    body = &nothing;
    // Beast accepts the end of a message only after a first byte of it.
    if (!Base::got_some()) {
      error = http::error::end_of_stream;
      return;
    }
    Base::put_eof(error);
  }
  bool head_done() const override { return Base::is_header_done(); }
  bool done() const override { return Base::is_done(); }
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
  void on_field_impl(http::field field, string_view name, string_view value, error_code&) override {
    head.headers.push_back({LowerCase(std::string(name)), std::string(value)});
    if (Base::is_header_done()) return;  // a trailer
    const std::string& kept = head.headers.back().value;
    if (field == http::field::host) rules.AddHost(kept);
    if (field == http::field::transfer_encoding) rules.AddTransferEncoding(kept);
    if (field == http::field::content_length) rules.AddContentLength();
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(string_view bytes, error_code&) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code&) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code&) override {}

  HttpHead& head;
  Http1Head rules;
  std::string* body = nullptr;
  bool in_chunk_header = false;
};

Http1Parser::Http1Parser(Kind kind, std::size_t max_head_bytes) {
  if (kind == Kind::kRequest) {
    impl_ = std::make_unique<Parser<true>>(head_, max_head_bytes);
  } else {
    impl_ = std::make_unique<Parser<false>>(head_, max_head_bytes);
  }
}

Http1Parser::~Http1Parser() = default;

Result<std::size_t> Http1Parser::Put(std::string_view bytes, std::string& body) {
  std::size_t used = 0;
  const bool had_head = impl_->head_done();
  while (used < bytes.size() && !impl_->done()) {
    error_code error;
    const std::size_t step = impl_->Put(bytes.substr(used), body, error);
    used += step;
    if (error == http::error::need_more) break;
    if (error) return std::unexpected(ToError(error));
    if (!had_head && impl_->head_done()) {
      refusal_ = impl_->Judge();
      if (refusal_) return std::unexpected(ToError(*refusal_));
      break;
    }
    if (step == 0) break;
  }
  return used;
}

Result<void> Http1Parser::PutEnd() {
  error_code error;
  impl_->PutEnd(error);
  if (error) return std::unexpected(ToError(error));
  return {};
}

bool Http1Parser::head_done() const { return impl_->head_done(); }
bool Http1Parser::done() const { return impl_->done(); }

std::string_view ReasonOf(unsigned status) {
  if (status == 499) return "status code 499";  // one of proxies for a client that has left
  const auto reason = http::obsolete_reason(http::int_to_status(status));
  return {reason.data(), reason.size()};
}

}  // namespace kvorum::rpc
