// etcdserverpb.Maintenance (Status, Alarm, Hash, HashKV, Snapshot, Defragment, MoveLeader), and our
// own kvorumpb.Replica (Reseed), which has no messages but empty ones. Transport-free handlers,
// called on any I/O loop; what reads the whole store runs on the hasher.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "rpc/call/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"

namespace kvorum::server {

class LocalMember;
class MethodRegistrar;
class Proposer;
class Quarantine;
class Reseeder;
struct Reads;

class MaintenanceService {
 public:
  struct Parts {
    Proposer& proposer;
    const Reads& reads;
    LocalMember& member;  // for the space that it has
    const Quarantine& quarantine;
  };
  // They outlive the service.
  explicit MaintenanceService(const Parts& parts)
      : proposer_(parts.proposer),
        reads_(parts.reads),
        member_(parts.member),
        quarantine_(parts.quarantine) {}
  void Register(MethodRegistrar& methods);
  // Called before the first call; it outlives them. Without one there is no Reseed.
  void Use(Reseeder& reseeder) { reseeder_ = &reseeder; }
  // Called with true when a defragmentation that a client asked for begins, and with false at its
  // end; on any thread. Set before the first call.
  void OnDefragment(std::function<void(bool begins)> hook) { on_defragment_ = std::move(hook); }

  void GetStatus(const rpc::CallContext& call, Received<EmptyMessage> request, Reply<Status> reply);
  void HandleAlarm(const rpc::CallContext& call, Received<AlarmRequest> alarm,
                   Reply<AlarmResult> reply);
  void Hash(const rpc::CallContext& call, Received<EmptyMessage> request,
            Reply<std::uint32_t> reply);
  void HashKv(const rpc::CallContext& call, Received<std::int64_t> revision,
              Reply<HashKvResponse> reply);
  void Snapshot(std::shared_ptr<rpc::ServerStream> stream);
  void Defragment(const rpc::CallContext& call, Received<EmptyMessage> request,
                  Reply<EmptyMessage> reply);
  void MoveLeader(const rpc::CallContext& call, Received<raft::MemberId> target,
                  Reply<EmptyMessage> reply);
  // Answers when this member has a new database.
  void Reseed(const rpc::CallContext& call, Received<EmptyMessage> request,
              Reply<EmptyMessage> reply);

 private:
  Proposer& proposer_;
  const Reads& reads_;
  LocalMember& member_;
  const Quarantine& quarantine_;
  Reseeder* reseeder_ = nullptr;
  std::function<void(bool begins)> on_defragment_ = [](bool) {};
  const std::shared_ptr<std::atomic<int>> snapshots_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace kvorum::server
