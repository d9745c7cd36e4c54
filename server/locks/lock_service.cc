#include "server/locks/lock_service.h"

#include <utility>

#include "server/call/interceptors.h"
#include "server/locks/candidacy.h"
#include "server/messages/lock_messages.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kService = "v3lockpb.Lock";

}  // namespace

void LockService::Register(rpc::Router& router) {
  AddUnary(router, client_.context(), kService, "Lock", *this, &LockService::Lock);
  AddUnary(router, client_.context(), kService, "Unlock", *this, &LockService::Unlock);
}

void LockService::Lock(std::shared_ptr<rpc::CallContext> call, SharedBytes bytes,
                       rpc::UnaryReply reply) {
  const auto request = DecodeLock(bytes.view());
  if (!request.has_value()) return reply.Fail(request.error());
  Candidacy::Begin(client_, waiting_, std::move(call),
                   {.name = request->name, .lease = request->lease},
                   [reply = std::move(reply)](Result<Candidacy::Success> locked) mutable {
                     if (!locked.has_value()) return reply.Fail(std::move(locked).error());
                     reply.Send(EncodeLockResponse(locked->header, locked->key));
                   });
}

void LockService::Unlock(const rpc::CallContext& call, SharedBytes bytes, rpc::UnaryReply reply) {
  const auto key = DecodeOnlyBytes(bytes.view());
  if (!key.has_value()) return reply.Fail(key.error());
  client_.DeleteRange(call, FindKey(*key),
                      [reply = std::move(reply)](Result<std::string> header) mutable {
                        if (!header.has_value()) return reply.Fail(std::move(header).error());
                        reply.Send(EncodeOnlyHeader(*header));
                      });
}

}  // namespace kvorum::server
