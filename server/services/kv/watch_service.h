// etcdserverpb.Watch. The calls of an I/O loop have their watchers in that loop's shard.
#pragma once

#include <memory>

#include "rpc/call/service.h"

namespace kvorum::watch {
class Hub;
}  // namespace kvorum::watch

namespace kvorum::server {

class MethodRegistrar;
struct Reads;

class WatchService {
 public:
  // Both outlive the service. `hub` has one shard for each I/O loop.
  WatchService(const Reads& reads, watch::Hub& hub) : reads_(reads), hub_(hub) {}
  void Register(MethodRegistrar& methods);

  void Watch(std::shared_ptr<rpc::ServerStream> stream);

 private:
  const Reads& reads_;
  watch::Hub& hub_;
};

}  // namespace kvorum::server
