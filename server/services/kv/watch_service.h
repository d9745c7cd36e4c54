// etcdserverpb.Watch. The calls of an I/O loop have their watchers in that loop's shard.
#pragma once

#include <memory>

#include "rpc/call/service.h"
#include "server/call/service_context.h"

namespace kvorum::server {

class WatchService {
 public:
  explicit WatchService(ServiceContext& context) : context_(context) {}
  void Register(rpc::Router& router);

  void Watch(std::shared_ptr<rpc::ServerStream> stream);

 private:
  ServiceContext& context_;
};

}  // namespace kvorum::server
