// A client that sends exactly the bytes it is given: HTTP/2 frames built by hand over a blocking
// socket, for input that a well-behaved library would never send.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct nghttp2_hd_inflater;

namespace kvorum::rpc {

enum class FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};

inline constexpr std::uint8_t kEndStream = 1;
inline constexpr std::uint8_t kAck = 1;
inline constexpr std::uint8_t kEndHeaders = 4;
inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// RFC 7540, section 7.
inline constexpr std::uint32_t kNoError = 0;
inline constexpr std::uint32_t kProtocolError = 1;
inline constexpr std::uint32_t kFlowControlError = 3;
inline constexpr std::uint32_t kStreamClosed = 5;
inline constexpr std::uint32_t kFrameSizeError = 6;
inline constexpr std::uint32_t kRefusedStream = 7;
inline constexpr std::uint32_t kCancel = 8;
inline constexpr std::uint32_t kEnhanceYourCalm = 11;

using Headers = std::vector<std::pair<std::string, std::string>>;

std::string BigEndian32(std::uint32_t value);
std::string Frame(FrameType type, std::uint8_t flags, std::uint32_t stream_id,
                  std::string_view payload);
// Literals without indexing, not Huffman-coded.
std::string HeaderBlock(const Headers& headers);
// A gRPC message with its prefix.
std::string Message(std::string_view bytes, std::uint8_t flags = 0);
// A gRPC client's headers for this path; `change` replaces values by name or adds headers; an empty
// optional drops one.
Headers RequestHeaders(
    std::string_view path,
    const std::vector<std::pair<std::string, std::optional<std::string>>>& change = {});
// The frame that begins a call.
std::string OpenStream(std::uint32_t stream_id, std::string_view path);
// The frames of one unary call.
std::string UnaryCall(std::uint32_t stream_id, std::string_view path, std::string_view request);
// Preface and empty SETTINGS.
std::string Handshake();

class RawSocket {
 public:
  explicit RawSocket(std::uint16_t port) : RawSocket() { Connect(port); }
  RawSocket();  // has its descriptor, and is not connected
  ~RawSocket();
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  void Connect(std::uint16_t port);
  // False if the server closed the connection meanwhile.
  bool Send(std::string_view bytes);
  void CloseWriting();
  // Close so that the server gets a reset.
  void Abort();
  // Some bytes; empty at the end of the connection (or after ten seconds).
  std::string Receive();
  // Up to the end of the connection.
  std::string ReceiveAll();
  int fd() const { return fd_; }

 private:
  int fd_;
};

class Http2Client {
 public:
  struct ReceivedFrame {
    FrameType type = FrameType::kData;
    std::uint8_t flags = 0;
    std::uint32_t stream_id = 0;
    std::string payload;
    Headers headers;  // of a HEADERS frame
    bool end_stream() const {
      return (flags & kEndStream) != 0 && (type == FrameType::kData || type == FrameType::kHeaders);
    }
    // For RST_STREAM and GOAWAY.
    std::uint32_t error_code() const;
    // For GOAWAY.
    std::uint32_t last_stream_id() const;
    std::string debug_data() const;
  };
  // The outcome of one stream.
  struct Outcome {
    std::string http_status;
    std::string message;  // all DATA, prefixes included
    std::string grpc_status;
    std::string grpc_message;
    std::optional<std::uint32_t> reset;  // RST_STREAM's code
    bool trailers_only = false;
    bool ended = false;
  };

  // Sends Handshake() by default.
  explicit Http2Client(std::uint16_t port, std::string_view first_bytes = {});
  ~Http2Client();

  RawSocket& socket() { return socket_; }
  bool Send(std::string_view bytes) { return socket_.Send(bytes); }
  // The next frame except SETTINGS (acknowledged) and WINDOW_UPDATE; nothing at the connection's
  // end.
  std::optional<ReceivedFrame> Next();
  // The next frame of the type, others are skipped.
  std::optional<ReceivedFrame> NextOf(FrameType type);
  // Reads on until the stream has ended, giving windows back.
  Outcome Await(std::uint32_t stream_id);
  // Sends the headers (END_STREAM if there are no messages), the messages, and waits.
  Outcome Call(std::uint32_t stream_id, const Headers& headers, std::string_view messages);
  // The value of a parameter in the server's first SETTINGS; nothing before they have come.
  std::optional<std::uint32_t> Setting(std::uint16_t id) const;
  // True if a good call on this connection is answered.
  bool Works(std::uint32_t stream_id);

 private:
  RawSocket socket_;
  nghttp2_hd_inflater* inflater_ = nullptr;
  std::string buffer_;
  std::string block_;
  std::string settings_;
};

}  // namespace kvorum::rpc
