// The settings of TLS between members, apart from the connections themselves.
#pragma once

#include <cstddef>
#include <memory>

#include "base/clock.h"
#include "rpc/tls/tls_context.h"

namespace kvorum::server {

struct PeerTls {
  std::shared_ptr<rpc::TlsContext> context;
  // True: a member's address must be one of those that its certificate names, if it names any.
  bool checks_client_address = true;
  Duration handshake_timeout = std::chrono::seconds(10);
  // The bound of incoming handshakes in progress: so many whose other end has sent nothing yet, and
  // as many whose has; past it the oldest is given up.
  std::size_t max_handshakes = 512;
};

}  // namespace kvorum::server
