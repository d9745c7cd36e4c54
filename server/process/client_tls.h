// What the flags ask of the client listeners: which addresses, and TLS on which.
//
// Used by the main thread at the start. Errors are what keeps the server from starting.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "base/url.h"
#include "rpc/tls_context.h"
#include "server/process/options.h"

namespace kvorum::server {

// One listening socket: a URL list may hold http and https for the same address.
struct ClientListener {
  Url url;
  bool secure = false;
  bool insecure = false;
};

// In the order of the list, each address once.
Result<std::vector<ClientListener>> PlanClientListeners(const Options& options);

// Versions and cipher suites, which are the same for clients and members.
rpc::TlsOptions TlsLimits(const Options& options);

// Loads the files of TLS for clients, also if no URL uses them: a wrong one is told at the start.
// Null if there are none.
// With --auto-tls a certificate is made at `now_s`, where there is none.
Result<std::shared_ptr<rpc::TlsContext>> OpenClientTls(FileSystem& fs, const Options& options,
                                                       std::int64_t now_s);

// Warns of flags without effect, and refuses https without a certificate.
Result<void> CheckClientUrls(const Options& options, const rpc::TlsContext* tls);

}  // namespace kvorum::server
