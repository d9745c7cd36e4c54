// gRPC's credentials of a client, for the connections of client/ and sync/. Internal to the two.
#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>

#include "base/error.h"
#include "client/client.h"

namespace kvorum::client {

// kFailedPrecondition as CheckTlsFiles says. The files are reread periodically, on a thread of
// gRPC's; each new connection uses the latest content.
Result<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsOptions& tls);

}  // namespace kvorum::client
