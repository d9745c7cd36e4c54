#include "bench/load/http2_connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bench/load/connect.h"

namespace kvorum::bench {
namespace {

constexpr int kPathName = 4;  // in HPACK's static table

// RFC 9113, section 6.
constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kResetStream = 3;
constexpr std::uint8_t kSettings = 4;
constexpr std::uint8_t kPing = 6;
constexpr std::uint8_t kGoAway = 7;
constexpr std::uint8_t kWindowUpdate = 8;
constexpr std::uint8_t kContinuation = 9;
constexpr std::uint8_t kEndStream = 0x1;
constexpr std::uint8_t kAck = 0x1;
constexpr std::uint8_t kEndHeaders = 0x4;
constexpr std::uint8_t kPadded = 0x8;
constexpr std::uint8_t kPriority = 0x20;
constexpr std::size_t kFrameHeaderBytes = 9;
constexpr std::uint16_t kSettingTableSize = 1;
constexpr std::uint16_t kSettingEnablePush = 2;
constexpr std::uint16_t kSettingMaxStreams = 3;
constexpr std::uint16_t kSettingInitialWindow = 4;
constexpr std::uint16_t kSettingMaxFrame = 5;

// Windows as wide as the protocol allows: the server's flow control is not what is measured.
constexpr std::uint32_t kReceiveWindow = (1U << 31) - 1;
constexpr std::size_t kCreditAfterBytes = 1U << 28;
constexpr std::size_t kInputBytes = 512 * 1024;
constexpr int kSettingsTimeoutMs = 5000;

std::uint32_t ReadUint32(const char* at) {
  const auto byte = [at](int i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i]));
  };
  return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}

char* WriteUint(char* out, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    *out++ = static_cast<char>(value >> shift);
  return out;
}

// RFC 7541, 6.2: a literal of short texts, without Huffman coding. `kind` is 0x40 to add it to the
// table, 0 not to; the name is one of the static table's or spelled out.
void AppendText(std::string& block, std::string_view text) {
  block.push_back(static_cast<char>(text.size()));
  block += text;
}
void AppendLiteral(std::string& block, int kind, int static_name, std::string_view value) {
  const int prefix_max = kind == 0 ? 15 : 63;
  if (static_name < prefix_max) {
    block.push_back(static_cast<char>(kind | static_name));
  } else {
    block.push_back(static_cast<char>(kind | prefix_max));
    block.push_back(static_cast<char>(static_name - prefix_max));
  }
  AppendText(block, value);
}
void AppendLiteral(std::string& block, int kind, std::string_view name, std::string_view value) {
  block.push_back(static_cast<char>(kind));
  AppendText(block, name);
  AppendText(block, value);
}

// No call is outstanding while the connection waits for the server's settings.
class NoCalls final : public CallObserver {
 public:
  void OnAnswer(std::uint64_t, std::size_t) override {}
  void OnFailure(std::uint64_t, std::string_view) override {}
};

}  // namespace

struct Http2Connection::Frame {
  std::uint8_t type;
  std::uint8_t flags;
  std::uint32_t stream_id;
  std::string_view payload;

  bool Has(std::uint8_t flag) const { return (flags & flag) != 0; }
};

Result<std::unique_ptr<Http2Connection>> Http2Connection::Open(const std::string& endpoint,
                                                               std::string_view path,
                                                               std::string_view token,
                                                               const TlsContext& tls) {
  if (token.size() > kMaxTokenBytes) return Fail(Code::kInvalidArgument, "the token is too long");
  KV_TRY(Link link, Link::Connect(endpoint, tls));
  std::unique_ptr<Http2Connection> connection(new Http2Connection(std::move(link), endpoint, path));
  connection->QueuePreface();
  KV_RETURN_IF_ERROR(connection->WaitForSettings());
  connection->PrepareHeaderBlocks(path, token);
  return connection;
}

Http2Connection::Http2Connection(Link link, std::string authority, std::string_view path)
    : link_(std::move(link)),
      authority_(std::move(authority)),
      path_(path),
      out_(64 * 1024),
      in_(kInputBytes) {
  nghttp2_hd_inflate_new(&inflater_);
}

Http2Connection::~Http2Connection() { nghttp2_hd_inflate_del(inflater_); }

void Http2Connection::QueuePreface() {
  static constexpr std::string_view kMagic = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  std::copy(kMagic.begin(), kMagic.end(), out_.begin());
  out_end_ = kMagic.size();
  char* settings = QueueFrame(12, kSettings, 0, 0);
  settings = WriteUint(settings, kSettingEnablePush, 2);
  settings = WriteUint(settings, 0, 4);
  settings = WriteUint(settings, kSettingInitialWindow, 2);
  WriteUint(settings, kReceiveWindow, 4);
  WriteUint(QueueFrame(4, kWindowUpdate, 0, 0), kReceiveWindow - 65535, 4);
}

Result<void> Http2Connection::WaitForSettings() {
  NoCalls no_calls;
  while (true) {
    KV_TRY([[maybe_unused]] const bool flushed, Flush());
    KV_RETURN_IF_ERROR(Receive(no_calls));  // a handshake may have brought them along
    if (settings_received_) return {};
    pollfd readable{fd(), POLLIN, 0};
    if (poll(&readable, 1, kSettingsTimeoutMs) <= 0) {
      return Fail(Code::kUnavailable, "the server sent no HTTP/2 settings");
    }
  }
}

// The first call's block puts its fields into the peer's table; the newest has index 62 (RFC 7541,
// 2.3.3). A peer with a smaller table than the default gets them spelled out each time.
void Http2Connection::PrepareHeaderBlocks(std::string_view path, std::string_view token) {
  static constexpr int kAuthorityName = 1;
  static constexpr int kContentTypeName = 31;
  static constexpr int kUserAgentName = 58;
  static constexpr char kMethodPost = static_cast<char>(0x80 | 3);
  const auto scheme = static_cast<char>(0x80 | (link_.is_encrypted() ? 7 : 6));
  const bool use_table = peer_table_bytes_ >= 4096;
  const int kind = use_table ? 0x40 : 0;
  first_header_block_ = {kMethodPost, scheme};
  AppendLiteral(first_header_block_, kind, kPathName, path);
  AppendLiteral(first_header_block_, kind, kAuthorityName, authority_);
  AppendLiteral(first_header_block_, kind, kContentTypeName, "application/grpc");
  AppendLiteral(first_header_block_, kind, "te", "trailers");
  AppendLiteral(first_header_block_, kind, kUserAgentName, "kvorum-bench");
  if (!token.empty()) AppendLiteral(first_header_block_, kind, "token", token);
  if (!use_table) {
    header_block_ = first_header_block_;
    return;
  }
  header_block_ = {kMethodPost, scheme};
  for (int index = token.empty() ? 66 : 67; index >= 62; --index)
    header_block_.push_back(static_cast<char>(0x80 | index));
}

const std::string& Http2Connection::HeaderBlockOf(const RequestTemplate& request,
                                                  std::uint32_t stream_id) {
  if (stream_id == 1) return first_header_block_;
  if (request.path() == path_) return header_block_;
  // The path is the third field of either block: an index, or spelled out.
  const bool use_table = header_block_.size() < first_header_block_.size();
  block_of_another_ = header_block_.substr(0, 2);
  AppendLiteral(block_of_another_, 0, kPathName, request.path());
  std::size_t rest = 3;
  if (!use_table) {
    std::string own;
    AppendLiteral(own, 0, kPathName, path_);
    rest = 2 + own.size();
  }
  return block_of_another_.append(header_block_, rest);
}

bool Http2Connection::CanCall(std::size_t message_bytes) const {
  return send_window_ >= static_cast<std::int64_t>(message_bytes) &&
         peer_stream_window_ >= message_bytes && outstanding_ < peer_max_streams_;
}

char* Http2Connection::QueueFrame(std::size_t payload_bytes, std::uint8_t type, std::uint8_t flags,
                                  std::uint32_t stream_id) {
  const std::size_t size = kFrameHeaderBytes + payload_bytes;
  if (out_.size() - out_end_ < size) out_.resize(std::max(2 * out_.size(), out_end_ + size));
  char* at = out_.data() + out_end_;
  out_end_ += size;
  at = WriteUint(at, static_cast<std::uint32_t>(payload_bytes), 3);
  *at++ = static_cast<char>(type);
  *at++ = static_cast<char>(flags);
  return WriteUint(at, stream_id, 4);
}

void Http2Connection::Call(const RequestTemplate& request, std::uint64_t key_number,
                           const char* value, std::uint64_t start_nanos) {
  const std::uint32_t stream_id = next_stream_id_;
  next_stream_id_ += 2;
  slots_[(stream_id / 2) % kSlots] = Slot{start_nanos, 0, true};
  ++outstanding_;

  const std::string& block = HeaderBlockOf(request, stream_id);
  std::memcpy(QueueFrame(block.size(), kHeaders, kEndHeaders, stream_id), block.data(),
              block.size());

  const std::size_t size = request.size_bytes();
  send_window_ -= static_cast<std::int64_t>(size);
  if (size <= peer_max_frame_) {
    request.Write(QueueFrame(size, kData, kEndStream, stream_id), key_number, value);
    return;
  }
  message_.resize(size);
  request.Write(message_.data(), key_number, value);
  for (std::size_t sent = 0; sent < size;) {
    const std::size_t part = std::min<std::size_t>(size - sent, peer_max_frame_);
    const bool last = sent + part == size;
    std::memcpy(QueueFrame(part, kData, last ? kEndStream : 0, stream_id), message_.data() + sent,
                part);
    sent += part;
  }
}

Result<bool> Http2Connection::Flush() {
  while (out_begin_ < out_end_) {
    const ssize_t sent = link_.Send(out_.data() + out_begin_, out_end_ - out_begin_);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return false;
      return Fail(SystemError("send"));
    }
    out_begin_ += static_cast<std::size_t>(sent);
  }
  out_begin_ = out_end_ = 0;
  return true;
}

Result<void> Http2Connection::Receive(CallObserver& observer) {
  while (true) {
    KV_TRY(const bool some, ReadSome());
    KV_RETURN_IF_ERROR(HandleInput(observer));
    if (!some || !link_.has_more()) return {};
  }
}

Result<bool> Http2Connection::ReadSome() {
  const ssize_t received = link_.Receive(in_.data() + in_end_, in_.size() - in_end_);
  if (received > 0) {
    in_end_ += static_cast<std::size_t>(received);
    return true;
  }
  if (received == 0) return Fail(Code::kUnavailable, "the server closed the connection");
  if (errno == EAGAIN || errno == EINTR) return false;
  return Fail(SystemError("recv"));
}

Result<void> Http2Connection::HandleInput(CallObserver& observer) {
  const char* at = in_.data();
  const char* const end = at + in_end_;
  while (end - at >= static_cast<std::ptrdiff_t>(kFrameHeaderBytes)) {
    const std::uint32_t length_and_type = ReadUint32(at);
    const std::size_t length = length_and_type >> 8;
    if (length > kInputBytes - kFrameHeaderBytes) {
      return Fail(Code::kInternal, "the server sent a frame larger than was allowed");
    }
    if (static_cast<std::size_t>(end - at) < kFrameHeaderBytes + length) break;
    const Frame frame{static_cast<std::uint8_t>(length_and_type), static_cast<std::uint8_t>(at[4]),
                      ReadUint32(at + 5) & 0x7fffffff,
                      std::string_view(at + kFrameHeaderBytes, length)};
    KV_RETURN_IF_ERROR(HandleFrame(frame, observer));
    at += kFrameHeaderBytes + length;
  }
  in_end_ = static_cast<std::size_t>(end - at);
  std::memmove(in_.data(), at, in_end_);
  return {};
}

Result<void> Http2Connection::HandleFrame(const Frame& frame, CallObserver& observer) {
  switch (frame.type) {
    case kData:
      CreditReceived(frame.payload.size());
      if (Slot* slot = FindSlot(frame.stream_id)) {
        const std::size_t credited = slot->answer_bytes / kCreditAfterBytes;
        slot->answer_bytes += frame.payload.size();
        if (slot->answer_bytes / kCreditAfterBytes != credited)
          WriteUint(QueueFrame(4, kWindowUpdate, 0, frame.stream_id), kCreditAfterBytes, 4);
      }
      if (frame.Has(kEndStream)) Finish(frame.stream_id, "no trailers", observer);
      return {};
    case kHeaders:
    case kContinuation:
      return HandleHeaders(frame, observer);
    case kResetStream:
      Finish(frame.stream_id, "stream reset by the server", observer);
      return {};
    case kSettings:
      return frame.Has(kAck) ? Result<void>{} : HandleSettings(frame);
    case kPing:
      if (!frame.Has(kAck) && frame.payload.size() == 8) {
        std::memcpy(QueueFrame(8, kPing, kAck, 0), frame.payload.data(), 8);
      }
      return {};
    case kGoAway:
      return Fail(Code::kUnavailable,
                  fmt::format("the server said GOAWAY: {}",
                              frame.payload.size() > 8 ? frame.payload.substr(8) : ""));
    case kWindowUpdate:
      if (frame.stream_id == 0 && frame.payload.size() == 4) {
        send_window_ += ReadUint32(frame.payload.data());
      }
      return {};
    default:  // RFC 9113, 4.1: unknown types are ignored
      return {};
  }
}

Result<void> Http2Connection::HandleHeaders(const Frame& frame, CallObserver& observer) {
  std::string_view block = frame.payload;
  if (frame.type == kHeaders) {
    std::size_t padding = 0;
    if (frame.Has(kPadded) && !block.empty()) {
      padding = static_cast<unsigned char>(block[0]);
      block.remove_prefix(1);
    }
    if (frame.Has(kPriority)) block.remove_prefix(std::min<std::size_t>(5, block.size()));
    block.remove_suffix(std::min(padding, block.size()));
    partial_ends_stream_ = frame.Has(kEndStream);
  }
  if (!frame.Has(kEndHeaders)) {
    partial_block_ += block;
    return {};
  }
  if (!partial_block_.empty()) {
    partial_block_ += block;
    block = partial_block_;
  }
  KV_TRY(const std::string failure, DecodeHeaders(block));
  partial_block_.clear();
  if (!failure.empty() || partial_ends_stream_) Finish(frame.stream_id, failure, observer);
  return {};
}

Result<std::string> Http2Connection::DecodeHeaders(std::string_view block) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
  std::size_t left = block.size();
  std::string failure;
  for (;;) {
    nghttp2_nv field;
    int flags = 0;
    const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, at, left, 1);
    if (used < 0) {
      return Fail(Code::kInternal,
                  fmt::format("bad header block: {}", nghttp2_strerror(static_cast<int>(used))));
    }
    at += used;
    left -= static_cast<std::size_t>(used);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      const std::string_view name(reinterpret_cast<char*>(field.name), field.namelen);
      const std::string_view value(reinterpret_cast<char*>(field.value), field.valuelen);
      if (name == ":status" && value != "200") failure = fmt::format("HTTP status {}", value);
      if (name == "grpc-status" && value != "0") failure = fmt::format("gRPC status {}", value);
      if (name == "grpc-message" && !failure.empty()) failure += fmt::format(": {}", value);
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
  }
  nghttp2_hd_inflate_end_headers(inflater_);
  return failure;
}

Result<void> Http2Connection::HandleSettings(const Frame& frame) {
  for (std::size_t at = 0; at + 6 <= frame.payload.size(); at += 6) {
    const char* setting = frame.payload.data() + at;
    const std::uint32_t value = ReadUint32(setting + 2);
    switch (static_cast<unsigned char>(setting[1])) {
      case kSettingTableSize:
        peer_table_bytes_ = value;
        break;
      case kSettingMaxStreams:
        peer_max_streams_ = value;
        break;
      case kSettingInitialWindow:
        peer_stream_window_ = value;
        break;
      case kSettingMaxFrame:
        peer_max_frame_ = value;
        break;
      default:
        break;
    }
  }
  settings_received_ = true;
  QueueFrame(0, kSettings, kAck, 0);
  return {};
}

void Http2Connection::CreditReceived(std::size_t bytes) {
  uncredited_bytes_ += bytes;
  if (uncredited_bytes_ < kCreditAfterBytes) return;
  WriteUint(QueueFrame(4, kWindowUpdate, 0, 0), static_cast<std::uint32_t>(uncredited_bytes_), 4);
  uncredited_bytes_ = 0;
}

Http2Connection::Slot* Http2Connection::FindSlot(std::uint32_t stream_id) {
  Slot& slot = slots_[(stream_id / 2) % kSlots];
  return slot.active ? &slot : nullptr;
}

void Http2Connection::Finish(std::uint32_t stream_id, std::string_view failure,
                             CallObserver& observer) {
  Slot* slot = FindSlot(stream_id);
  if (slot == nullptr) return;
  slot->active = false;
  --outstanding_;
  if (failure.empty()) {
    observer.OnAnswer(slot->start_nanos, slot->answer_bytes);
  } else {
    observer.OnFailure(slot->start_nanos, failure);
  }
}

}  // namespace kvorum::bench
