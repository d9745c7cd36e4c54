// Checks whether apply can handle an entry that a peer wants in our log: one that it forwards to us
// as the leader, or that it sends us as the leader. Apply has no way to refuse: an entry that it
// cannot read ends every replica, at every start. So an entry from outside is decoded before it is
// proposed, and before it is in the log.
#pragma once

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// Ok for entries that apply accepts: of kinds that this version knows, well-formed, and within the
// rules that each member checks for its own clients (except limits that are flags). Pure; costs one
// decode without copies of keys and values.
Result<void> CheckPeersEntry(const raft::Entry& entry);

}  // namespace kvorum::server
