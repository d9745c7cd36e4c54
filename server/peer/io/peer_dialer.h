// Makes connections to other members: plain or under TLS, by the URL's scheme.
//
// Dial belongs to the loop's thread, and so does its callback; handshakes run on the thread of
// another loop (or of the same). Destroyed once both loops have ended, before the loops are.
#pragma once

#include <memory>
#include <string>

#include "server/peer/io/peer_loop.h"
#include "server/peer/io/peer_socket.h"
#include "server/peer/io/peer_tls.h"
#include "server/peer/io/tls_handshakes.h"

namespace kvorum::server {

class PeerDialer {
 public:
  // Without `tls`, URLs that ask for it are refused. `near_address`: see ConnectPeer.
  PeerDialer(PeerLoop& loop, PeerLoop& handshake_loop, const PeerTls* tls,
             std::string near_address = {});

  // The time-out is for connecting; the handshake has its own. The other end has then shown a
  // certificate that is valid for the URL's host.
  void Dial(const Url& url, Duration timeout, DialDone done);
  // Drops the handshakes in progress. On the handshakes' thread.
  void Close() { handshakes_.Close(); }
  PeerLoop& loop() { return loop_; }

 private:
  void DialTls(const Url& url, Duration timeout, DialDone done);

  PeerLoop& loop_;
  PeerLoop& handshake_loop_;
  const std::string near_address_;
  const std::shared_ptr<rpc::TlsContext> tls_;
  TlsHandshakes handshakes_;
};

}  // namespace kvorum::server
