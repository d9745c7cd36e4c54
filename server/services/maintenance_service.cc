#include "server/services/maintenance_service.h"

#include <algorithm>
#include <utility>

#include "base/api_errors.h"
#include "base/logging.h"
#include "mvcc/store.h"
#include "server/call/interceptors.h"
#include "server/call/reply_waiter.h"
#include "server/messages/kv_decode.h"
#include "server/messages/maintenance_encode.h"
#include "server/messages/version.h"
#include "server/replica/replica.h"
#include "server/state/alarms.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

SharedBytes EncodeAlarms(const ResponseHeader& header, const AlarmResult& result) {
  return EncodeAlarmResponse(header, result.alarms);
}

}  // namespace

void MaintenanceService::Register(rpc::Router& router) {
  constexpr std::string_view kMaintenance = "etcdserverpb.Maintenance";
  const auto unary = [&](std::string_view name, auto member,
                         OnLearner on_learner = OnLearner::kRefused) {
    AddUnary(router, context_, kMaintenance, name, *this, member, on_learner);
  };
  unary("Status", &MaintenanceService::GetStatus, OnLearner::kServed);
  unary("Alarm", &MaintenanceService::HandleAlarm);
  unary("Hash", &MaintenanceService::Hash);
  unary("HashKV", &MaintenanceService::HashKv);
  unary("Defragment", &MaintenanceService::Defragment);
  unary("MoveLeader", &MaintenanceService::MoveLeader);
}

void MaintenanceService::GetStatus(const rpc::CallContext&, SharedBytes, rpc::UnaryReply reply) {
  const auto view = context_.membership->View();
  const auto self = view->members.find(context_.member_id);
  Status status{.version = kApiVersion,
                .storage_version = kStorageVersion,
                .db_size_bytes = static_cast<std::int64_t>(context_.store->SizeBytes()),
                .db_size_in_use_bytes = static_cast<std::int64_t>(context_.store->SizeInUseBytes()),
                .db_size_quota_bytes = context_.limits.quota_bytes,
                .leader = context_.replica->leader(),
                .commit_index = context_.replica->commit_index(),
                .applied_index = context_.replica->applied_index(),
                .term = context_.replica->term(),
                .is_learner = self != view->members.end() && self->second.is_learner,
                .errors = {}};
  if (status.leader == raft::kNone) status.errors.emplace_back(kErrNoLeader.message);
  for (const Alarm& alarm : context_.alarms->List()) status.errors.push_back(AlarmText(alarm));
  reply.Send(
      EncodeStatusResponse(context_.Header(context_.store->revision(), status.term), status));
}

void MaintenanceService::HandleAlarm(const rpc::CallContext& call, SharedBytes bytes,
                                     rpc::UnaryReply reply) {
  const auto request = DecodeAlarmRequest(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  context_.ProposeFor(
      call.caller, call.loop(), RequestKind::kAlarm, bytes.view(),
      std::make_unique<ReplyWaiter<AlarmResult>>(context_, std::move(reply), EncodeAlarms),
      context_.limits.request_timeout);
}

void MaintenanceService::Hash(const rpc::CallContext&, SharedBytes, rpc::UnaryReply reply) {
  if (context_.store->CommitStalled()) return reply.Fail(kErrNoSpace.ToError());
  // What the backend does not hold yet is not in its hash: let it catch up first.
  context_.store->Flush([this, reply = std::move(reply)]() mutable {
    context_.hasher->Post([this, reply = std::move(reply)]() mutable {
      const auto hash = context_.store->HashBackend();
      if (!hash.has_value()) return reply.Fail(hash.error());
      reply.Send(EncodeHashResponse(context_.Header(hash->revision), hash->hash));
    });
  });
}

void MaintenanceService::HashKv(const rpc::CallContext&, SharedBytes bytes, rpc::UnaryReply reply) {
  const auto revision = DecodeHashKvRequest(bytes.view());
  if (!revision.has_value()) return reply.Fail(revision.error());
  context_.hasher->Post([this, revision = *revision, reply = std::move(reply)]() mutable {
    const auto hash = context_.store->HashKv(revision);
    if (!hash.has_value()) return reply.Fail(hash.error());
    reply.Send(EncodeHashKvResponse(context_.Header(context_.store->revision()), hash->hash,
                                    hash->compact_revision, hash->revision));
  });
}

void MaintenanceService::Defragment(const rpc::CallContext&, SharedBytes, rpc::UnaryReply reply) {
  KV_INFO("starting defragment");
  context_.store->Defragment([reply = std::move(reply)](Result<void> done) mutable {
    if (!done.has_value()) {
      KV_WARN("failed to defragment", {"error", done.error().message});
      return reply.Fail(std::move(done).error());
    }
    KV_INFO("finished defragment");
    reply.Send(SharedBytes());  // the answer has no header
  });
}

void MaintenanceService::MoveLeader(const rpc::CallContext& call, SharedBytes bytes,
                                    rpc::UnaryReply reply) {
  const auto target = DecodeMoveLeaderRequest(bytes.view());
  if (!target.has_value()) return reply.Fail(target.error());
  const TimePoint latest = context_.replica->clock().Now() + context_.limits.request_timeout;
  context_.replica->MoveLeader(*target, std::min(call.deadline().value_or(latest), latest),
                               [reply = std::move(reply)](Result<void> moved) mutable {
                                 if (!moved.has_value())
                                   return reply.Fail(std::move(moved).error());
                                 reply.Send(SharedBytes());  // the answer has no header
                               });
}

}  // namespace kvorum::server
