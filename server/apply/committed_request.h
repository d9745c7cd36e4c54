// A request in the log, with its place there.
#pragma once

#include "proto/raft_types.h"
#include "server/messages/internal_request.h"

namespace kvorum::server {

// Views point into the log entry's data.
struct CommittedRequest : InternalRequest {
  raft::Index index = 0;
  raft::Term term = 0;
};

}  // namespace kvorum::server
