#include "server/services/lease_service.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "mvcc/store.h"
#include "server/call/access.h"
#include "server/call/interceptors.h"
#include "server/call/reply_waiter.h"
#include "server/messages/lease_messages.h"
#include "server/services/keep_alive_stream.h"
#include "server/state/leases.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kService = "etcdserverpb.Lease";

SharedBytes EncodeGranted(const ResponseHeader& header, const LeaseGrantResult& result) {
  return EncodeLeaseGrantResponse(header, result.id, result.ttl_s);
}

SharedBytes EncodeRevoked(const ResponseHeader& header, const LeaseRevokeResult&) {
  return EncodeHeaderOnly(header);
}

// Of the ids that clients can read: positive ones.
lease::LeaseId ChooseId(RequestIdSource& ids) {
  lease::LeaseId id = lease::kNoLease;
  while (id == lease::kNoLease) {
    id = static_cast<lease::LeaseId>(
        ids.Next() & static_cast<std::uint64_t>(std::numeric_limits<lease::LeaseId>::max()));
  }
  return id;
}

}  // namespace

void LeaseService::Register(rpc::Router& router) {
  const auto unary = [&](std::string_view name, auto member) {
    AddUnary(router, context_, kService, name, *this, member);
  };
  unary("LeaseGrant", &LeaseService::Grant);
  unary("LeaseRevoke", &LeaseService::Revoke);
  unary("LeaseTimeToLive", &LeaseService::TimeToLive);
  unary("LeaseLeases", &LeaseService::Leases);
  AddStream(router, context_, kService, "LeaseKeepAlive", rpc::MethodKind::kBidiStream,
            [this](std::shared_ptr<rpc::ServerStream> stream) { KeepAlive(std::move(stream)); });
}

// Whether the id is free and the time allowed is seen where it is applied.
void LeaseService::Grant(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply) {
  auto request = DecodeLeaseGrant(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (context_.RefusedForSpace(call.loop(), kLeaseQuotaCost, reply)) return;
  if (request->id == lease::kNoLease) request->id = ChooseId(*context_.ids);
  context_.ProposeFor(
      call.caller, call.loop(), RequestKind::kLeaseGrant, EncodeLeaseGrant(*request),
      std::make_unique<ReplyWaiter<LeaseGrantResult>>(context_, std::move(reply), EncodeGranted),
      context_.limits.request_timeout);
}

void LeaseService::Revoke(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply) {
  const auto id = DecodeLeaseId(bytes.view());
  if (!id.has_value()) return reply.Fail(id.error());
  context_.ProposeFor(
      call.caller, call.loop(), RequestKind::kLeaseRevoke, EncodeLeaseId(*id),
      std::make_unique<ReplyWaiter<LeaseRevokeResult>>(context_, std::move(reply), EncodeRevoked),
      context_.limits.request_timeout);
}

void LeaseService::TimeToLive(const rpc::CallContext& call, SharedBytes bytes,
                              rpc::UnaryReply reply) {
  const auto request = DecodeLeaseTimeToLive(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  access_.TimeToLive(call.loop(), *request,
                     [this, id = request->id, caller = call.caller,
                      reply = std::move(reply)](Result<LeaseTimes> times) mutable {
                       if (!times.has_value() && times.error() == kErrLeaseNotFound)
                         times = LeaseTimes{};
                       if (!times.has_value()) return reply.Fail(std::move(times).error());
                       if (context_.access != nullptr) {
                         if (auto allowed = context_.access->CheckReadable(caller, times->keys);
                             !allowed.has_value())
                           return reply.Fail(std::move(allowed).error());
                       }
                       reply.Send(EncodeLeaseTimeToLiveResponse(
                           context_.Header(context_.store->revision()), id, *times));
                     });
}

void LeaseService::Leases(const rpc::CallContext& call, SharedBytes, rpc::UnaryReply reply) {
  // A million of them takes a while to sort.
  context_.readers->Post([this, caller = call.caller, reply = std::move(reply)]() mutable {
    const std::vector<lease::LeaseId> ids = context_.leases->List();
    if (context_.access != nullptr) {
      if (auto allowed = context_.access->CheckReadable(caller, ids); !allowed.has_value())
        return reply.Fail(std::move(allowed).error());
    }
    reply.Send(EncodeLeaseLeasesResponse(context_.Header(context_.store->revision()), ids));
  });
}

void LeaseService::KeepAlive(std::shared_ptr<rpc::ServerStream> stream) {
  std::make_shared<KeepAliveStream>(context_, access_, std::move(stream))->Start();
}

}  // namespace kvorum::server
