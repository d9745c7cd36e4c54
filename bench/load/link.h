// The bytes of one client connection: a socket, plain or under TLS.
//
// Used by one thread. Connecting waits; afterwards Send and Receive never do.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/error.h"

struct ssl_ctx_st;
struct ssl_st;

namespace kvorum::bench {

// Paths of PEM files. Without an authority connections are plain.
struct TlsFiles {
  std::string authority;
  std::string certificate;  // the client's own; empty: none
  std::string key;
};

// A run has one for all of its connections; null for plain ones.
using TlsContext = std::shared_ptr<ssl_ctx_st>;
Result<TlsContext> MakeTlsContext(const TlsFiles& files);

class Link {
 public:
  // To "host:port", which the server's certificate must name.
  static Result<Link> Connect(const std::string& endpoint, const TlsContext& tls);
  Link(Link&& other) noexcept;
  Link& operator=(Link&&) = delete;
  ~Link();

  int fd() const { return fd_; }
  bool is_encrypted() const { return ssl_ != nullptr; }
  // Like send and recv: the number of bytes, 0 at the end of what is received, or -1 with errno,
  // EAGAIN if it would have to wait.
  ssize_t Send(const char* data, std::size_t size_bytes);
  ssize_t Receive(char* data, std::size_t size_bytes);
  // True if received bytes are already off the socket.
  bool has_more() const;

 private:
  explicit Link(int fd) : fd_(fd) {}
  Result<void> ShakeHands(const TlsContext& tls, const std::string& host);
  // Sets errno for what OpenSSL returned.
  ssize_t Outcome(int returned);

  int fd_;
  ssl_st* ssl_ = nullptr;
};

}  // namespace kvorum::bench
