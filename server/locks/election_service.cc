#include "server/locks/election_service.h"

#include <string>
#include <utility>

#include "base/api_errors.h"
#include "rpc/grpc_protocol.h"
#include "server/call/interceptors.h"
#include "server/locks/candidacy.h"
#include "server/locks/election_observer.h"
#include "server/messages/lock_messages.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kService = "v3electionpb.Election";

}  // namespace

void ElectionService::Register(rpc::Router& router) {
  const auto unary = [&](std::string_view name, auto member) {
    AddUnary(router, client_.context(), kService, name, *this, member);
  };
  unary("Campaign", &ElectionService::Campaign);
  unary("Proclaim", &ElectionService::Proclaim);
  unary("Leader", &ElectionService::Leader);
  unary("Resign", &ElectionService::Resign);
  AddStream(router, client_.context(), kService, "Observe", rpc::MethodKind::kServerStream,
            [this](std::shared_ptr<rpc::ServerStream> stream) { Observe(std::move(stream)); });
}

void ElectionService::Campaign(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
                               rpc::UnaryReply reply) {
  const auto request = DecodeCampaign(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  Candidacy::Begin(
      client_, waiting_, std::move(call),
      {.kind = Candidacy::Kind::kElection,
       .name = request->name,
       .lease = request->lease,
       .value = request->value},
      [name = std::string(request->name),
       reply = std::move(reply)](Result<Candidacy::Success> elected) mutable {
        if (!elected.has_value()) return reply.Fail(std::move(elected).error());
        reply.Send(EncodeCampaignResponse(elected->header, {.name = name,
                                                            .key = elected->key,
                                                            .created = elected->created,
                                                            .lease = elected->lease}));
      });
}

void ElectionService::Proclaim(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
                               rpc::UnaryReply reply) {
  const auto request = DecodeProclaim(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (!request->leader) return reply.Fail(kErrMissingLeaderKey.ToError());
  auto proclaim = [this, call, bytes, request = *request,
                   reply = std::move(reply)](Result<lease::LeaseId> lease) mutable {
    if (!lease.has_value()) return reply.Fail(std::move(lease).error());
    client_.Txn(*call,
                ChangeValue({.key = request.leader->key, .created = request.leader->created},
                            *lease, request.value),
                [reply = std::move(reply)](Result<TxnAnswer> answer) mutable {
                  if (!answer.has_value()) return reply.Fail(std::move(answer).error());
                  if (!answer->succeeded) return reply.Fail(kErrElectionNotLeader.ToError());
                  reply.Send(EncodeOnlyHeader(answer->header));
                });
  };
  if (request->leader->lease != lease::kNoLease) return proclaim(request->leader->lease);
  client_.Grant(*call, kSessionTtlSeconds, std::move(proclaim));
}

void ElectionService::Leader(const rpc::CallContext& call, SharedBytes bytes,
                             rpc::UnaryReply reply) {
  const auto name = DecodeOnlyBytes(bytes.view());
  if (!name.has_value()) return reply.Fail(name.error());
  client_.Range(call, FindOldest(QueuePrefix(*name)),
                [reply = std::move(reply)](Result<RangeAnswer> leader) mutable {
                  if (!leader.has_value()) return reply.Fail(std::move(leader).error());
                  if (leader->kv.empty()) return reply.Fail(kErrElectionNoLeader.ToError());
                  reply.Send(EncodeLeaderResponse(leader->header, leader->kv));
                });
}

void ElectionService::Resign(const rpc::CallContext& call, SharedBytes bytes,
                             rpc::UnaryReply reply) {
  const auto request = DecodeResign(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  if (!request->leader) return reply.Fail(kErrMissingLeaderKey.ToError());
  client_.Txn(call, LeaveQueue({.key = request->leader->key, .created = request->leader->created}),
              [reply = std::move(reply)](Result<TxnAnswer> answer) mutable {
                if (!answer.has_value()) return reply.Fail(std::move(answer).error());
                reply.Send(EncodeOnlyHeader(answer->header));
              });
}

void ElectionService::Observe(std::shared_ptr<rpc::ServerStream> stream) {
  stream->Read([this, stream](Result<std::optional<SharedBytes>> message) {
    if (!message.has_value()) return;  // the stream is finished
    if (!message->has_value()) {
      return stream->Finish({Code::kInternal, "grpc: no request message was received"});
    }
    const auto name = DecodeOnlyBytes((**message).view());
    if (!name.has_value()) return stream->Finish(rpc::OnStream(name.error()));
    std::make_shared<ElectionObserver>(client_, stream, *name)->Start();
  });
}

}  // namespace kvorum::server
