// The services of the API over a member's parts.
//
// Handlers may run on any I/O loop. Ownership: the parts outlive the services, and these outlive
// the calls.
#pragma once

#include "server/locks/election_service.h"
#include "server/locks/lock_service.h"
#include "server/services/cluster/cluster_service.h"
#include "server/services/cluster/downgrade_service.h"
#include "server/services/kv/kv_service.h"
#include "server/services/kv/watch_service.h"
#include "server/services/lease/lease_service.h"
#include "server/services/maintenance/maintenance_service.h"

namespace kvorum::server {

class PeerPoster;

struct Services {
  struct Parts {
    Proposer& proposer;
    const Reads& reads;
    LocalMember& member;
    const Quarantine& quarantine;
    watch::Hub& watches;
    LeaderStreams& leader_streams;
    PeerPoster& poster;
    PromoteForwarder* promotions = nullptr;  // without it only the leader promotes
    WaitingCalls::Limits waiting = {};
  };
  explicit Services(const Parts& parts);
  // A lock's call may hang on a question that its leader never answered.
  ~Services() { lease.access().DropPosted(); }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  void Register(MethodRegistrar& methods);

  KvService kv;
  MaintenanceService maintenance;
  DowngradeService downgrade;
  LeaseService lease;
  ClusterService cluster;
  WatchService watch;
  LocalClient local_client;
  LockService lock;
  ElectionService election;
};

}  // namespace kvorum::server
