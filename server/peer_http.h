// What the peer port answers beside the peer protocol (server/peer/): GET /version, GET /members,
// POST /members/promote/<id>, and what lease_http.h has.
#pragma once

#include "rpc/http.h"
#include "server/cluster_service.h"
#include "server/lease_access.h"
#include "server/service_context.h"

namespace kvorum::server {

// All outlive the handler.
rpc::HttpHandler MakePeerHttpHandler(ServiceContext& context, ClusterService& cluster,
                                     LeaseAccess& leases);

}  // namespace kvorum::server
