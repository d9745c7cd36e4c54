// The methods of the API that are registered but not served yet, so that the service itself tells
// the client.
#pragma once

#include "rpc/service.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// Each answers UNIMPLEMENTED.
void RegisterUnimplemented(rpc::Router& router, ServiceContext& context);

}  // namespace kvorum::server
