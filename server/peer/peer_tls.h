// What TLS between members needs beside the connections themselves.
#pragma once

#include <cstddef>
#include <memory>

#include "base/clock.h"
#include "rpc/tls_context.h"

namespace kvorum::server {

struct PeerTls {
  std::shared_ptr<rpc::TlsContext> context;
  // Whether the address that a member comes from must be one of those that its certificate names,
  // if it names any.
  bool checks_client_address = true;
  Duration handshake_timeout = std::chrono::seconds(10);
  // Of those who come to us, under way at a time: so many who have said nothing yet, and as many
  // who have; past it the oldest is given up.
  std::size_t max_handshakes = 512;
};

}  // namespace kvorum::server
