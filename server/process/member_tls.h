// What the flags ask of connections between members: files loaded and checked, and certificates
// made where --peer-auto-tls wants it.
//
// Used by the main thread at the start. Errors are what keeps the server from starting; they read
// like etcd's.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "base/file_system.h"
#include "server/peer/peer_tls.h"
#include "server/process/options.h"

namespace kvorum::server {

// Nothing if no flag and no URL asks for it.
Result<std::optional<PeerTls>> OpenPeerTls(FileSystem& fs, const Options& options,
                                           std::int64_t now_s);

}  // namespace kvorum::server
