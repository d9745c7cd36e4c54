// What the peer port answers beside the peer protocol (server/peer/): GET /version and GET
// /members.
#pragma once

#include "rpc/http.h"
#include "server/service_context.h"

namespace kvorum::server {

// The context outlives the handler.
rpc::HttpHandler MakePeerHttpHandler(ServiceContext& context);

}  // namespace kvorum::server
