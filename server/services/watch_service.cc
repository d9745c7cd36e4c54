#include "server/services/watch_service.h"

#include <utility>

#include "rpc/loop.h"
#include "server/call/api.h"
#include "server/call/method_registrar.h"
#include "server/services/watch_session.h"
#include "watch/hub.h"

namespace kvorum::server {

void WatchService::Register(rpc::Router& router) {
  MethodRegistrar(router, context_)
      .AddStream(api::kWatch,
                 [this](std::shared_ptr<rpc::ServerStream> stream) { Watch(std::move(stream)); });
}

void WatchService::Watch(std::shared_ptr<rpc::ServerStream> stream) {
  const rpc::Loop* loop = stream->context().loop();
  watch::Shard& shard = context_.watches->shard(loop == nullptr ? 0 : loop->index());
  std::make_shared<WatchSession>(context_, std::move(stream))->Start(shard);
}

}  // namespace kvorum::server
