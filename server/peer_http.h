// What the peer port answers: GET /version and GET /members. The peer protocol itself comes with
// clusters of several members.
#pragma once

#include "rpc/http.h"
#include "server/service_context.h"

namespace kvorum::server {

// The context outlives the handler.
rpc::HttpHandler MakePeerHttpHandler(ServiceContext& context);

}  // namespace kvorum::server
