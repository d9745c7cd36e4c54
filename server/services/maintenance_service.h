// etcdserverpb.Maintenance (Status, Alarm, Hash, HashKV, Defragment, MoveLeader).
// Transport-free handlers, called on any I/O loop; what reads the whole store runs on the
// hasher.
#pragma once

#include "rpc/service.h"
#include "server/call/service_context.h"

namespace kvorum::server {

class MaintenanceService {
 public:
  explicit MaintenanceService(ServiceContext& context) : context_(context) {}
  void Register(rpc::Router& router);

  void GetStatus(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void HandleAlarm(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void Hash(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void HashKv(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void Defragment(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);
  void MoveLeader(const rpc::CallContext& call, SharedBytes request, rpc::UnaryReply reply);

 private:
  ServiceContext& context_;
};

}  // namespace kvorum::server
