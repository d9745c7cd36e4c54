// The lessor: leases with their deadlines. Grants, revocations, attachments and checkpoints go
// through the log and are the same on every member (LeaseTable). Deadlines exist on the primary
// only, which is the leader, and are not replicated: a new primary gives every lease its time anew.
//
//   lessor.Grant(…), Revoke(…), Checkpoint(…), Attach(…)    as entries are applied
//   lessor.Promote(now, extension), Demote()                leadership comes and goes
//   lessor.Renew(id, now)                                   a client keeps its lease alive
//   lessor.TakeExpired(now, …), TakeCheckpoints(now, …)     the primary's next proposals
//
// A pure state machine: time is passed in, nothing is logged. Not thread-safe.
// No lease ends early: its deadline is a whole time to live (or the time left at the last
// checkpoint) after the latest of the grant, the last renewal and the promotion, and a renewal that
// a checkpoint contradicts waits until the log has removed the checkpoint. A lease whose deadline
// has passed is never renewed: it waits for its revocation.
// No lease lives for ever: an expired lease is returned again until it is revoked.
// Units: seconds where the API has seconds.
// Cost: O(log n); Promote and List O(n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "lease/deadline_heap.h"
#include "lease/lease_record.h"
#include "lease/lease_table.h"

namespace kvorum::lease {

// The API's limit.
inline constexpr std::int64_t kMaxTtlSeconds = 9'000'000'000;

class Lessor {
 public:
  struct Options {
    // Shorter times are raised to this: a lease must outlast an election.
    std::int64_t min_ttl_s = 2;
    // True: the time left of long leases is written to the log periodically.
    bool checkpoints = false;
    Duration checkpoint_interval = std::chrono::minutes(5);
    // The time after which an expired lease that still exists is returned again.
    Duration retry = std::chrono::seconds(7);
  };
  explicit Lessor(const Options& options) : options_(options) {}

  // ---- changes from the log ----

  enum class Refusal : std::uint8_t { kExists, kTtlTooLarge, kNoId };
  struct Granted {
    std::optional<Refusal> refusal;
    LeaseRecord record;  // to be stored
  };
  // The primary starts to count at `now`.
  Granted Grant(LeaseId id, std::int64_t ttl_s, TimePoint now);
  // Returns false if there is no such lease.
  bool Revoke(LeaseId id);
  // Returns the record to store; nullopt if there is no such lease. Changes no deadline.
  std::optional<LeaseRecord> Checkpoint(LeaseId id, std::int64_t remaining_s);
  void Attach(std::string_view key, LeaseId id) { table_.Attach(key, id); }
  // Replaces the whole state by another: at a member's start, or by a snapshot; `table` gets the
  // old state. Not on the primary.
  void Exchange(LeaseTable& table);

  const LeaseTable& table() const { return table_; }

  // ---- on the primary ----

  // Gives every lease its time to live from now on, plus `extension`: clients could not renew while
  // there was no leader.
  void Promote(TimePoint now, Duration extension);
  void Demote();
  bool is_primary() const { return is_primary_; }

  enum class Renewal : std::uint8_t {
    kRenewed,
    kNotFound,
    kNotPrimary,
    kExpired,          // answered when it is revoked
    kNeedsCheckpoint,  // retried when the checkpoint is removed
  };
  struct Renewed {
    Renewal outcome = Renewal::kNotFound;
    std::int64_t ttl_s = 0;
  };
  Renewed Renew(LeaseId id, TimePoint now);

  // Leases whose deadline has passed, each once until its retry is due. At most `limit`.
  std::vector<LeaseId> TakeExpired(TimePoint now, std::size_t limit);
  bool HasExpired(TimePoint now) const {
    return is_primary_ && !heap_.empty() && heap_.front().deadline <= now;
  }
  // Its revocation failed: it is returned again from `when` on.
  void RetryExpired(LeaseId id, TimePoint when);

  // Checkpoints to come, those of leases that are gone included: hardly more than twice the leases.
  std::size_t scheduled_checkpoints() const { return checkpoints_.size(); }
  // The time left of leases without a checkpoint for an interval. At most `limit`.
  std::vector<LeaseRecord> TakeCheckpoints(TimePoint now, std::size_t limit);
  // The lease's last checkpoint that was not removed, as a number; 0: none. To remove it, the
  // caller proposes a checkpoint of 0 after it, and passes the number when that is applied: if
  // there has been no other checkpoint since, none is in flight any more.
  std::uint32_t PendingCheckpoint(LeaseId id) const;
  void CheckpointTakenBack(LeaseId id, std::uint32_t number);

  // ---- answers to clients ----

  struct TimeLeft {
    std::int64_t ttl_s = 0;  // whole seconds left; 0 once it is expired
    std::int64_t granted_s = 0;
  };
  // nullopt if there is no such lease. On the primary only.
  std::optional<TimeLeft> TimeToLive(LeaseId id, TimePoint now) const;

  struct Listed {
    TimePoint deadline;  // the maximum time if this is not the primary
    LeaseId id = kNoLease;
    friend auto operator<=>(const Listed&, const Listed&) = default;
  };
  // Adds the leases of one part of the table, unordered: the caller sorts them where that delays no
  // request.
  void List(std::size_t part, std::vector<Listed>& listed) const;

  // Aborts with the broken invariant. O(n).
  void CheckInvariants() const;

 private:
  struct DueCheckpoint {
    TimePoint when;
    LeaseId id = kNoLease;
  };
  bool IsCheckpointed(const Lease& lease) const;
  void ScheduleCheckpoint(const Lease& lease, TimePoint now);
  void ForgetGoneCheckpoints();

  const Options options_;
  LeaseTable table_;
  bool is_primary_ = false;
  DeadlineHeap heap_;                      // all leases on the primary, empty elsewhere
  std::deque<DueCheckpoint> checkpoints_;  // in order of time; the leases may be gone
  std::uint32_t last_checkpoint_ = 0;
};

}  // namespace kvorum::lease
