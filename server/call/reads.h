// The parts that a read goes through: its confirmation by the cluster (RequestBatcher::Read), a
// view of the store, the executor for its size, and the memory for its answer.
//
// Thread-safe, like these parts, which outlive it.
#pragma once

#include "base/answer_memory.h"
#include "rpc/call/call_context.h"
#include "server/call/cluster_facts.h"
#include "server/call/held_view.h"
#include "server/call/request_batcher.h"
#include "server/call/service_executors.h"
#include "server/call/service_limits.h"

namespace kvorum::server {

class Access;

struct Reads {
  const ClusterFacts& cluster;
  const ServiceLimits& limits;
  mvcc::Store& store;
  RequestBatcher& batcher;
  const Access& access;
  const ServiceExecutors& executors;
  AnswerMemory& answers;

  // A view of the store for a read that the caller may make in that very state.
  Result<HeldView> ReadFor(const rpc::Caller& caller, const mvcc::RangeRequest& request) const;
  Result<HeldView> ReadFor(const rpc::Caller& caller, const mvcc::TxnRequest& request) const;
};

}  // namespace kvorum::server
