// Tells a client whose request got no answer in time the possible reason: an election meanwhile, a
// connection that was lost, or neither.
//
// Threading: used by the raft executor only.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::raft {
class Node;
}  // namespace kvorum::raft

namespace kvorum::server {

class Transport;

class TimeoutCause {
 public:
  TimeoutCause(Duration request_timeout, Duration election_timeout)
      : request_timeout_(request_timeout), election_timeout_(election_timeout) {}

  // This member became the leader.
  void Elected(TimePoint now) { elected_ = now; }
  Error Explain(const raft::Node& node, const Transport& transport, TimePoint now) const;

 private:
  const Duration request_timeout_;
  const Duration election_timeout_;
  TimePoint elected_{};
};

}  // namespace kvorum::server
