// Connections to other members: plain or under TLS, as the URL's scheme has it.
//
// Dial is of the loop's thread, and so is its callback; handshakes are made on the thread of
// another loop (or of the same). Destroyed once both loops have ended, before the loops are.
#pragma once

#include <memory>

#include "server/peer/peer_loop.h"
#include "server/peer/peer_socket.h"
#include "server/peer/peer_tls.h"
#include "server/peer/tls_handshakes.h"

namespace kvorum::server {

class PeerDialer {
 public:
  // Without `tls`, URLs that ask for it are refused.
  PeerDialer(PeerLoop& loop, PeerLoop& handshake_loop, const PeerTls* tls);

  // The time is for connecting; the handshake has its own. The other end has shown a certificate
  // that is good for the URL's host.
  void Dial(const Url& url, Duration timeout, DialDone done);
  // Drops the handshakes under way. On the handshakes' thread.
  void Close() { handshakes_.Close(); }
  PeerLoop& loop() { return loop_; }

 private:
  void DialTls(const Url& url, Duration timeout, DialDone done);

  PeerLoop& loop_;
  PeerLoop& handshake_loop_;
  const std::shared_ptr<rpc::TlsContext> tls_;
  TlsHandshakes handshakes_;
};

}  // namespace kvorum::server
