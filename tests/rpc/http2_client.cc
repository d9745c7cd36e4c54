#include "tests/rpc/http2_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace kvorum::rpc {
namespace {

constexpr std::size_t kFrameHeadBytes = 9;

std::uint32_t Read32(std::string_view bytes) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}

// An HPACK integer with a 7-bit prefix of zeros: a string's length, not Huffman-coded.
std::string Length(std::size_t value) {
  if (value < 127) return {static_cast<char>(value)};
  std::string bytes(1, static_cast<char>(127));
  value -= 127;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>((value & 127) | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

}  // namespace

std::string BigEndian32(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Frame(FrameType type, std::uint8_t flags, std::uint32_t stream_id,
                  std::string_view payload) {
  std::string frame = BigEndian32(static_cast<std::uint32_t>(payload.size())).substr(1);
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  return frame + BigEndian32(stream_id) + std::string(payload);
}

std::string HeaderBlock(const Headers& headers) {
  std::string block;
  for (const auto& [name, value] : headers)
    block.append(1, '\0')
        .append(Length(name.size()))
        .append(name)
        .append(Length(value.size()))
        .append(value);
  return block;
}

std::string Message(std::string_view bytes, std::uint8_t flags) {
  std::string message(1, static_cast<char>(flags));
  message.append(BigEndian32(static_cast<std::uint32_t>(bytes.size()))).append(bytes);
  return message;
}

Headers RequestHeaders(
    std::string_view path,
    const std::vector<std::pair<std::string, std::optional<std::string>>>& change) {
  Headers headers{{":method", "POST"},
                  {":scheme", "http"},
                  {":path", std::string(path)},
                  {":authority", "localhost"},
                  {"content-type", "application/grpc"},
                  {"te", "trailers"}};
  for (const auto& [name, value] : change) {
    const auto found =
        std::ranges::find(headers, name, [](const auto& each) { return each.first; });
    if (!value) {
      headers.erase(found);
    } else if (found != headers.end()) {
      found->second = *value;
    } else {
      headers.emplace_back(name, *value);
    }
  }
  return headers;
}

std::string OpenStream(std::uint32_t stream_id, std::string_view path) {
  return Frame(FrameType::kHeaders, kEndHeaders, stream_id, HeaderBlock(RequestHeaders(path)));
}

std::string UnaryCall(std::uint32_t stream_id, std::string_view path, std::string_view request) {
  return OpenStream(stream_id, path) +
         Frame(FrameType::kData, kEndStream, stream_id, Message(request));
}

std::string Handshake() { return std::string(kPreface) + Frame(FrameType::kSettings, 0, 0, ""); }

RawSocket::RawSocket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  KV_CHECK(fd_ >= 0, "no socket");
}

void RawSocket::Connect(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  KV_CHECK(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0,
           "cannot connect");
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const timeval limit{10, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

RawSocket::~RawSocket() {
  if (fd_ >= 0) close(fd_);
}

bool RawSocket::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void RawSocket::CloseWriting() { shutdown(fd_, SHUT_WR); }

void RawSocket::Abort() {
  const linger reset{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  close(std::exchange(fd_, -1));
}

std::string RawSocket::Receive() {
  std::array<char, 65536> buffer;
  const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
  return count <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(count));
}

std::string RawSocket::ReceiveAll() {
  std::string all;
  while (true) {
    const std::string some = Receive();
    if (some.empty()) return all;
    all += some;
  }
}

std::uint32_t Http2Client::ReceivedFrame::error_code() const {
  return Read32(std::string_view(payload).substr(type == FrameType::kGoAway ? 4 : 0));
}
std::uint32_t Http2Client::ReceivedFrame::last_stream_id() const { return Read32(payload); }
std::string Http2Client::ReceivedFrame::debug_data() const { return payload.substr(8); }

Http2Client::Http2Client(std::uint16_t port, std::string_view first_bytes) : socket_(port) {
  nghttp2_hd_inflate_new(&inflater_);
  Send(first_bytes.empty() ? Handshake() : std::string(first_bytes));
}

Http2Client::~Http2Client() { nghttp2_hd_inflate_del(inflater_); }

std::optional<std::uint32_t> Http2Client::Setting(std::uint16_t id) const {
  constexpr std::size_t kParameterBytes = 6;
  for (std::size_t at = 0; at + kParameterBytes <= settings_.size(); at += kParameterBytes) {
    const std::string_view parameter = std::string_view(settings_).substr(at, kParameterBytes);
    if (parameter.substr(0, 2) == std::string{static_cast<char>(id >> 8), static_cast<char>(id)})
      return Read32(parameter.substr(2));
  }
  return std::nullopt;
}

std::optional<Http2Client::ReceivedFrame> Http2Client::Next() {
  while (true) {
    while (buffer_.size() < kFrameHeadBytes ||
           buffer_.size() < kFrameHeadBytes + (Read32(buffer_) >> 8)) {
      const std::string some = socket_.Receive();
      if (some.empty()) return std::nullopt;
      buffer_ += some;
    }
    const std::size_t size_bytes = Read32(buffer_) >> 8;
    ReceivedFrame frame;
    frame.type = static_cast<FrameType>(buffer_[3]);
    frame.flags = static_cast<std::uint8_t>(buffer_[4]);
    frame.stream_id = Read32(std::string_view(buffer_).substr(5));
    frame.payload = buffer_.substr(kFrameHeadBytes, size_bytes);
    buffer_.erase(0, kFrameHeadBytes + size_bytes);
    if (frame.type == FrameType::kSettings) {
      if (settings_.empty()) settings_ = frame.payload;
      if ((frame.flags & kAck) == 0) Send(Frame(FrameType::kSettings, kAck, 0, ""));
      continue;
    }
    if (frame.type == FrameType::kWindowUpdate) continue;
    if (frame.type == FrameType::kHeaders) {
      const auto* in = reinterpret_cast<const std::uint8_t*>(frame.payload.data());
      std::size_t left = frame.payload.size();
      while (true) {
        nghttp2_nv header;
        int flags = 0;
        const auto used = nghttp2_hd_inflate_hd2(inflater_, &header, &flags, in, left, 1);
        KV_CHECK(used >= 0, "the server's header block is broken");
        in += used;
        left -= static_cast<std::size_t>(used);
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
          frame.headers.emplace_back(
              std::string(reinterpret_cast<const char*>(header.name), header.namelen),
              std::string(reinterpret_cast<const char*>(header.value), header.valuelen));
        }
        if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
      }
      nghttp2_hd_inflate_end_headers(inflater_);
    }
    return frame;
  }
}

std::optional<Http2Client::ReceivedFrame> Http2Client::NextOf(FrameType type) {
  while (auto frame = Next()) {
    if (frame->type == type) return frame;
  }
  return std::nullopt;
}

Http2Client::Outcome Http2Client::Await(std::uint32_t stream_id) {
  Outcome outcome;
  bool first = true;
  while (!outcome.ended) {
    const auto frame = Next();
    if (!frame) return outcome;
    if (frame->type == FrameType::kData && !frame->payload.empty()) {
      const std::string increment = BigEndian32(static_cast<std::uint32_t>(frame->payload.size()));
      Send(Frame(FrameType::kWindowUpdate, 0, 0, increment) +
           (frame->end_stream() ? std::string()
                                : Frame(FrameType::kWindowUpdate, 0, frame->stream_id, increment)));
    }
    if (frame->stream_id != stream_id) continue;
    if (frame->type == FrameType::kRstStream) {
      outcome.reset = frame->error_code();
      outcome.ended = true;
    }
    if (frame->type == FrameType::kData) outcome.message += frame->payload;
    for (const auto& [name, value] : frame->headers) {
      if (name == ":status") outcome.http_status = value;
      if (name == "grpc-status") outcome.grpc_status = value;
      if (name == "grpc-message") outcome.grpc_message = value;
    }
    if (frame->end_stream()) {
      outcome.ended = true;
      outcome.trailers_only = first;
    }
    first = false;
  }
  return outcome;
}

Http2Client::Outcome Http2Client::Call(std::uint32_t stream_id, const Headers& headers,
                                       std::string_view messages) {
  const bool empty = messages.empty();
  Send(Frame(FrameType::kHeaders, static_cast<std::uint8_t>(kEndHeaders | (empty ? kEndStream : 0)),
             stream_id, HeaderBlock(headers)));
  if (!empty) Send(Frame(FrameType::kData, kEndStream, stream_id, messages));
  return Await(stream_id);
}

bool Http2Client::Works(std::uint32_t stream_id) {
  const Outcome outcome = Call(stream_id, RequestHeaders("/test.Echo/Unary"), Message("works"));
  return outcome.grpc_status == "0" && outcome.message == Message("works");
}

}  // namespace kvorum::rpc
