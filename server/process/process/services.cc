#include "server/process/process/services.h"

#include "server/replica/member/local_member.h"

namespace kvorum::server {

Services::Services(const Parts& parts)
    : kv(parts.proposer, parts.reads),
      maintenance({.proposer = parts.proposer,
                   .reads = parts.reads,
                   .member = parts.member,
                   .quarantine = parts.quarantine}),
      downgrade(parts.proposer, parts.reads),
      lease(parts.proposer, parts.reads,
            {.leases = parts.member.leases(),
             .expiry = parts.member.lease_expiry(),
             .poster = parts.poster}),
      cluster(parts.proposer, parts.reads, parts.promotions),
      watch(parts.reads, parts.watches),
      local_client({.proposer = parts.proposer,
                    .reads = parts.reads,
                    .hub = parts.watches,
                    .leader_streams = parts.leader_streams,
                    .kv = kv,
                    .lease = lease}),
      lock(local_client, parts.waiting),
      election(local_client, parts.waiting) {}

void Services::Register(MethodRegistrar& methods) {
  kv.Register(methods);
  maintenance.Register(methods);
  downgrade.Register(methods);
  lease.Register(methods);
  cluster.Register(methods);
  watch.Register(methods);
  lock.Register(methods);
  election.Register(methods);
}

}  // namespace kvorum::server
