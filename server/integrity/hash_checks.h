// etcd's three checks that members hold the same keys, in its log lines: at the start, now and then
// on the leader, and of the hashes that compactions leave. They compare HashKV at equal revisions.
//
// Used by one thread, which they block while they hash and ask. What a check found goes to the log
// and, for the latter two, into a CORRUPT alarm, which the whole cluster obeys.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "mvcc/store/hash.h"
#include "server/integrity/peer_hashes.h"

namespace kvorum::server {

// This member, as the checks need it.
class HashSource {
 public:
  virtual ~HashSource() = default;
  virtual raft::MemberId member_id() const = 0;
  virtual Duration timeout() const = 0;
  // Up to a revision, 0 for the newest; with the revision that the store has reached.
  virtual Result<PeerHash> OwnHash(std::int64_t revision) = 0;
  virtual std::vector<mvcc::KvHash> CompactionHashes() = 0;
  virtual std::vector<PeerHashAnswer> PeerHashes(std::int64_t revision) = 0;
  // Returns once everything committed before the call is applied here.
  virtual Result<void> CatchUp() = 0;
  // Proposes the CORRUPT alarm of a member, kNone for all of them.
  virtual void RaiseAlarm(raft::MemberId member) = 0;
};

class HashChecks {
 public:
  explicit HashChecks(HashSource& source) : source_(source) {}

  // Before the member serves anybody. An error if a peer has another hash at our revision and
  // compaction.
  Result<void> AtStart();
  // On the leader. An error if a hash could not be made.
  Result<void> Periodic();
  // On the leader: of the newest compaction whose hash all members have, unless it was checked.
  void OfCompactions();

 private:
  // Returns whether older hashes need not be compared.
  bool CompareCompaction(const mvcc::KvHash& own, const std::vector<PeerHashAnswer>& peers);

  HashSource& source_;
  std::int64_t checked_revision_ = 0;  // of the last compaction equal on all members
};

}  // namespace kvorum::server
