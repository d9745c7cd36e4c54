// A leader's answers on its peer port to members that ask about leases for their clients: POST
// /leases renews one, POST /leases/internal returns its time to live.
#pragma once

#include "rpc/http/http.h"
#include "server/services/lease/lease_access.h"

namespace kvorum::server {

// `access` outlives the mux.
void HandleLeases(rpc::HttpMux& mux, LeaseAccess& access);

}  // namespace kvorum::server
