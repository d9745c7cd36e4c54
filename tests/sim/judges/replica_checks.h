// One simulated process's check of its copy of the keys, its quarantine and its re-seeding, as
// production has them; and its answers to the other members' questions about them.
//
// Belongs to the process's integrity lane. Destroyed when the lanes have ended.
#pragma once

#include <functional>
#include <string_view>

#include "server/call/quarantine.h"
#include "server/call/service_parts.h"
#include "server/integrity/replica_check.h"
#include "server/services/maintenance/reseed.h"

namespace kvorum::sim {

class Machine;

class ReplicaChecks {
 public:
  // Starts the check.
  ReplicaChecks(Machine& machine, server::ServiceParts& parts, server::Quarantine& quarantine);

  bool is_out() const { return quarantine_.stands(); }
  // Does as kvorumctl's member reseed asks.
  void Reseed(std::function<void(Result<void>)> done);
  // At the peer port; 404 for other paths.
  server::PeerAnswer Serve(std::string_view path);

 private:
  Machine& machine_;
  server::ServiceParts& parts_;
  server::Quarantine& quarantine_;
  server::ReplicaCheck check_;
  server::Reseeder reseeder_;
};

}  // namespace kvorum::sim
