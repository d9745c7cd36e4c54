// What the peer port answers beside the peer protocol (server/peer/): GET /version and GET
// /members.
#pragma once

#include "rpc/http.h"
#include "server/cluster_service.h"
#include "server/service_context.h"

namespace kvorum::server {

// Both outlive the handler.
rpc::HttpHandler MakePeerHttpHandler(ServiceContext& context, ClusterService& cluster);

}  // namespace kvorum::server
