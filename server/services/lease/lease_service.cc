#include "server/services/lease/lease_service.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "api/lease_messages.h"
#include "base/api_errors.h"
#include "mvcc/store/store.h"
#include "server/call/access.h"
#include "server/call/method_registrar.h"
#include "server/call/proposer.h"
#include "server/call/reads.h"
#include "server/call/reply_waiter.h"
#include "server/replica/drive/request_id.h"
#include "server/services/lease/keep_alive_stream.h"
#include "server/state/leases.h"

namespace kvorum::server {
namespace {

// Chooses ids that all clients can read: positive ones.
lease::LeaseId ChooseId(RequestIdSource& ids) {
  lease::LeaseId id = lease::kNoLease;
  while (id == lease::kNoLease) {
    id = static_cast<lease::LeaseId>(
        ids.Next() & static_cast<std::uint64_t>(std::numeric_limits<lease::LeaseId>::max()));
  }
  return id;
}

}  // namespace

void LeaseService::Register(MethodRegistrar& methods) {
  methods.Add(api::kLeaseGrant, this, &LeaseService::Grant);
  methods.Add(api::kLeaseRevoke, this, &LeaseService::Revoke);
  methods.Add(api::kLeaseTimeToLive, this, &LeaseService::TimeToLive);
  methods.Add(api::kLeaseLeases, this, &LeaseService::Leases);
  methods.AddStream(api::kLeaseKeepAlive, [this](std::shared_ptr<rpc::ServerStream> stream) {
    KeepAlive(std::move(stream));
  });
}

// The id and the time to live are checked where the grant is applied.
void LeaseService::Grant(const rpc::CallContext& call, Received<LeaseGrantRequest> grant,
                         Reply<LeaseGrantResult> reply) {
  if (grant.request.id == lease::kNoLease) grant.request.id = ChooseId(proposer_.ids());
  ProposeAndReply(proposer_, call.caller, call.loop(), RequestKind::kLeaseGrant,
                  EncodeLeaseGrant(grant.request), std::move(reply));
}

void LeaseService::Revoke(const rpc::CallContext& call, Received<lease::LeaseId> lease,
                          Reply<LeaseRevokeResult> reply) {
  ProposeAndReply(proposer_, call.caller, call.loop(), RequestKind::kLeaseRevoke,
                  EncodeLeaseId(lease.request), std::move(reply));
}

void LeaseService::TimeToLive(const rpc::CallContext& call, Received<LeaseTimeToLiveRequest> asked,
                              Reply<LeaseTimeToLiveResponse> reply) {
  access_.TimeToLive(call.loop(), asked.request,
                     [this, id = asked.request.id, caller = call.caller,
                      reply = std::move(reply)](Result<LeaseTimes> times) mutable {
                       if (!times.has_value() && times.error() == kErrLeaseNotFound)
                         times = LeaseTimes{};
                       if (!times.has_value()) return reply.Fail(std::move(times).error());
                       if (times->keys.size() <= Access::kLeaseKeysOnLoop)
                         return TellTimes(caller, {id, *std::move(times)}, std::move(reply));
                       // The leader's answer comes on the thread of all questions to members.
                       reads_.executors.readers->Post([this, id, caller = std::move(caller),
                                                       times = *std::move(times),
                                                       reply = std::move(reply)]() mutable {
                         TellTimes(caller, {id, std::move(times)}, std::move(reply));
                       });
                     });
}

void LeaseService::TellTimes(const rpc::Caller& caller, LeaseTimeToLiveResponse response,
                             Reply<LeaseTimeToLiveResponse> reply) {
  if (auto allowed = reads_.access.CheckReadable(caller, response.times.keys); !allowed.has_value())
    return reply.Fail(std::move(allowed).error());
  reply.Send(reads_.cluster.Header(reads_.store.revision()), std::move(response));
}

void LeaseService::Leases(const rpc::CallContext& call, Received<EmptyMessage>,
                          Reply<std::vector<lease::LeaseId>> reply) {
  // Sorting a million of them takes a while.
  reads_.executors.readers->Post([this, caller = call.caller, reply = std::move(reply)]() mutable {
    std::vector<lease::LeaseId> ids = leases_.List();
    if (auto allowed = reads_.access.CheckReadable(caller, ids); !allowed.has_value())
      return reply.Fail(std::move(allowed).error());
    reply.Send(reads_.cluster.Header(reads_.store.revision()), std::move(ids));
  });
}

void LeaseService::KeepAlive(std::shared_ptr<rpc::ServerStream> stream) {
  std::make_shared<KeepAliveStream>(reads_, access_, std::move(stream))->Start();
}

}  // namespace kvorum::server
