// This member's leases: the lessor behind a lock, and the callers that wait for the end of a lease.
//
// The table (leases and their keys) is changed by the apply executor only, which reads it without
// the lock; deadlines are read and moved by any thread, under it. The lock is a leaf, held for less
// than a microsecond; by List for a 256th of the leases at a time, by VisitKeysOf and TimeToLive
// for kKeysAtOnce keys at a time, by Promote for all leases. Errors are the API's.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/lease_messages.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/metric.h"
#include "base/task.h"
#include "lease/lessor.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/records/txn.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// For the metrics. Any thread may read them.
struct LeaseCounters {
  std::atomic<std::uint64_t> granted{0};
  std::atomic<std::uint64_t> revoked{0};  // including expired ones
  std::atomic<std::uint64_t> renewed{0};
  std::atomic<std::uint64_t> expired{0};      // revoked by this member, as the leader
  Histogram ttl_s{DoublingBounds(1, 24), 1};  // of those granted
};

class Leases final : public mvcc::LeaseChecker, public mvcc::LeaseAttachments {
 public:
  Leases(const lease::Lessor::Options& options, const Clock& clock)
      : clock_(clock), lessor_(options) {}

  // The leases of a backend's content, without their keys.
  static Result<lease::LeaseTable> Load(mvcc::Snapshot& content);

  // ---- apply executor ----
  bool LeaseExists(std::int64_t lease) const override;
  void Attach(std::string_view key, std::int64_t lease) override;
  // Returns the record to store. kErrLeaseTtlTooLarge, kErrLeaseExist; kErrLeaseNotFound for id 0.
  Result<lease::LeaseRecord> Grant(lease::LeaseId id, std::int64_t ttl_s);
  // In the order in which they are deleted. The lease must exist.
  std::vector<std::string> KeysOf(lease::LeaseId id) const;
  // Removes the lease, which must exist, and runs tasks waiting for that.
  void Revoke(lease::LeaseId id);
  std::optional<lease::LeaseRecord> Checkpoint(lease::LeaseId id, std::int64_t remaining_s);
  const lease::LeaseTable& table() const { return lessor_.table(); }
  // Replaces all leases.
  void Install(lease::LeaseTable table);

  // This member leads in this term, and has applied everything of earlier ones.
  void Promote(raft::Term term, Duration extension);
  // Runs tasks waiting for the end of a lease: another member decides about it.
  void Demote();
  std::vector<lease::LeaseId> TakeExpired(std::size_t limit);
  std::vector<LeaseCheckpoint> TakeCheckpoints(std::size_t limit);
  std::uint32_t PendingCheckpoint(lease::LeaseId id) const;
  void CheckpointTakenBack(lease::LeaseId id, std::uint32_t number);
  // Runs tasks that have waited at least this long for the end of a lease.
  void EndLongWaits(Duration longest);

  // ---- any thread ----
  // The term in which this member decides about leases; 0: it does not.
  raft::Term primary_term() const { return primary_term_.load(std::memory_order_acquire); }
  bool HasExpired() const;
  // Its revocation failed: it is proposed again after a pause.
  void RetryExpired(lease::LeaseId id, Duration pause);

  using Renewal = lease::Lessor::Renewal;
  // `settled`, unless null, is kept if the outcome is kExpired, and then runs on the apply
  // executor, once: when the lease is revoked, this member is not primary any more, or it has
  // waited for long.
  lease::Lessor::Renewed Renew(lease::LeaseId id, Task settled);

  // nullopt if there is no such lease. kErrLeaderChanged if this member is not primary. The keys
  // are not of one moment, as VisitKeysOf has them; O(n log n) with them.
  Result<std::optional<LeaseTimes>> TimeToLive(lease::LeaseId id, bool keys) const;
  // Visits the keys of a lease as this member knows them, without the lock, until `visit` returns
  // false; returns whether it visited all. None without such a lease. Each key that is attached all
  // the time is visited; one that comes or goes meanwhile may be, and any may be twice.
  static constexpr std::size_t kKeysAtOnce = 128;
  bool VisitKeysOf(lease::LeaseId id, const std::function<bool(std::string_view)>& visit) const;
  // In order of expiry; by id if this member is not primary. O(n log n). Not of one moment: it may
  // contain some of the leases granted and revoked meanwhile.
  std::vector<lease::LeaseId> List() const;
  std::size_t size() const;

  LeaseCounters& counters() { return counters_; }
  // Aborts with the broken invariant. O(n).
  void CheckInvariants() const;

 private:
  // The tasks waiting for the end of a lease, numbered in order of arrival.
  using WaitKey = std::pair<lease::LeaseId, std::uint64_t>;
  struct Wait {
    TimePoint since;
    WaitKey key;
  };
  // Removes the tasks waiting for this lease; under the lock.
  std::vector<Task> TakeWaiting(lease::LeaseId id);

  const Clock& clock_;
  mutable std::mutex mutex_;  // guards the lessor (see above) and the waiting tasks
  lease::Lessor lessor_;
  std::map<WaitKey, Task> waiting_;
  std::deque<Wait> waits_;  // in order of arrival; includes settled ones, until their time is over
  std::uint64_t last_wait_ = 0;
  std::atomic<raft::Term> primary_term_{0};
  LeaseCounters counters_;
};

}  // namespace kvorum::server
