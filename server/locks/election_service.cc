#include "server/locks/election_service.h"

#include <string>
#include <utility>

#include "base/api_errors.h"
#include "rpc/call/grpc_protocol.h"
#include "server/call/method_registrar.h"
#include "server/locks/contender.h"
#include "server/locks/election_observer.h"

namespace kvorum::server {
void ElectionService::Register(MethodRegistrar& methods) {
  methods.Add(api::kCampaign, this, &ElectionService::Campaign);
  methods.Add(api::kProclaim, this, &ElectionService::Proclaim);
  methods.Add(api::kLeader, this, &ElectionService::Leader);
  methods.Add(api::kResign, this, &ElectionService::Resign);
  methods.AddStream(api::kObserve, [this](std::shared_ptr<rpc::ServerStream> stream) {
    Observe(std::move(stream));
  });
}

void ElectionService::Campaign(std::shared_ptr<rpc::CallContext> call,
                               Received<CampaignRequest> campaign, Reply<Elected> reply) {
  const CampaignRequest& request = campaign.request;
  Contender::Begin(client_, waiting_, std::move(call),
                   {.kind = Contender::Kind::kElection,
                    .name = request.name,
                    .lease = request.lease,
                    .value = request.value},
                   [name = std::string(request.name),
                    reply = std::move(reply)](Result<Contender::Success> elected) mutable {
                     if (!elected.has_value()) return reply.Fail(std::move(elected).error());
                     reply.Send(elected->header, {.name = std::move(name),
                                                  .key = std::move(elected->key),
                                                  .created = elected->created,
                                                  .lease = elected->lease});
                   });
}

void ElectionService::Proclaim(std::shared_ptr<rpc::CallContext> call,
                               Received<LeadershipRequest> received, Reply<EmptyMessage> reply) {
  if (!received.request.leader) return reply.Fail(kErrMissingLeaderKey.ToError());
  const lease::LeaseId known = received.request.leader->lease;
  auto proclaim = [this, call, received = std::move(received),
                   reply = std::move(reply)](Result<lease::LeaseId> lease) mutable {
    if (!lease.has_value()) return reply.Fail(std::move(lease).error());
    const LeaderKey& leader = *received.request.leader;
    client_.Txn(
        *call,
        ChangeValue({.key = leader.key, .created = leader.created}, *lease, received.request.value),
        [reply = std::move(reply)](const Result<LocalTxnAnswer>& answer) mutable {
          if (!answer.has_value()) return reply.Fail(answer.error());
          if (!answer->response.succeeded) return reply.Fail(kErrElectionNotLeader.ToError());
          reply.Send(answer->header, {});
        });
  };
  if (known != lease::kNoLease) return proclaim(known);
  client_.Grant(*call, kSessionTtlSeconds, std::move(proclaim));
}

void ElectionService::Leader(const rpc::CallContext& call, Received<std::string_view> name,
                             Reply<std::string> reply) {
  client_.Range(call, FindOldest(QueueRange(QueuePrefix(name.request))),
                [reply = std::move(reply)](Result<LocalRangeAnswer> leader) mutable {
                  if (!leader.has_value()) return reply.Fail(std::move(leader).error());
                  const mvcc::RowBuffer& rows = leader->response.rows;
                  if (rows.empty()) return reply.Fail(kErrElectionNoLeader.ToError());
                  reply.Send(leader->header, std::string(rows[0]));
                });
}

// A caller that does not lead has nothing to resign from, and succeeds.
void ElectionService::Resign(const rpc::CallContext& call, Received<LeadershipRequest> resign,
                             Reply<EmptyMessage> reply) {
  if (!resign.request.leader) return reply.Fail(kErrMissingLeaderKey.ToError());
  const LeaderKey& leader = *resign.request.leader;
  client_.Txn(call, LeaveQueue({.key = leader.key, .created = leader.created}),
              [reply = std::move(reply)](const Result<LocalTxnAnswer>& answer) mutable {
                if (!answer.has_value()) return reply.Fail(answer.error());
                reply.Send(answer->header, {});
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
