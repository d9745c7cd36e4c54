// Maintenance.Downgrade: asks if the cluster's version may go down by one minor version, begins
// that, or takes it back. The leader's VersionMonitor then lowers the version, so that members of
// that version may join.
//
// Transport-free, called on any I/O loop.
#pragma once

#include <optional>
#include <string>

#include "api/downgrade.h"
#include "rpc/call/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"
#include "server/replica/upkeep/cluster_version.h"

namespace kvorum::server {

class MethodRegistrar;
class Proposer;
struct Reads;

class DowngradeService {
 public:
  // Both outlive the service.
  DowngradeService(Proposer& proposer, const Reads& reads) : proposer_(proposer), reads_(reads) {}
  void Register(MethodRegistrar& methods);

  void Downgrade(const rpc::CallContext& call, Received<DowngradeRequest> request,
                 Reply<std::string> reply);

 private:
  // The change to make, if any, in the state of now.
  Result<std::optional<DowngradeInfo>> Decide(DowngradeAction action, Version target) const;
  void Change(rpc::Loop* loop, const DowngradeInfo& to, Reply<std::string> reply);
  void Answer(Reply<std::string>& reply) const;

  Proposer& proposer_;
  const Reads& reads_;
};

}  // namespace kvorum::server
