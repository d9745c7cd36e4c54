// A request in the log, with its place there.
#pragma once

#include "api/entries/internal_request.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// Views point into the log entry's data.
struct CommittedRequest : InternalRequest {
  raft::Index index = 0;
  raft::Term term = 0;
};

}  // namespace kvorum::server
