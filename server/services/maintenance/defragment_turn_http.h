// Both ends of a follower's question to its leader for the cluster's turn to defragment
// (server/replica/upkeep/defragment_turns.h): POST /kvorum/defragment/<begin, renew or
// end>/<member> on the leader's peer port. 200 is yes; everything else is no, so that under an etcd
// leader no member defragments automatically.
#pragma once

#include "rpc/http/http.h"
#include "server/peer/transport/peer_request.h"
#include "server/replica/upkeep/defragment_turns.h"

namespace kvorum::server {

struct ClusterFacts;

// The leader's end.
void HandleDefragmentTurns(rpc::HttpMux& mux, const ClusterFacts& cluster, DefragmentTurns& turns);

// Asks the leader, which may be this member, in which case nothing is sent. Blocks for at most a
// few seconds. False without a leader.
bool AskForDefragmentTurn(PeerRequester& peers, const ClusterFacts& cluster, DefragmentTurns& turns,
                          DefragmentTurns::Request request);

}  // namespace kvorum::server
