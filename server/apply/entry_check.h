// Whether apply can take an entry that a peer would have us put into the log: one that it forwards
// to us as the leader, and one that it sends us as the leader. Apply has no way to refuse: an entry
// that it cannot read ends every replica, at every start. So an entry from outside is read before
// it is proposed, and before it is in the log.
#pragma once

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// Ok for entries that apply takes: of kinds that this version knows, well-formed, and within the
// rules that each member checks for its own clients (but for limits that are flags). Pure; costs
// one decode without copies of keys and values.
Result<void> CheckPeersEntry(const raft::Entry& entry);

}  // namespace kvorum::server
