// A process's checks that its member holds the same keys as the others, put together.
//
// Threads: CheckAtStart on the caller's thread, before the member runs; everything else runs on the
// executor, which the owner stops before it destroys this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "server/integrity/cluster_hashes.h"
#include "server/integrity/etcd_hashes.h"
#include "server/integrity/hash_check_timer.h"
#include "server/integrity/older_members.h"
#include "server/integrity/replica_check.h"

namespace kvorum::server {

struct IntegrityOptions {
  bool checks_at_start = false;  // the feature gate InitialCorruptCheck
  HashCheckTimer::Options hash_checks;
  ReplicaCheckAction replica_check = ReplicaCheckAction::kQuarantine;
  Duration etcd_hashes_interval = std::chrono::minutes(1);
  OlderMembersAction older_members = OlderMembersAction::kRefuse;
};

class Integrity {
 public:
  struct Parts {
    Executor& executor;
    Proposer& proposer;
    const Reads& reads;
    PeerRequester& peers;
    Quarantine& quarantine;
    MemberPatches& patches;
  };
  // They outlive it.
  Integrity(const Parts& parts, const IntegrityOptions& options);

  // Compares this member with those that run, for one that has been a member before. An error if
  // it differs: then it must not serve.
  Result<void> CheckAtStart();
  // Asks the other members for their versions, if auth is on or this member `joins`: then the
  // versions are still unknown. An error if it must not run beside them while auth is on, and it
  // is. A text if that is how it must end (Applier::RefuseAuthWhileJoining) should auth turn out to
  // be on.
  Result<std::optional<std::string>> CheckOlderMembers(const std::vector<Member>& others,
                                                       bool joins);
  void Start();

  const ReplicaCheck& replica_check() const { return replica_check_; }
  const EtcdHashes& etcd_hashes() const { return etcd_hashes_; }

 private:
  const Parts parts_;
  const IntegrityOptions options_;
  HashCheckTimer hash_checks_;
  ReplicaCheck replica_check_;
  EtcdHashes etcd_hashes_;
  OlderMembers older_members_;
};

}  // namespace kvorum::server
