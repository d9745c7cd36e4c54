// This member's leases: the lessor behind a lock, and who waits for the end of a lease.
//
// The table (which leases, which keys) is changed by the apply executor only, which reads it
// without the lock; deadlines are read and moved by any thread, under it. The lock is a leaf, held
// for less than a microsecond; by List for a 256th of the leases at a time, by TimeToLive for the
// keys of its lease, by Promote for all leases. Errors are the API's.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "lease/lessor.h"
#include "mvcc/backend.h"
#include "mvcc/txn.h"
#include "proto/raft_types.h"
#include "server/messages/lease_messages.h"

namespace kvorum::server {

// For the metrics. Any thread may read them.
struct LeaseCounters {
  std::atomic<std::uint64_t> granted{0};
  std::atomic<std::uint64_t> revoked{0};  // expired ones too
  std::atomic<std::uint64_t> renewed{0};
  std::atomic<std::uint64_t> expired{0};  // revoked by this member, as the leader
};

class Leases final : public mvcc::LeaseChecker, public mvcc::LeaseAttachments {
 public:
  Leases(const lease::Lessor::Options& options, const Clock& clock)
      : clock_(clock), lessor_(options) {}

  // The leases of a content, without their keys.
  static Result<lease::LeaseTable> Load(mvcc::Snapshot& content);

  // ---- apply executor ----
  bool LeaseExists(std::int64_t lease) const override;
  void Attach(std::string_view key, std::int64_t lease) override;
  // What is to be stored. kErrLeaseTtlTooLarge, kErrLeaseExist; kErrLeaseNotFound for id 0.
  Result<lease::LeaseRecord> Grant(lease::LeaseId id, std::int64_t ttl_s);
  // In the order in which they are deleted. There is such a lease.
  std::vector<std::string> KeysOf(lease::LeaseId id) const;
  // Forgets the lease, and runs what waited for that. There is such a lease.
  void Revoke(lease::LeaseId id);
  std::optional<lease::LeaseRecord> Checkpoint(lease::LeaseId id, std::int64_t remaining_s);
  const lease::LeaseTable& table() const { return lessor_.table(); }
  // In the place of all.
  void Install(lease::LeaseTable table);

  // This member leads in this term, and has applied everything of earlier ones.
  void Promote(raft::Term term, Duration extension);
  // Runs what waited for the end of a lease: another one decides it.
  void Demote();
  std::vector<lease::LeaseId> TakeExpired(std::size_t limit);
  std::vector<LeaseCheckpoint> TakeCheckpoints(std::size_t limit);
  std::uint32_t PendingCheckpoint(lease::LeaseId id) const;
  void CheckpointTakenBack(lease::LeaseId id, std::uint32_t number);
  // Runs what has waited for the end of a lease for as long as that.
  void EndLongWaits(Duration longest);

  // ---- any thread ----
  // In which this member decides about leases; 0: it does not.
  raft::Term primary_term() const { return primary_term_.load(std::memory_order_acquire); }
  bool HasExpired() const;
  // Its revocation did not come to pass: it is proposed again after a pause.
  void RetryExpired(lease::LeaseId id, Duration pause);

  using Renewal = lease::Lessor::Renewal;
  // `settled`, unless null, is kept where the outcome is kExpired, and then runs on the apply
  // executor, once: when the lease is revoked, this member is primary no more, or it has waited for
  // long.
  lease::Lessor::Renewed Renew(lease::LeaseId id, Task settled);

  // Nullopt if there is no such lease. kErrLeaderChanged where this member is not primary.
  Result<std::optional<LeaseTimes>> TimeToLive(lease::LeaseId id, bool keys) const;
  // The keys of a lease as this member knows them; none without such a lease.
  std::vector<std::string> CopyKeysOf(lease::LeaseId id) const;
  // What expires first first; by id where this member is not primary. O(n log n). Not of one
  // moment: of what is granted and revoked meanwhile it may have some.
  std::vector<lease::LeaseId> List() const;
  std::size_t size() const;

  LeaseCounters& counters() { return counters_; }
  // Aborts with what is broken. O(n).
  void CheckInvariants() const;

 private:
  // Who waits for the end of which lease, numbered as they came.
  using WaitKey = std::pair<lease::LeaseId, std::uint64_t>;
  struct Wait {
    TimePoint since;
    WaitKey key;
  };
  // Takes who waits for this lease; under the lock.
  std::vector<Task> TakeWaiting(lease::LeaseId id);

  const Clock& clock_;
  mutable std::mutex mutex_;  // guards the lessor (see above) and who waits
  lease::Lessor lessor_;
  std::map<WaitKey, Task> waiting_;
  std::deque<Wait> waits_;  // as they came; those that are settled too, until their time is over
  std::uint64_t last_wait_ = 0;
  std::atomic<raft::Term> primary_term_{0};
  LeaseCounters counters_;
};

}  // namespace kvorum::server
