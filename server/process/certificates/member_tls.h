// The TLS settings between members that the flags ask for: files loaded and checked, and
// certificates made for --peer-auto-tls.
//
// Used by the main thread at the start. An error keeps the server from starting; it reads like
// etcd's.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "base/file_system.h"
#include "server/peer/io/peer_tls.h"
#include "server/process/settings/options.h"

namespace kvorum::server {

// nullopt if no flag and no URL asks for TLS.
Result<std::optional<PeerTls>> OpenPeerTls(FileSystem& fs, const Options& options,
                                           std::int64_t now_s);

// True if a caller of one of our peer URLs has to show a certificate of the members' authority.
bool DoPeersShowCertificates(const Options& options);

}  // namespace kvorum::server
