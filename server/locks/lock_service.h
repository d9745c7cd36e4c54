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

class MethodRegistrar;

class LockService {
 public:
  explicit LockService(const LocalClient& client, WaitingCalls::Limits limits = {})
      : client_(client), waiting_(limits) {}
  void Register(MethodRegistrar& methods);

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
