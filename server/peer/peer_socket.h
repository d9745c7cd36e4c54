// One connection between two members: bytes in, bytes out. What is here is plain and the one place
// that knows Asio's sockets; TLS is a second kind behind the same calls (tls_socket.h). Which of
// them a URL means is decided in two places: PeerDialer and PeerTransport::Bind.
//
// Of the loop's thread. A callback comes later, never from inside the call that asked for it; after
// Close, or when the socket is destroyed, what is outstanding fails. Buffers live until their
// callback. At most one read and one write at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "base/url.h"
#include "server/peer/peer_loop.h"

namespace kvorum::server {

class PeerSocket {
 public:
  using Done = std::move_only_function<void(Result<std::size_t> bytes)>;

  virtual ~PeerSocket() = default;
  // At least one byte; the end of the stream is an error (IsEndOfStream), if the other end has
  // announced it.
  virtual void Read(std::span<char> buffer, Done done) = 0;
  // All of the chain, by gathering writes without copying.
  virtual void Write(ByteChain chain, Done done) = 0;
  virtual void Close() = 0;
  // Nothing more is sent; what the other end still sends can be read.
  virtual void CloseWriting() = 0;
  // The same connection as a socket of another loop's thread. Nothing may be outstanding; this one
  // is of no use afterwards.
  virtual std::unique_ptr<PeerSocket> MoveTo(PeerLoop& loop) = 0;
  virtual std::string PeerAddress() const = 0;
};

inline constexpr std::string_view kEndOfStream = "End of file";
inline bool IsEndOfStream(const Error& error) { return error.message == kEndOfStream; }

using DialDone = std::move_only_function<void(Result<std::unique_ptr<PeerSocket>> socket)>;
// Resolves the URL's host (on a thread of its own) and connects; its scheme is not looked at.
void ConnectPeer(PeerLoop& loop, const Url& url, Duration timeout, DialDone done);

// Listening sockets. Bind them before Start; the callback gets what is accepted from then on. When
// descriptors run out, accepting pauses and goes on.
class PeerListener {
 public:
  using Accepted = std::function<void(std::unique_ptr<PeerSocket> socket)>;

  // `address` becomes the address with the port that was given. Errors read like Go's.
  static Result<std::unique_ptr<PeerListener>> Bind(PeerLoop& loop, const Url& url);
  virtual ~PeerListener() = default;
  // Connections are refused until Listen; those from then on wait for Start.
  virtual Result<void> Listen() = 0;
  virtual void Start(Accepted accepted) = 0;
  // On the loop's thread, or once that has ended.
  virtual void Close() = 0;
  virtual const std::string& address() const = 0;
};

}  // namespace kvorum::server
