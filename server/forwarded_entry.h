// What a peer may forward to be put into the log. Apply has no way to refuse: an entry that it
// cannot read ends every replica, at every start. So an entry from outside is read before it is
// proposed.
#pragma once

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// Ok for entries that apply takes: of kinds that this version knows, well-formed, and within the
// rules that each member checks for its own clients (but for limits that are flags). Pure; costs
// one decode.
Result<void> CheckForwardedEntry(const raft::Entry& entry);

}  // namespace kvorum::server
