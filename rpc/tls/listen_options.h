// The settings of one listener: its encryption, the protocols that it serves, the use of its port.
#pragma once

#include <cstdint>
#include <memory>

#include "rpc/tls/tls_listen.h"

namespace kvorum::rpc {

enum class Traffic : std::uint8_t {
  kGrpcAndHttp,
  kGrpc,  // requests of any other kind are refused as by a server that knows nothing else
  kHttp,  // gRPC's requests are treated like others; in plain text there is only HTTP/1.1
};

enum class PortUse : std::uint8_t {
  kAlone,
  kShared,  // other sockets that say so may listen on the same port (SO_REUSEPORT)
};

struct ListenOptions {
  std::shared_ptr<const TlsListen> tls;  // null: plain text
  Traffic traffic = Traffic::kGrpcAndHttp;
  PortUse port_use = PortUse::kAlone;  // no effect on unix sockets
};

}  // namespace kvorum::rpc
