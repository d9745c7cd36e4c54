// The methods of the API that are registered and not served yet, so that a client is told so by the
// service itself.
#pragma once

#include "rpc/service.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// Each answers UNIMPLEMENTED.
void RegisterUnimplemented(rpc::Router& router, ServiceContext& context);

}  // namespace kvorum::server
