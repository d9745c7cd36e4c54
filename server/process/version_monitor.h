// The leader's watch over the cluster version: asks the members what they are, proposes what all
// can take part in, and raises it when that changes.
//
// Runs on the executor, which it keeps busy while peers are asked (`timeout` at most). The owner
// stops the executor, then destroys the monitor.
#pragma once

#include "base/executor.h"
#include "server/call/service_context.h"
#include "server/peer/peer_request.h"

namespace kvorum::server {

class VersionMonitor {
 public:
  VersionMonitor(Executor& executor, PeerRequester& peers, ServiceContext& context,
                 Duration timeout);
  // Looks now, and from now on again and again.
  void Start();

 private:
  void Look();
  void LookLater();

  Executor& executor_;
  PeerRequester& peers_;
  ServiceContext& context_;
  const Duration timeout_;
};

}  // namespace kvorum::server
