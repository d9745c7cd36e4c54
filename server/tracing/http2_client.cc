#include "server/tracing/http2_client.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "rpc/grpc_protocol.h"

namespace kvorum::server::tracing {
namespace {

constexpr std::size_t kMaxStatusTextBytes = 1024;

nghttp2_nv Header(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string_view ViewOf(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

struct Http2Client::Callbacks {
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* user) {
    auto& client = *static_cast<Http2Client*>(user);
    if (frame->hd.stream_id != client.stream_id_) return 0;
    const std::string_view key = ViewOf(name, name_size);
    const std::string_view text = ViewOf(value, value_size).substr(0, kMaxStatusTextBytes);
    if (key == ":status") client.http_status_ = text;
    if (key == "grpc-status") client.grpc_status_ = text;
    if (key == "grpc-message") client.grpc_message_ = text;
    return 0;
  }
  static int OnData(nghttp2_session*, std::uint8_t, std::int32_t stream_id,
                    const std::uint8_t* data, std::size_t size, void* user) {
    auto& client = *static_cast<Http2Client*>(user);
    if (stream_id != client.stream_id_) return 0;
    if (client.answer_.size() + size > kMaxAnswerBytes) {
      client.is_too_large_ = true;
      return 0;
    }
    client.answer_ += ViewOf(data, size);
    return 0;
  }
  static int OnStreamClose(nghttp2_session*, std::int32_t stream_id, std::uint32_t, void* user) {
    auto& client = *static_cast<Http2Client*>(user);
    if (stream_id == client.stream_id_) client.ended_ = true;
    return 0;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) static_cast<Http2Client*>(user)->going_away_ = true;
    return 0;
  }
  static ssize_t ReadRequest(nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t limit,
                             std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& client = *static_cast<Http2Client*>(source->ptr);
    const std::size_t size = std::min(limit, client.request_.size() - client.sent_bytes_);
    std::copy_n(client.request_.data() + client.sent_bytes_, size, out);
    client.sent_bytes_ += size;
    if (client.sent_bytes_ == client.request_.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }
};

Http2Client::Http2Client() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnStreamClose);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::OnFrame);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  constexpr nghttp2_settings_entry kNoPush{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &kNoPush, 1);
}

Http2Client::~Http2Client() { nghttp2_session_del(session_); }

Result<void> Http2Client::Start(std::string_view authority, std::string_view path,
                                std::string_view message) {
  request_.assign(1, '\0');  // not compressed
  for (int shift = 24; shift >= 0; shift -= 8)
    request_.push_back(static_cast<char>(message.size() >> static_cast<unsigned>(shift)));
  request_ += message;
  sent_bytes_ = 0;
  ended_ = false;
  is_too_large_ = false;
  for (std::string* text : {&http_status_, &grpc_status_, &grpc_message_, &answer_}) text->clear();
  const std::array<nghttp2_nv, 7> headers{Header(":method", "POST"),
                                          Header(":scheme", "http"),
                                          Header(":path", path),
                                          Header(":authority", authority),
                                          Header("content-type", "application/grpc"),
                                          Header("user-agent", "kvorum OTLP exporter"),
                                          Header("te", "trailers")};
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = Callbacks::ReadRequest;
  stream_id_ =
      nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &provider, nullptr);
  if (stream_id_ < 0) return Fail(Code::kInternal, nghttp2_strerror(stream_id_));
  return {};
}

std::optional<Result<std::string>> Http2Client::TakeOutcome() {
  if (!ended_ && !is_too_large_) return std::nullopt;
  Result<std::string> outcome = Outcome();
  Cancel();
  return outcome;
}

void Http2Client::Cancel() {
  if (!ended_ && stream_id_ > 0)
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_id_, NGHTTP2_CANCEL);
  stream_id_ = -1;
  request_ = {};
}

Result<std::string> Http2Client::Outcome() const {
  if (is_too_large_) return Fail(Code::kInternal, "the collector's answer is too large");
  unsigned status = 0;
  const char* const end = grpc_status_.data() + grpc_status_.size();
  if (std::from_chars(grpc_status_.data(), end, status).ptr != end || grpc_status_.empty())
    return Fail(Code::kUnavailable, "no gRPC answer, HTTP status '" + http_status_ + "'");
  if (status != 0) {
    const bool is_known = status <= static_cast<unsigned>(Code::kUnauthenticated);
    return Fail(is_known ? static_cast<Code>(status) : Code::kUnknown, grpc_message_);
  }
  if (answer_.size() < rpc::kMessagePrefixBytes || answer_.front() != '\0')
    return Fail(Code::kInternal, "the collector's answer is no message");
  return answer_.substr(rpc::kMessagePrefixBytes);
}

Result<std::string_view> Http2Client::NextOutput() {
  const std::uint8_t* data = nullptr;
  const ssize_t size = nghttp2_session_mem_send(session_, &data);
  if (size < 0) return Fail(Code::kInternal, nghttp2_strerror(static_cast<int>(size)));
  return ViewOf(data, static_cast<std::size_t>(size));
}

Result<void> Http2Client::Receive(std::string_view bytes) {
  const ssize_t used = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (used < 0) return Fail(Code::kUnavailable, nghttp2_strerror(static_cast<int>(used)));
  return {};
}

bool Http2Client::takes_calls() const {
  return !going_away_ && nghttp2_session_want_read(session_) != 0;
}

}  // namespace kvorum::server::tracing
