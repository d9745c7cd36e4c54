// Runs etcd's two recurring hash checks on the leader, each at its interval.
//
// Runs on the executor, which the checks block. The owner stops the executor, then destroys this.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/task.h"
#include "server/integrity/cluster_hashes.h"

namespace kvorum::server {

class HashCheckTimer {
 public:
  struct Options {
    Duration periodic{};        // --corrupt-check-time; 0: never
    Duration of_compactions{};  // --compact-hash-check-time; 0: never
  };

  HashCheckTimer(Executor& executor, Proposer& proposer, const Reads& reads, PeerRequester& peers,
                 const Options& options);
  void Start();

 private:
  bool IsLeader() const;
  void CheckPeriodically();
  void CheckCompactions();

  Executor& executor_;
  const ClusterFacts& cluster_;
  const Options options_;
  ClusterHashes source_;
  HashChecks checks_{source_};
};

}  // namespace kvorum::server
