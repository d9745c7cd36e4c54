// A process's checks that its member holds the same keys as the others, put together.
//
// Threads: CheckAtStart on the caller's thread, before the member runs; everything else runs on the
// executor, which the owner stops before it destroys this. The context is filled in.
#pragma once

#include "base/error.h"
#include "server/integrity/cluster_hashes.h"
#include "server/integrity/hash_check_timer.h"
#include "server/integrity/replica_check.h"

namespace kvorum::server {

struct IntegrityOptions {
  bool checks_at_start = false;  // the feature gate InitialCorruptCheck
  HashCheckTimer::Options hash_checks;
  ReplicaCheckAction replica_check = ReplicaCheckAction::kQuarantine;
};

class Integrity {
 public:
  Integrity(Executor& executor, ServiceContext& context, PeerRequester& peers,
            Quarantine& quarantine, const IntegrityOptions& options);

  // Compares this member with those that run, for one that has been a member before. An error if
  // it differs: then it must not serve.
  Result<void> CheckAtStart();
  void Start();

  const ReplicaCheck& replica_check() const { return replica_check_; }

 private:
  ServiceContext& context_;
  PeerRequester& peers_;
  const IntegrityOptions options_;
  HashCheckTimer hash_checks_;
  ReplicaCheck replica_check_;
};

}  // namespace kvorum::server
