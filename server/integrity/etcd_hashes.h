// Compares this member's HashKV with that of the cluster's members of etcd, which do not know the
// incremental hash (replica_check.h). What it finds goes to the log and into the metrics: it cannot
// know which of two programs is right.
//
// It compares the hashes that compactions leave, which cost nothing extra. Where clients compact
// nothing, and when another member of etcd is found, it compares everything, for which both members
// read all their keys: then an hour passes before the next time.
//
// Runs on the executor, which it blocks while it asks. The owner stops the executor, then destroys
// this. The counters are for any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "mvcc/store/hash.h"
#include "server/integrity/peer_hashes.h"

namespace kvorum::server {

// Members of etcd against this member's hash, at the same revision.
struct EtcdComparison {
  std::size_t equal = 0;
  std::vector<const PeerHashAnswer*> different;
};
// Answers of other compactions and errors say nothing.
EtcdComparison CompareWithEtcd(const mvcc::KvHash& own, const std::vector<PeerHashAnswer>& answers);

struct Reads;

class EtcdHashes {
 public:
  EtcdHashes(Executor& executor, const Reads& reads, PeerRequester& peers, Duration interval)
      : executor_(executor), reads_(reads), peers_(peers), interval_(interval) {}
  void Start();

  struct Counters {
    std::atomic<bool> agree{true};          // no member of etcd is known to differ
    std::atomic<std::int64_t> revision{0};  // where they were equal last
  };
  const Counters& counters() const { return counters_; }

 private:
  void LookInTurn();
  void Look();
  // Those that answer.
  MembershipView FindEtcdMembers(const MembershipView& all) const;
  bool CompareCompactions(const MembershipView& etcd);
  // False if nothing could be compared.
  bool Compare(const mvcc::KvHash& own, const MembershipView& etcd);

  Executor& executor_;
  const Reads& reads_;
  PeerRequester& peers_;
  const Duration interval_;
  std::set<raft::MemberId> known_;
  std::int64_t checked_revision_ = 0;  // of the last compaction compared
  TimePoint compare_all_at_;
  Counters counters_;
};

}  // namespace kvorum::server
