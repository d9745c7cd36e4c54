// The server: gRPC over HTTP/2 and HTTP/1.1 on one port, distinguished by ALPN under TLS and
// otherwise by the first bytes. A port serves plain text, TLS, or both, and on request only one of
// the two protocols.
//
// Create it, Listen, add batch hooks to its loops, Start. Shutdown and the destructor end it;
// answers that other threads give afterwards are dropped. Public functions are called by one owner
// thread, except stats(), which is thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "rpc/answer_memory.h"
#include "rpc/http.h"
#include "rpc/listen_options.h"
#include "rpc/loop.h"
#include "rpc/service.h"

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
  // The memory of answers, of all connections and of their makers; outlives the server. Null: no
  // bound.
  AnswerMemory* answers = nullptr;
  // Streams reset by the client before it got anything of their answer, within a second: a burst of
  // this size, refilled at this rate; past it GOAWAY.
  std::uint32_t reset_burst = 1000;
  std::uint32_t resets_per_second = 100;

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

// Sums over all connections since the start.
struct Stats {
  std::uint64_t accepted_connections = 0;
  std::uint64_t open_connections = 0;
  std::uint64_t cut_connections = 0;  // that held answers and did not read them
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t accept_failures = 0;  // out of descriptors or memory: accepting paused and resumed
  std::uint64_t tls_handshakes = 0;   // successful ones
  std::array<std::uint64_t, kTlsFailureKinds> tls_failures{};  // by TlsFailure
};

class Server {
 public:
  Server(Options options, Router router, HttpHandler http);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Binds and listens; returns the address with the actual port ("127.0.0.1:2379"). `localhost` is
  // IPv4 first, as in Go; an empty host or 0.0.0.0 means every address. Errors read like Go's:
  // "listen tcp 127.0.0.1:2379: bind: address already in use".
  Result<std::string> Listen(const std::string& host, std::uint16_t port, ListenOptions how = {});
  // Replaces a socket left at the path by an earlier process; the path is removed at the end.
  Result<std::string> ListenUnix(const std::string& path, ListenOptions how = {});

  // Read-only, for who calls its methods in another way.
  const Router& router() const;

  std::size_t loop_count() const;
  Loop& loop(std::size_t i);

  // Starts the threads; connections are accepted from here on, also on later listeners.
  void Start();

  // Stops accepting, tells clients to go away, lets calls in flight finish for at most `grace`,
  // then cancels the rest (their clients get Unavailable) and closes. Returns when everything is
  // closed.
  void Shutdown(std::chrono::milliseconds grace);

  Stats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::rpc
