// The leader's monitor of the cluster version: asks the members for their versions, proposes the
// highest that all support, and raises it when that changes.
//
// Runs on the executor, which it blocks while it asks peers (at most for `timeout`). The owner
// stops the executor, then destroys the monitor.
#pragma once

#include "base/task.h"
#include "server/peer/transport/peer_request.h"

namespace kvorum::server {

class Proposer;

class VersionMonitor {
 public:
  VersionMonitor(Executor& executor, PeerRequester& peers, Proposer& proposer, Duration timeout);
  // Checks now, and periodically from now on.
  void Start();

 private:
  void Look();
  void LookLater();

  Executor& executor_;
  PeerRequester& peers_;
  Proposer& proposer_;
  const Duration timeout_;
};

}  // namespace kvorum::server
