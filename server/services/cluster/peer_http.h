// The peer port's answers outside of the peer protocol (server/peer/): GET /version, GET /members,
// GET /downgrade/enabled, POST /members/promote/<id>, and those of lease_http.h, hash_http.h and
// defragment_turn_http.h.
#pragma once

#include "rpc/http/http.h"
#include "server/call/service_context.h"
#include "server/services/cluster/cluster_service.h"
#include "server/services/lease/lease_access.h"

namespace kvorum::server {

class DefragmentTurns;

// All outlive the routes.
rpc::HttpMux PeerRoutes(ServiceContext& context, ClusterService& cluster, LeaseAccess& leases,
                        DefragmentTurns& turns);
rpc::HttpHandler MakePeerHttpHandler(ServiceContext& context, ClusterService& cluster,
                                     LeaseAccess& leases, DefragmentTurns& turns);

}  // namespace kvorum::server
