// The peer port's answers outside of the peer protocol (server/peer/): GET /version, GET /members,
// GET /downgrade/enabled, POST /members/promote/<id>, and those of lease_http.h, hash_http.h and
// defragment_turn_http.h.
#pragma once

#include "rpc/http/http.h"
#include "server/services/cluster/cluster_service.h"
#include "server/services/lease/lease_access.h"

namespace kvorum::server {

class DefragmentTurns;
class Proposer;
class Quarantine;
struct Reads;

// All outlive the routes.
struct PeerHttpParts {
  Proposer& proposer;
  const Reads& reads;
  const Quarantine& quarantine;
  ClusterService& cluster;
  LeaseAccess& leases;
  DefragmentTurns& turns;
};
// The parts outlive the routes.
rpc::HttpMux PeerRoutes(const PeerHttpParts& parts);
rpc::HttpHandler MakePeerHttpHandler(const PeerHttpParts& parts);

}  // namespace kvorum::server
