// What the peer port answers beside the peer protocol (server/peer/): GET /version, GET /members,
// POST /members/promote/<id>, and what lease_http.h has.
#pragma once

#include "rpc/http.h"
#include "server/call/service_context.h"
#include "server/services/cluster_service.h"
#include "server/services/lease_access.h"

namespace kvorum::server {

// All outlive the handler.
rpc::HttpHandler MakePeerHttpHandler(ServiceContext& context, ClusterService& cluster,
                                     LeaseAccess& leases);

}  // namespace kvorum::server
