// v3lockpb.Lock: locks held by leases. A lock is the oldest key of a queue; unlocking by any client
// deletes it.
//
// Handlers are transport-free and may be called on any I/O loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rpc/call/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"
#include "server/locks/local_client.h"
#include "server/locks/waiting_calls.h"

namespace kvorum::server {

class LockService {
 public:
  LockService(ServiceContext& context, KvService& kv, LeaseService& lease,
              WaitingCalls::Limits limits = {})
      : client_(context, kv, lease), waiting_(limits) {}
  void Register(rpc::Router& router);

  const WaitingCalls& waiting() const { return waiting_; }

 private:
  void Lock(std::shared_ptr<rpc::CallContext> call, Received<LockRequest> lock,
            Reply<std::string> reply);
  void Unlock(const rpc::CallContext& call, Received<std::string_view> key,
              Reply<EmptyMessage> reply);

  LocalClient client_;
  WaitingCalls waiting_;
};

}  // namespace kvorum::server
