// This member and its peers as the hash checks need them, over the services' parts.
//
// Used by one thread, which it blocks. They outlive it.
#pragma once

#include <vector>

#include "server/call/reads.h"
#include "server/integrity/hash_checks.h"

namespace kvorum::server {

class Proposer;

class ClusterHashes final : public HashSource {
 public:
  ClusterHashes(Proposer& proposer, const Reads& reads, PeerRequester& peers)
      : proposer_(proposer), reads_(reads), peers_(peers) {}

  raft::MemberId member_id() const override { return reads_.cluster.member_id; }
  Duration timeout() const override { return reads_.limits.request_timeout; }
  Result<PeerHash> OwnHash(std::int64_t revision) override;
  std::vector<mvcc::KvHash> CompactionHashes() override;
  std::vector<PeerHashAnswer> PeerHashes(std::int64_t revision) override;
  Result<void> CatchUp() override;
  void RaiseAlarm(raft::MemberId member) override;

 private:
  Proposer& proposer_;
  const Reads& reads_;
  PeerRequester& peers_;
};

}  // namespace kvorum::server
