// A server's settings: threads, bounds in bytes and numbers, time-outs, keepalive.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace kvorum {
class AnswerMemory;
}  // namespace kvorum

namespace kvorum::rpc {

struct Options {
  std::uint32_t loops = 1;  // I/O threads; connections are spread over them
  std::string thread_name = "io";

  // Larger messages are refused with ResourceExhausted.
  std::uint32_t max_receive_message_bytes = 2 * 1024 * 1024;
  // Larger answers are refused with ResourceExhausted.
  std::uint32_t max_send_message_bytes = INT32_MAX;
  // Per connection; further streams wait at the client. UINT32_MAX: no limit is announced.
  std::uint32_t max_concurrent_streams = UINT32_MAX;
  // At this number accepting pauses until a connection ends. 0: no limit.
  std::uint32_t max_connections = 0;
  // Open connections of one client address. The next is answered 429 with this text, and closed. 0:
  // no limit.
  std::uint32_t max_connections_per_address = 0;
  std::string too_many_connections_text = "too many connections\n";

  std::uint32_t max_header_list_bytes = 64 * 1024;
  std::uint32_t stream_window_bytes = 256 * 1024;
  std::uint32_t connection_window_bytes = 4 * 1024 * 1024;
  // The bound of one connection's request bytes that are received but not yet handed to a handler
  // (parts of messages, messages not read). Past it, the stream that needs more is refused.
  std::uint64_t max_buffered_request_bytes = 64 * 1024 * 1024;
  // The bound of one connection's answer bytes that its client has not read. Past it no further
  // request of the connection is started: requests wait (at most max_waiting_requests), then are
  // refused.
  std::uint64_t max_unsent_bytes = 16 * 1024 * 1024;
  std::uint32_t max_waiting_requests = 1024;
  // Counts the memory of answers, those that connections hold and those that are being made.
  // Outlives the server. Null: no bound.
  AnswerMemory* answers = nullptr;
  // Streams reset by the client before it got anything of their answer, within a second: a burst of
  // this size, refilled at this rate; past it GOAWAY.
  std::uint32_t reset_burst = 1000;
  std::uint32_t resets_per_second = 100;
  // Every frame of a client costs CPU, also one that brings nothing. A connection may send a burst
  // of frames of this size, refilled at this rate; so many more for each call and each message that
  // we send, and for each KiB of data in either direction; past it GOAWAY "too_many_frames".
  // Unmodified clients stay below a tenth (docs/decisions/0064-frames-that-bring-nothing.md).
  double frame_burst = 20'000;
  double frames_per_second = 1'000;
  double frames_per_message = 32;
  double frames_per_kib = 4;

  // A connection must show its protocol, and complete its first request head, within this time.
  std::chrono::milliseconds handshake_timeout{10'000};
  // TLS handshakes of one loop in progress at a time; the rest wait (HandshakeGate). Each must
  // complete within handshake_timeout, including the wait.
  std::uint32_t max_handshakes = 1024;
  // At that bound the one that began first makes room, once it has had this long.
  std::chrono::milliseconds handshake_patience{1'000};
  // Time for the head of each HTTP/1.1 request, from its first byte; for idle keep-alive; and for
  // its body.
  std::chrono::milliseconds http_header_timeout{300'000};
  std::chrono::milliseconds http_idle_timeout{300'000};
  std::chrono::milliseconds http_body_timeout{300'000};
  std::uint32_t http_max_header_bytes = 64 * 1024;
  std::uint64_t http_max_body_bytes = 8 * 1024 * 1024;
  // The text of 413 for a larger body, whose size is 0 if the head does not tell it. Null: the
  // status'.
  std::function<std::string(std::string_view method, std::string_view path, std::uint64_t bytes)>
      http_too_large_text = {};
  // True for requests whose handler reads the body while it comes: over HTTP/2, and over HTTP/1.1
  // from a client that waits for leave to send it ("Expect: 100-continue"). Null: none.
  std::function<bool(std::string_view method, std::string_view path)> reads_open_body = {};
  // False for requests whose handler looks at no body: over HTTP/1.1 a client that waits for leave
  // to send it gets the answer instead, and the connection ends. Null: all may.
  std::function<bool(std::string_view method, std::string_view path)> reads_body = {};

  // Keepalive like grpc-go's: clients may ping this often while they have streams, otherwise every
  // 2 h; at the third strike GOAWAY "too_many_pings".
  std::chrono::milliseconds min_client_ping_interval{5'000};
  bool permit_pings_without_streams = false;
  // The server pings a silent client after the interval, and closes the connection without an
  // answer in time.
  std::chrono::milliseconds ping_interval{std::chrono::hours(2)};
  std::chrono::milliseconds ping_timeout{20'000};
};

}  // namespace kvorum::rpc
