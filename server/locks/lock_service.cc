#include "server/locks/lock_service.h"

#include <utility>

#include "server/call/method_registrar.h"
#include "server/locks/contender.h"

namespace kvorum::server {

void LockService::Register(MethodRegistrar& methods) {
  methods.Add(api::kLock, this, &LockService::Lock);
  methods.Add(api::kUnlock, this, &LockService::Unlock);
}

void LockService::Lock(std::shared_ptr<rpc::CallContext> call, Received<LockRequest> lock,
                       Reply<std::string> reply) {
  Contender::Begin(client_, waiting_, std::move(call),
                   {.name = lock.request.name, .lease = lock.request.lease},
                   [reply = std::move(reply)](Result<Contender::Success> locked) mutable {
                     if (!locked.has_value()) return reply.Fail(std::move(locked).error());
                     reply.Send(locked->header, std::move(locked->key));
                   });
}

void LockService::Unlock(const rpc::CallContext& call, Received<std::string_view> key,
                         Reply<EmptyMessage> reply) {
  client_.DeleteKey(call, key.request,
                    [reply = std::move(reply)](Result<ResponseHeader> header) mutable {
                      if (!header.has_value()) return reply.Fail(std::move(header).error());
                      reply.Send(*header, {});
                    });
}

}  // namespace kvorum::server
