#include "sync/checks/http2_dialogue.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/text/parse_number.h"
#include "base/text/percent.h"
#include "proto/health_fields.h"

namespace kvorum::sync {
namespace {

namespace health = wire::health_fields;

constexpr std::size_t kPrefixBytes = 5;        // of a gRPC message: a flag and its length
constexpr std::size_t kMaxAnswerBytes = 4096;  // of a health answer, which has a number
constexpr std::string_view kHealthPath = "/grpc.health.v1.Health/Check";

// Protobuf's types of fields on the wire.
constexpr std::uint64_t kVarintType = 0;
constexpr std::uint64_t kFixed64Type = 1;
constexpr std::uint64_t kBytesType = 2;
constexpr std::uint64_t kFixed32Type = 5;

nghttp2_nv Field(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

void AppendVarint(std::uint64_t number, std::string& bytes) {
  for (; number >= 0x80U; number >>= 7U) bytes += static_cast<char>(number | 0x80U);
  bytes += static_cast<char>(number);
}

// Nothing: the bytes end too early, or the number is too large.
std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80U) return number;
  }
  return std::nullopt;
}

// HealthCheckRequest, behind its prefix.
std::string HealthRequest(std::string_view service) {
  std::string message;
  if (!service.empty()) {
    AppendVarint(health::kService << 3U | kBytesType, message);
    AppendVarint(service.size(), message);
    message += service;
  }
  std::string framed(1, '\0');
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    framed += static_cast<char>(message.size() >> shift);
  return framed + message;
}

// HealthCheckResponse: its status's number, 0 if it is left out. Nothing: the bytes are not one.
std::optional<std::uint64_t> HealthAnswer(std::string_view framed) {
  if (framed.size() < kPrefixBytes || framed.front() != '\0') return std::nullopt;
  std::size_t size = 0;
  for (const char byte : framed.substr(1, kPrefixBytes - 1))
    size = size << 8U | static_cast<unsigned char>(byte);
  std::string_view bytes = framed.substr(kPrefixBytes);
  if (bytes.size() != size) return std::nullopt;
  std::uint64_t status = 0;
  while (!bytes.empty()) {
    const auto tag = TakeVarint(bytes);
    if (!tag) return std::nullopt;
    const std::uint64_t wire_type = *tag & 7U;
    std::size_t skipped = 0;
    if (wire_type == kVarintType) {
      const auto number = TakeVarint(bytes);
      if (!number) return std::nullopt;
      if (*tag >> 3U == health::kStatus) status = *number;
    } else if (wire_type == kBytesType) {
      const auto length = TakeVarint(bytes);
      if (!length || *length > bytes.size()) return std::nullopt;
      skipped = *length;
    } else if (wire_type == kFixed64Type || wire_type == kFixed32Type) {
      skipped = wire_type == kFixed64Type ? 8 : 4;
    } else {
      return std::nullopt;
    }
    if (skipped > bytes.size()) return std::nullopt;
    bytes.remove_prefix(skipped);
  }
  return status;
}

std::string ServingName(std::uint64_t status) {
  static constexpr std::array<std::string_view, 4> kNames = {"UNKNOWN", "SERVING", "NOT_SERVING",
                                                             "SERVICE_UNKNOWN"};
  return status < kNames.size() ? std::string(kNames[status]) : std::to_string(status);
}

}  // namespace

std::string GrpcAddressOf(const std::string& target) { return target.substr(0, target.find('/')); }

class Http2Dialogue::Session {
 public:
  explicit Session(const CheckDefinition& check)
      : target_(check.target), address_(GrpcAddressOf(check.target)) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnStreamClose);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry no_push{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &no_push, 1);
    if (check.kind == CheckKind::kGrpc)
      Call(check.uses_tls);
    else
      nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  }
  ~Session() { nghttp2_session_del(session_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::string TakeOutput() {
    std::string output;
    while (true) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size <= 0) break;
      output.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    FailIfOver();
    return output;
  }

  void Feed(std::string_view bytes) {
    const ssize_t used = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (used < 0) Fail(nghttp2_strerror(static_cast<int>(used)));
    FailIfOver();
  }
  const std::optional<ProbeResult>& result() const { return result_; }

 private:
  static Session& Self(void* self) { return *static_cast<Session*>(self); }

  // A fault in the frames ends the session once its GOAWAY has been written.
  void FailIfOver() {
    const bool is_over =
        nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
    if (is_over) Fail("the session over HTTP/2 has ended");
  }

  static int OnHeader(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                      const std::uint8_t* name, std::size_t name_bytes, const std::uint8_t* value,
                      std::size_t value_bytes, std::uint8_t /*flags*/, void* self) {
    const std::string_view field(reinterpret_cast<const char*>(name), name_bytes);
    const std::string_view text =
        std::string_view(reinterpret_cast<const char*>(value), value_bytes)
            .substr(0, kMaxOutputBytes);
    if (field == ":status") Self(self).http_status_ = text;
    if (field == "grpc-status") Self(self).grpc_status_ = text;
    if (field == "grpc-message") Self(self).grpc_text_ = PercentDecode(text);
    return 0;
  }

  static int OnData(nghttp2_session* /*session*/, std::uint8_t /*flags*/,
                    std::int32_t /*stream_id*/, const std::uint8_t* data, std::size_t size,
                    void* self) {
    std::string& answer = Self(self).answer_;
    if (answer.size() + size > kMaxAnswerBytes) {
      Self(self).Fail("the answer is longer than 4096 bytes");
      return 0;
    }
    answer.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }

  static int OnStreamClose(nghttp2_session* /*session*/, std::int32_t /*stream_id*/,
                           std::uint32_t /*error*/, void* self) {
    Self(self).CallEnded();
    return 0;
  }

  static int OnFrame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
    const bool is_ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (frame->hd.type == NGHTTP2_PING && is_ack) Self(self).Pass("HTTP2 ping was successful");
    return 0;
  }

  static ssize_t OnRead(nghttp2_session* /*session*/, std::int32_t /*stream_id*/, std::uint8_t* out,
                        std::size_t limit, std::uint32_t* flags, nghttp2_data_source* /*source*/,
                        void* self) {
    const std::string& request = Self(self).request_;
    std::size_t& sent = Self(self).sent_;
    const std::size_t size = std::min(limit, request.size() - sent);
    std::copy_n(request.data() + sent, size, out);
    sent += size;
    if (sent == request.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  void Call(bool uses_tls) {
    const std::size_t slash = target_.find('/');
    request_ =
        HealthRequest(slash == std::string::npos ? std::string_view()
                                                 : std::string_view(target_).substr(slash + 1));
    const std::array<nghttp2_nv, 7> fields = {Field(":method", "POST"),
                                              Field(":scheme", uses_tls ? "https" : "http"),
                                              Field(":path", kHealthPath),
                                              Field(":authority", address_),
                                              Field("content-type", "application/grpc"),
                                              Field("te", "trailers"),
                                              Field("user-agent", "kvorum-check")};
    nghttp2_data_provider provider{};
    provider.read_callback = OnRead;
    const std::int32_t stream =
        nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &provider, nullptr);
    if (stream < 0) Fail(nghttp2_strerror(stream));
  }

  void CallEnded() {
    const int code = ParseNumber<int>(grpc_status_).value_or(-1);
    if (code < 0 || code > static_cast<int>(Code::kUnauthenticated)) {
      const std::string http = http_status_.empty() ? "no answer" : "HTTP status " + http_status_;
      return Fail("the call ended without a gRPC status: " + http);
    }
    if (code != 0) {
      return Fail("rpc error: code = " + std::string(CodeName(static_cast<Code>(code))) +
                  " desc = " + grpc_text_);
    }
    const auto status = HealthAnswer(answer_);
    if (!status) return Fail("the answer is not one of grpc.health.v1");
    if (*status == 1) return Pass("gRPC check " + target_ + ": success");
    Fail("gRPC " + target_ + " serving status: " + ServingName(*status));
  }

  // The first result counts.
  void Pass(const std::string& text) {
    if (!result_) result_ = ProbeResult{.health = Health::kPassing, .output = CleanOutput(text)};
  }
  void Fail(const std::string& text) {
    if (!result_) result_ = ProbeResult{.health = Health::kCritical, .output = CleanOutput(text)};
  }

  const std::string target_;
  const std::string address_;
  nghttp2_session* session_ = nullptr;
  std::string request_;
  std::size_t sent_ = 0;
  std::string http_status_;
  std::string grpc_status_;
  std::string grpc_text_;
  std::string answer_;
  std::optional<ProbeResult> result_;
};

Http2Dialogue::Http2Dialogue(const CheckDefinition& check)
    : session_(std::make_unique<Session>(check)) {}
Http2Dialogue::~Http2Dialogue() = default;

std::string Http2Dialogue::TakeOutput() { return session_->TakeOutput(); }

void Http2Dialogue::Feed(std::string_view bytes) { session_->Feed(bytes); }

const std::optional<ProbeResult>& Http2Dialogue::result() const { return session_->result(); }

}  // namespace kvorum::sync
