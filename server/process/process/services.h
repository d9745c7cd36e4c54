// The services of the API, all on one context. They are registered before any data is opened, so
// that a port in use is found first; the context is filled in before the first call.
#pragma once

#include "server/call/service_context.h"
#include "server/locks/election_service.h"
#include "server/locks/lock_service.h"
#include "server/services/cluster/cluster_service.h"
#include "server/services/cluster/downgrade_service.h"
#include "server/services/kv/kv_service.h"
#include "server/services/kv/watch_service.h"
#include "server/services/lease/lease_service.h"
#include "server/services/maintenance/maintenance_service.h"

namespace kvorum::server {

struct Services {
  Services() = default;
  // A lock's call may hang on a question that its leader never answered.
  ~Services() { lease.access().DropPosted(); }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  void Register(rpc::Router& router) {
    kv.Register(router);
    maintenance.Register(router);
    downgrade.Register(router);
    lease.Register(router);
    cluster.Register(router);
    watch.Register(router);
    lock.Register(router);
    election.Register(router);
  }

  ServiceContext context;
  KvService kv{context};
  MaintenanceService maintenance{context};
  DowngradeService downgrade{context};
  LeaseService lease{context};
  ClusterService cluster{context};
  WatchService watch{context};
  LockService lock{context, kv, lease};
  ElectionService election{context, kv, lease};
};

}  // namespace kvorum::server
