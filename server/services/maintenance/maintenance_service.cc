#include "server/services/maintenance/maintenance_service.h"

#include <algorithm>
#include <utility>

#include "api/kv_decode.h"
#include "api/maintenance_encode.h"
#include "api/storage_version.h"
#include "api/version.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "mvcc/store/store.h"
#include "rpc/call/grpc_protocol.h"
#include "server/call/method_registrar.h"
#include "server/call/proposer.h"
#include "server/call/quarantine.h"
#include "server/call/reads.h"
#include "server/call/reply_waiter.h"
#include "server/replica/drive/replica.h"
#include "server/services/maintenance/reseed.h"
#include "server/services/maintenance/snapshot_stream.h"
#include "server/state/alarms.h"
#include "server/state/membership.h"

namespace kvorum::server {

void MaintenanceService::Register(MethodRegistrar& methods) {
  methods.Add(api::kStatus, this, &MaintenanceService::GetStatus);
  methods.Add(api::kAlarm, this, &MaintenanceService::HandleAlarm);
  methods.Add(api::kHash, this, &MaintenanceService::Hash);
  methods.Add(api::kHashKv, this, &MaintenanceService::HashKv);
  methods.AddStream(api::kSnapshot, [this](std::shared_ptr<rpc::ServerStream> stream) {
    Snapshot(std::move(stream));
  });
  methods.Add(api::kDefragment, this, &MaintenanceService::Defragment);
  methods.Add(api::kMoveLeader, this, &MaintenanceService::MoveLeader);
  methods.Add(api::kReseed, this, &MaintenanceService::Reseed);
}

void MaintenanceService::GetStatus(const rpc::CallContext&, Received<EmptyMessage>,
                                   Reply<Status> reply) {
  const auto view = reads_.cluster.membership.View();
  const auto self = view->members.find(reads_.cluster.member_id);
  Status status{.version = kApiVersion,
                .storage_version = StorageVersionIn(view->cluster_version),
                .db_size_bytes = static_cast<std::int64_t>(reads_.store.SizeBytes()),
                .db_size_in_use_bytes = static_cast<std::int64_t>(reads_.store.SizeInUseBytes()),
                .db_size_quota_bytes = reads_.limits.quota_bytes,
                .leader = reads_.cluster.replica.leader(),
                .commit_index = reads_.cluster.replica.commit_index(),
                .applied_index = reads_.cluster.replica.applied_index(),
                .term = reads_.cluster.replica.term(),
                .is_learner = self != view->members.end() && self->second.is_learner,
                .errors = {},
                .downgrade = view->downgrade};
  if (status.leader == raft::kNone) status.errors.emplace_back(kErrNoLeader.message);
  for (const Alarm& alarm : reads_.cluster.alarms.List()) status.errors.push_back(AlarmText(alarm));
  const Alarm own{.member = reads_.cluster.member_id, .type = AlarmType::kCorrupt};
  if (quarantine_.stands() && !reads_.cluster.alarms.Stands(own))
    status.errors.push_back(AlarmText(own));
  if (const raft::Index lost = reads_.cluster.replica.status().lost_data(); lost != 0) {
    status.errors.push_back(
        "DATALOST: the member lacks data that it had acknowledged, up to index " +
        std::to_string(lost.value()) + " or later, and has no vote");
  }
  const ResponseHeader header = reads_.cluster.Header(reads_.store.revision(), status.term);
  reply.Send(header, std::move(status));
}

void MaintenanceService::HandleAlarm(const rpc::CallContext& call, Received<AlarmRequest> alarm,
                                     Reply<AlarmResult> reply) {
  ProposeAndReply(proposer_, call.caller, call.loop(), RequestKind::kAlarm, alarm.bytes.view(),
                  std::move(reply));
}

void MaintenanceService::Hash(const rpc::CallContext&, Received<EmptyMessage>,
                              Reply<std::uint32_t> reply) {
  if (reads_.store.CommitStalled()) return reply.Fail(kErrNoSpace.ToError());
  // Records that the backend does not have yet are not in its hash: let it catch up first.
  reads_.store.Flush([this, reply = std::move(reply)]() mutable {
    reads_.executors.hasher->Post([this, reply = std::move(reply)]() mutable {
      const auto hash = reads_.store.HashBackend();
      if (!hash.has_value()) return reply.Fail(hash.error());
      reply.Send(reads_.cluster.Header(hash->revision), hash->hash);
    });
  });
}

void MaintenanceService::HashKv(const rpc::CallContext&, Received<std::int64_t> revision,
                                Reply<HashKvResponse> reply) {
  reads_.executors.hasher->Post(
      [this, revision = revision.request, reply = std::move(reply)]() mutable {
        const auto hash = reads_.store.HashKv(revision);
        if (!hash.has_value()) return reply.Fail(hash.error());
        reply.Send(reads_.cluster.Header(reads_.store.revision()),
                   {.hash = hash->hash,
                    .compact_revision = hash->compact_revision,
                    .hash_revision = hash->revision});
      });
}

void MaintenanceService::Snapshot(std::shared_ptr<rpc::ServerStream> stream) {
  stream->Read([this, stream](const Result<std::optional<SharedBytes>>& message) {
    if (!message.has_value()) return;  // the stream is finished
    if (!message->has_value())
      return stream->Finish({Code::kInternal, "grpc: no request message was received"});
    if (const auto request = DecodeEmptyMessage((*message)->view()); !request.has_value())
      return stream->Finish(rpc::OnStream(request.error()));
    std::make_shared<SnapshotStream>(reads_, member_, stream, snapshots_)->Start();
  });
}

void MaintenanceService::Defragment(const rpc::CallContext&, Received<EmptyMessage>,
                                    Reply<EmptyMessage> reply) {
  KV_INFO("starting defragment");
  on_defragment_(true);
  reads_.store.Defragment([this, reply = std::move(reply)](Result<void> done) mutable {
    on_defragment_(false);
    if (!done.has_value()) {
      KV_WARN("failed to defragment", {"error", done.error().message});
      return reply.Fail(std::move(done).error());
    }
    KV_INFO("finished defragment");
    reply.Send({}, {});
  });
}

void MaintenanceService::Reseed(const rpc::CallContext& call, Received<EmptyMessage>,
                                Reply<EmptyMessage> reply) {
  constexpr Duration kLongest = std::chrono::hours(1);
  if (reseeder_ == nullptr)
    return reply.Fail({Code::kUnimplemented, "method Reseed not implemented"});
  const TimePoint latest = reads_.cluster.Now() + kLongest;
  reseeder_->Reseed(std::min(call.deadline().value_or(latest), latest),
                    [reply = std::move(reply)](Result<void> done) mutable {
                      if (!done.has_value()) return reply.Fail(std::move(done).error());
                      reply.Send({}, {});
                    });
}

void MaintenanceService::MoveLeader(const rpc::CallContext& call, Received<raft::MemberId> target,
                                    Reply<EmptyMessage> reply) {
  const TimePoint latest = reads_.cluster.Now() + reads_.limits.request_timeout;
  reads_.cluster.replica.MoveLeader(target.request,
                                    std::min(call.deadline().value_or(latest), latest),
                                    [reply = std::move(reply)](Result<void> moved) mutable {
                                      if (!moved.has_value())
                                        return reply.Fail(std::move(moved).error());
                                      reply.Send({}, {});
                                    });
}

}  // namespace kvorum::server
