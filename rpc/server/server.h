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
#include "rpc/call/service.h"
#include "rpc/http/http.h"
#include "rpc/io/loop.h"
#include "rpc/session/options.h"
#include "rpc/tls/listen_options.h"

namespace kvorum::rpc {

// Sums over all connections since the start.
struct Stats {
  std::uint64_t accepted_connections = 0;
  std::uint64_t open_connections = 0;
  std::uint64_t refused_connections = 0;  // of an address that had too many
  std::uint64_t cut_connections = 0;      // that held answers and did not read them
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t accept_failures = 0;  // out of descriptors or memory: accepting paused and resumed
  std::uint64_t tls_handshakes = 0;   // successful ones
  std::array<std::uint64_t, kTlsFailureKinds> tls_failures{};  // by TlsFailure
};

class Server {
 public:
  // Ports can be bound before there is anything to serve; SetHandlers comes before Start then.
  explicit Server(Options options);
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

  void SetHandlers(Router router, HttpHandler http);

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
