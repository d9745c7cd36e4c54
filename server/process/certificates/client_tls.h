// The client listeners that the flags ask for: the addresses, and TLS on which of them.
//
// Used by the main thread at the start. An error keeps the server from starting.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "base/net/url.h"
#include "rpc/tls/listen_options.h"
#include "rpc/tls/tls_context.h"
#include "server/process/settings/options.h"

namespace kvorum::server {

// One listening socket: a URL list may hold http and https for the same address.
struct ClientListener {
  Url url;
  bool secure = false;
  bool insecure = false;
  rpc::Traffic traffic = rpc::Traffic::kGrpcAndHttp;
};

// In the order of the lists, each address once. With addresses for HTTP the others are gRPC's.
Result<std::vector<ClientListener>> PlanClientListeners(const Options& options);

// Versions and cipher suites, which are the same for clients and members.
rpc::TlsOptions TlsLimits(const Options& options);

// Loads the TLS files for clients, also if no URL uses them, so that a wrong one is reported at the
// start. Null if there are none. With --auto-tls a missing certificate is made at `now_s`.
Result<std::shared_ptr<rpc::TlsContext>> OpenClientTls(FileSystem& fs, const Options& options,
                                                       std::int64_t now_s);

// Warns of flags without effect, and refuses https without a certificate.
Result<void> CheckClientUrls(const Options& options, const rpc::TlsContext* tls);

}  // namespace kvorum::server
