// This member and its peers as the hash checks need them, over the services' context.
//
// Used by one thread, which it blocks. The context is filled in, and outlives it.
#pragma once

#include <vector>

#include "server/call/service_context.h"
#include "server/integrity/hash_checks.h"

namespace kvorum::server {

class ClusterHashes final : public HashSource {
 public:
  ClusterHashes(ServiceContext& context, PeerRequester& peers) : context_(context), peers_(peers) {}

  raft::MemberId member_id() const override { return context_.member_id; }
  Duration timeout() const override { return context_.limits.request_timeout; }
  Result<PeerHash> OwnHash(std::int64_t revision) override;
  std::vector<mvcc::KvHash> CompactionHashes() override;
  std::vector<PeerHashAnswer> PeerHashes(std::int64_t revision) override;
  Result<void> CatchUp() override;
  void RaiseAlarm(raft::MemberId member) override;

 private:
  ServiceContext& context_;
  PeerRequester& peers_;
};

}  // namespace kvorum::server
