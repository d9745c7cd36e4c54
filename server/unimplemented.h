// The methods of the API that are registered and not served yet, so that a client is told so by the
// service itself.
#pragma once

#include "rpc/service.h"

namespace kvorum::server {

// Each answers UNIMPLEMENTED.
void RegisterUnimplemented(rpc::Router& router);

}  // namespace kvorum::server
