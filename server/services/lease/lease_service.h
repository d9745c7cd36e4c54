// The Lease service: grants and revocations go through the log; renewals and times to live are the
// primary's (LeaseAccess); the list is this member's own.
//
// Handlers may run on any I/O loop.
#pragma once

#include <memory>

#include "rpc/call/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"
#include "server/services/lease/lease_access.h"

namespace kvorum::server {

class MethodRegistrar;
class Proposer;

class LeaseService {
 public:
  // All outlive the service.
  LeaseService(Proposer& proposer, const Reads& reads, const LeaseAccess::Parts& parts)
      : proposer_(proposer), reads_(reads), leases_(parts.leases), access_(reads, parts) {}
  void Register(MethodRegistrar& methods);
  // For the peer port.
  LeaseAccess& access() { return access_; }

  void Grant(const rpc::CallContext& call, Received<LeaseGrantRequest> grant,
             Reply<LeaseGrantResult> reply);
  void Revoke(const rpc::CallContext& call, Received<lease::LeaseId> lease,
              Reply<LeaseRevokeResult> reply);
  void TimeToLive(const rpc::CallContext& call, Received<LeaseTimeToLiveRequest> asked,
                  Reply<LeaseTimeToLiveResponse> reply);
  void Leases(const rpc::CallContext& call, Received<EmptyMessage> request,
              Reply<std::vector<lease::LeaseId>> reply);
  void KeepAlive(std::shared_ptr<rpc::ServerStream> stream);

 private:
  void TellTimes(const rpc::Caller& caller, LeaseTimeToLiveResponse response,
                 Reply<LeaseTimeToLiveResponse> reply);

  Proposer& proposer_;
  const Reads& reads_;
  server::Leases& leases_;
  LeaseAccess access_;
};

}  // namespace kvorum::server
