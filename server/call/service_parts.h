// The services' parts over an open member, put together. For the owners of services; the services
// themselves are handed the parts that they need.
//
// Thread-safe, like the parts. Everything that it is made from outlives it.
#pragma once

#include "server/call/cluster_facts.h"
#include "server/call/proposer.h"
#include "server/call/reads.h"

namespace kvorum::server {

struct ServiceParts {
  struct From {
    LocalMember& member;
    const Transport& transport;
    const MemberPatches& patches;
    RequestBatcher& batcher;
    const Access& access;
    const ServiceExecutors& executors;
    const ServiceLimits& limits;
    AnswerMemory& answers;
  };
  explicit ServiceParts(const From& from);
  // Its parts refer to each other.
  ServiceParts(const ServiceParts&) = delete;
  ServiceParts& operator=(const ServiceParts&) = delete;

  const ClusterFacts cluster;
  Proposer proposer;
  const Reads reads;
};

}  // namespace kvorum::server
