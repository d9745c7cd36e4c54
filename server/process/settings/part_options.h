// The flags, translated into the options of the process's parts.
#pragma once

#include <cstddef>
#include <optional>

#include "archive/ship/archiver.h"
#include "archive/store/open_store.h"
#include "datadir/data_directory.h"
#include "rpc/server/server.h"
#include "server/call/service_limits.h"
#include "server/integrity/integrity.h"
#include "server/peer/transport/peer_transport.h"
#include "server/process/settings/options.h"
#include "server/replica/recovery/local_member_options.h"
#include "server/replica/upkeep/auto_defragment.h"
#include "server/services/maintenance/http_access.h"
#include "server/tracing/tracing.h"
#include "watch/hub.h"

namespace kvorum::server {

// A peer that does not answer within it counts as down.
inline constexpr Duration kPeerDialTimeout = std::chrono::seconds(1);

std::size_t AnswerMemoryBytes(const Options& options);
// The size of a request's message, as gRPC has it and as the gateway makes it from JSON.
std::uint32_t MaxMessageBytes(const Options& options);
rpc::PortUse PortUseOf(const Options& options);
rpc::Options ClientServerOptions(const Options& options, AnswerMemory& answers);
LocalMemberOptions MakeLocalMemberOptions(const Options& options,
                                          const datadir::DataDirectory& directory);
// The address that connections to members come from, by the feature gate SetMemberLocalAddr: the
// first advertised one that is an interface's; empty: the system chooses.
std::string NearAddress(const Options& options);
PeerTransport::Options MakeTransportOptions(const Options& options,
                                            const std::optional<PeerTls>& tls);
AutoDefragment::Options AutoDefragmentOptions(const Options& options);
watch::HubOptions MakeHubOptions(const Options& options);
HttpAccess MakeHttpAccess(const Options& options);
ServiceLimits LimitsOf(const Options& options);
IntegrityOptions MakeIntegrityOptions(const Options& options);
tracing::TracingOptions TracingOptionsOf(const Options& options);
archive::StoreSettings ArchiveStoreOf(const Options& options);
archive::ArchiverOptions ArchiverOptionsOf(const Options& options);

}  // namespace kvorum::server
