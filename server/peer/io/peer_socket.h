// One connection between two members: bytes in, bytes out. This is the plain kind and the only code
// that knows Asio's sockets; TLS is a second kind behind the same interface (tls_socket.h). Two
// places decide which of them a URL means: PeerDialer and PeerTransport::Bind.
//
// Used on the loop's thread. A callback comes later, never from within the call that requested it;
// after Close, or when the socket is destroyed, outstanding operations fail. Buffers live until
// their callback. At most one read and one write at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/net/url.h"
#include "base/shared_bytes.h"
#include "rpc/tls/listen_options.h"
#include "server/peer/io/peer_loop.h"

namespace kvorum::server {

class PeerSocket {
 public:
  using Done = std::move_only_function<void(Result<std::size_t> bytes)>;

  virtual ~PeerSocket() = default;
  // Reads at least one byte; the end of the stream is an error (IsEndOfStream), if the other end
  // has announced it.
  virtual void Read(std::span<char> buffer, Done done) = 0;
  // Writes the whole chain, by gathering writes without copying.
  virtual void Write(ByteChain chain, Done done) = 0;
  virtual void Close() = 0;
  // Data that the other end does not take for this long breaks the connection; 5 s by default.
  virtual void SetPatience(Duration limit) = 0;
  // Nothing more is sent; the other end's bytes can still be read.
  virtual void CloseWriting() = 0;
  // The same connection as a socket of another loop's thread. Nothing may be outstanding; this
  // object is unusable afterwards.
  virtual std::unique_ptr<PeerSocket> MoveTo(PeerLoop& loop) = 0;
  virtual std::string PeerAddress() const = 0;
};

inline constexpr std::string_view kEndOfStream = "End of file";
inline bool IsEndOfStream(const Error& error) { return error.message == kEndOfStream; }

using DialDone = std::move_only_function<void(Result<std::unique_ptr<PeerSocket>> socket)>;
// Resolves the URL's host (on a separate thread) and connects; its scheme is ignored.
// `near_address` is an IP address of this machine to connect from, and then only addresses of its
// family count; empty: the system chooses.
void ConnectPeer(PeerLoop& loop, const Url& url, const std::string& near_address, Duration timeout,
                 DialDone done);

// Listening sockets. Bind them before Start; the callback gets connections accepted from then on.
// When descriptors run out, accepting pauses and resumes.
class PeerListener {
 public:
  using Accepted = std::function<void(std::unique_ptr<PeerSocket> socket)>;

  // `address` becomes the address with the actual port. Errors read like Go's.
  static Result<std::unique_ptr<PeerListener>> Bind(PeerLoop& loop, const Url& url,
                                                    rpc::PortUse use = rpc::PortUse::kAlone);
  virtual ~PeerListener() = default;
  // Connections are refused until Listen; later ones wait for Start.
  virtual Result<void> Listen() = 0;
  virtual void Start(Accepted accepted) = 0;
  // On the loop's thread, or once that has ended.
  virtual void Close() = 0;
  virtual const std::string& address() const = 0;
};

}  // namespace kvorum::server
