#include "rpc/client/grpc_connection.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "base/shared_bytes.h"
#include "base/text/parse_number.h"
#include "base/text/percent.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/call/message_reader.h"

namespace kvorum::rpc {
namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10;
constexpr TimePoint kNever{INT64_MAX};
constexpr std::string_view kDeadlineText = "context deadline exceeded";

nghttp2_nv Header(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string Framed(std::string_view message) {
  return std::string(View(PrefixOf(message.size()))).append(message);
}

}  // namespace

struct GrpcConnection::Exchange {
  explicit Exchange(std::uint32_t max_message_bytes) : reader(max_message_bytes) {}

  std::int32_t stream_id = 0;
  std::string unsent;
  std::size_t sent = 0;
  bool stays_open = false;  // a stream: nothing more is sent, but this side does not end
  MessageReader reader;
  std::deque<SharedBytes> messages;
  std::string http_status;
  std::string status;
  std::string status_text;
  std::optional<Error> fault;  // of the answer's bytes
  bool has_ended = false;

  Result<void> Outcome() const {
    if (fault.has_value()) return std::unexpected(*fault);
    const int code = ParseNumber<int>(status).value_or(-1);
    if (code < 0 || code > 16) {
      const std::string http = http_status.empty() ? "no answer" : "HTTP status " + http_status;
      return Fail(Code::kUnavailable, "the call ended without a gRPC status: " + http);
    }
    if (code == 0) return {};
    return Fail(static_cast<Code>(code), status_text);
  }
};

struct GrpcConnection::Callbacks {
  static Exchange* Of(nghttp2_session* session, std::int32_t stream_id) {
    return static_cast<Exchange*>(nghttp2_session_get_stream_user_data(session, stream_id));
  }

  static int OnHeader(nghttp2_session* session, const nghttp2_frame* frame,
                      const std::uint8_t* name, std::size_t name_bytes, const std::uint8_t* value,
                      std::size_t value_bytes, std::uint8_t /*flags*/, void* /*self*/) {
    Exchange* exchange = Of(session, frame->hd.stream_id);
    if (exchange == nullptr) return 0;
    const std::string_view field(reinterpret_cast<const char*>(name), name_bytes);
    const std::string_view text(reinterpret_cast<const char*>(value), value_bytes);
    if (field == ":status") exchange->http_status = text;
    if (field == "grpc-status") exchange->status = text;
    if (field == "grpc-message") exchange->status_text = PercentDecode(text);
    return 0;
  }

  static int OnData(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t stream_id,
                    const std::uint8_t* data, std::size_t size, void* /*self*/) {
    Exchange* exchange = Of(session, stream_id);
    if (exchange == nullptr || exchange->fault.has_value()) return 0;
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    while (!bytes.empty()) {
      const Result<std::size_t> used = exchange->reader.Feed(bytes);
      if (!used.has_value()) {
        exchange->fault = used.error();
        return 0;
      }
      bytes.remove_prefix(*used);
      if (!exchange->reader.complete()) continue;
      // A unary call's are taken only at its end.
      if (!exchange->stays_open && !exchange->messages.empty()) {
        exchange->fault = Error{Code::kInternal, "a unary call with more than one answer"};
        return 0;
      }
      exchange->messages.push_back(exchange->reader.Take());
    }
    return 0;
  }

  static int OnStreamClose(nghttp2_session* session, std::int32_t stream_id,
                           std::uint32_t /*error*/, void* /*self*/) {
    if (Exchange* exchange = Of(session, stream_id); exchange != nullptr)
      exchange->has_ended = true;
    return 0;
  }

  static ssize_t OnRead(nghttp2_session* /*session*/, std::int32_t /*stream_id*/, std::uint8_t* out,
                        std::size_t limit, std::uint32_t* flags, nghttp2_data_source* source,
                        void* /*self*/) {
    auto& exchange = *static_cast<Exchange*>(source->ptr);
    const std::size_t size = std::min(limit, exchange.unsent.size() - exchange.sent);
    if (size == 0 && exchange.stays_open) return NGHTTP2_ERR_DEFERRED;
    std::copy_n(exchange.unsent.data() + exchange.sent, size, out);
    exchange.sent += size;
    if (!exchange.stays_open && exchange.sent == exchange.unsent.size())
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }
};

GrpcConnection::GrpcConnection(ClientSocket socket, std::string authority, const Options& options)
    : socket_(std::move(socket)),
      authority_(std::move(authority)),
      is_tls_(socket_.ssl() != nullptr),
      options_(options),
      heard_(SystemClock().Now()) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnStreamClose);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry no_push{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &no_push, 1);
}

GrpcConnection::~GrpcConnection() { nghttp2_session_del(session_); }

Result<std::unique_ptr<GrpcConnection>> GrpcConnection::Dial(const Url& url, TlsContext* tls,
                                                             const Options& options) {
  KV_RETURN_IF_ERROR(url.CheckAddress());
  const WaitLimit limit = SystemClock().Now() + options.dial_timeout;
  if (url.unix_socket()) {
    const DialTarget target{
        .host = {}, .port = {}, .unix_path = url.socket_path(), .authority = "localhost"};
    return Dial(target, tls, options, limit);
  }
  const std::string port = std::to_string(url.dial_port());
  const bool is_v6 = url.host().find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + url.host() + "]" : url.host();
  const DialTarget target{
      .host = url.host(), .port = port, .unix_path = {}, .authority = host + ":" + port};
  return Dial(target, tls, options, limit);
}

Result<std::unique_ptr<GrpcConnection>> GrpcConnection::Dial(const DialTarget& target,
                                                             TlsContext* tls,
                                                             const Options& options,
                                                             const WaitLimit& limit) {
  KV_TRY(ClientSocket socket,
         ClientSocket::Dial(target, tls,
                            limit.NoLaterThan(SystemClock().Now() + options.dial_timeout)));
  return std::unique_ptr<GrpcConnection>(
      new GrpcConnection(std::move(socket), target.authority, options));
}

Result<void> GrpcConnection::Break(std::string why) {
  failure_ = std::move(why);
  return Fail(Code::kUnavailable, failure_);
}

Result<void> GrpcConnection::Submit(const Request& request, Exchange& exchange) {
  if (!is_usable()) return Fail(Code::kUnavailable, failure_);
  if (nghttp2_session_check_request_allowed(session_) == 0)
    return Break("the server takes no more calls on this connection");
  exchange.unsent = Framed(request.message);
  std::vector<nghttp2_nv> headers = {Header(":method", "POST"),
                                     Header(":scheme", is_tls_ ? "https" : "http"),
                                     Header(":path", request.path),
                                     Header(":authority", authority_),
                                     Header("content-type", "application/grpc"),
                                     Header("te", "trailers"),
                                     Header("user-agent", "kvorum")};
  if (!request.token.empty()) headers.push_back(Header("token", request.token));
  for (const auto& [name, value] : request.metadata) headers.push_back(Header(name, value));
  nghttp2_data_provider provider{};
  provider.source.ptr = &exchange;
  provider.read_callback = Callbacks::OnRead;
  exchange.stream_id = nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(),
                                              &provider, &exchange);
  if (exchange.stream_id < 0) return Break(nghttp2_strerror(exchange.stream_id));
  heard_ = SystemClock().Now();  // silence counts from here
  has_pinged_ = false;
  return {};
}

Result<void> GrpcConnection::Flush(const WaitLimit& limit) {
  while (true) {
    const std::uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size < 0) return Break(nghttp2_strerror(static_cast<int>(size)));
    if (size == 0) return {};
    const auto written =
        socket_.Write({reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)}, limit);
    if (!written.has_value()) return Break(written.error().message);
  }
}

Result<void> GrpcConnection::KeepAlive() {
  const Duration silence = SystemClock().Now() - heard_;
  if (has_pinged_ && silence >= options_.ping_interval + options_.ping_timeout)
    return Break("keepalive ping failed to receive ACK within timeout");
  if (!has_pinged_ && silence >= options_.ping_interval) {
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
    has_pinged_ = true;
  }
  return {};
}

Result<void> GrpcConnection::Turn(const WaitLimit& limit) {
  KV_RETURN_IF_ERROR(KeepAlive());
  const TimePoint next_ping =
      heard_ + options_.ping_interval + (has_pinged_ ? options_.ping_timeout : Duration(0));
  const WaitLimit sooner = limit.NoLaterThan(next_ping);
  KV_RETURN_IF_ERROR(Flush(sooner));
  return Receive(sooner);
}

Result<void> GrpcConnection::Receive(const WaitLimit& limit) {
  std::array<char, kReadBytes> buffer;
  const Result<std::size_t> got = socket_.Read(buffer, limit);
  if (!got.has_value()) return Break(got.error().message);
  if (*got == 0) return {};
  heard_ = SystemClock().Now();
  has_pinged_ = false;
  const ssize_t used = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(buffer.data()), *got);
  if (used < 0) return Break(nghttp2_strerror(static_cast<int>(used)));
  return {};
}

void GrpcConnection::Idle() {
  const WaitLimit at_once = TimePoint{};
  if (is_usable() && Receive(at_once).has_value()) static_cast<void>(Flush(at_once));
}

void GrpcConnection::Cancel(const Exchange& exchange) {
  nghttp2_session_set_stream_user_data(session_, exchange.stream_id, nullptr);
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, exchange.stream_id, NGHTTP2_CANCEL);
  // The caller's time may be over: a socket without room at once ends the connection.
  if (is_usable()) static_cast<void>(Flush(WaitLimit(SystemClock().Now())));
}

Result<std::string> GrpcConnection::Call(const Request& request, Duration timeout) {
  return Call(request, WaitLimit(SystemClock().Now() + timeout));
}

Result<std::string> GrpcConnection::Call(const Request& request, const WaitLimit& limit) {
  Exchange exchange(options_.max_message_bytes);
  KV_RETURN_IF_ERROR(Submit(request, exchange));
  while (!exchange.has_ended) {
    const Result<void> turned = Turn(limit);
    if (!turned.has_value()) return std::unexpected(turned.error());
    if (exchange.fault.has_value()) break;
    if (!exchange.has_ended && SystemClock().Now() >= limit.Now()) {
      Cancel(exchange);
      return Fail(Code::kDeadlineExceeded, std::string(kDeadlineText));
    }
  }
  if (!exchange.has_ended) Cancel(exchange);
  KV_RETURN_IF_ERROR(exchange.Outcome());
  if (exchange.messages.size() != 1) return Fail(Code::kInternal, "a unary call without an answer");
  return std::string(exchange.messages.front().view());
}

Result<void> GrpcConnection::Stream(const Request& request, const Take& take) {
  Exchange exchange(options_.max_message_bytes);
  exchange.stays_open = true;
  KV_RETURN_IF_ERROR(Submit(request, exchange));
  while (!exchange.has_ended || !exchange.messages.empty()) {
    for (; !exchange.messages.empty(); exchange.messages.pop_front()) {
      if (take(exchange.messages.front().view())) continue;
      if (!exchange.has_ended) Cancel(exchange);
      return {};
    }
    if (exchange.has_ended) break;
    KV_RETURN_IF_ERROR(Turn(kNever));
    if (exchange.fault.has_value()) {
      Cancel(exchange);
      break;
    }
  }
  return exchange.Outcome();
}

}  // namespace kvorum::rpc
