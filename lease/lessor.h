// The lessor: leases with their deadlines. What is granted, revoked, attached and checkpointed goes
// through the log and is the same on every member (LeaseTable); deadlines exist on the primary
// only, which is the leader, and are told to nobody: a new primary gives every lease its time anew.
//
//   lessor.Grant(…), Revoke(…), Checkpoint(…), Attach(…)    as entries are applied
//   lessor.Promote(now, extension), Demote()                leadership comes and goes
//   lessor.Renew(id, now)                                   a client keeps its lease alive
//   lessor.TakeExpired(now, …), TakeCheckpoints(now, …)     what the primary has to propose
//
// A pure state machine: time is passed in, nothing is logged. Not thread-safe.
// Why no lease ends early: a deadline lies a whole time to live (or what was left of it at the last
// checkpoint) behind the moment of the grant, of the last renewal, or of the promotion, whichever
// is the latest, and a renewal that a checkpoint contradicts waits until the log has taken the
// checkpoint back. A lease whose deadline has passed is never renewed: it waits for its revocation.
// Why none lives for ever: an expired lease is given out again until it is revoked.
// Units: seconds where the API has seconds.
// Cost: O(log n); Promote and List O(n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "lease/deadline_heap.h"
#include "lease/lease_record.h"
#include "lease/lease_table.h"

namespace kvorum::lease {

// Of the API.
inline constexpr std::int64_t kMaxTtlSeconds = 9'000'000'000;

class Lessor {
 public:
  struct Options {
    // Shorter ones are made this long: a lease must outlast an election.
    std::int64_t min_ttl_s = 2;
    // Whether what is left of a long lease is written to the log every now and then.
    bool checkpoints = false;
    Duration checkpoint_interval = std::chrono::minutes(5);
    // When a lease that was given out as expired, and is still there, is given out again.
    Duration retry = std::chrono::seconds(7);
  };
  explicit Lessor(const Options& options) : options_(options) {}

  // ---- what the log says ----

  enum class Refusal : std::uint8_t { kExists, kTtlTooLarge, kNoId };
  struct Granted {
    std::optional<Refusal> refusal;
    LeaseRecord record;  // to be stored
  };
  // At `now` the primary starts to count.
  Granted Grant(LeaseId id, std::int64_t ttl_s, TimePoint now);
  // False if there is none.
  bool Revoke(LeaseId id);
  // What is to be stored; nullopt if there is no such lease. Changes no deadline.
  std::optional<LeaseRecord> Checkpoint(LeaseId id, std::int64_t remaining_s);
  void Attach(std::string_view key, LeaseId id) { table_.Attach(key, id); }
  // All of another state: what a member starts with, or what a snapshot brings; `table` gets what
  // was there. Not primary.
  void Exchange(LeaseTable& table);

  const LeaseTable& table() const { return table_; }

  // ---- of the primary ----

  // Every lease gets its time to live from now on, and `extension` beyond it: clients had nobody to
  // renew with while there was no leader.
  void Promote(TimePoint now, Duration extension);
  void Demote();
  bool is_primary() const { return is_primary_; }

  enum class Renewal : std::uint8_t {
    kRenewed,
    kNotFound,
    kNotPrimary,
    kExpired,          // to be answered when it is revoked
    kNeedsCheckpoint,  // to be tried again when the checkpoint is taken back
  };
  struct Renewed {
    Renewal outcome = Renewal::kNotFound;
    std::int64_t ttl_s = 0;
  };
  Renewed Renew(LeaseId id, TimePoint now);

  // Leases whose deadline has passed, each once until the retry is due. At most `limit`.
  std::vector<LeaseId> TakeExpired(TimePoint now, std::size_t limit);
  bool HasExpired(TimePoint now) const {
    return is_primary_ && !heap_.empty() && heap_.front().deadline <= now;
  }
  // Its revocation failed: it is given out again from `when` on.
  void RetryExpired(LeaseId id, TimePoint when);

  // What is left of leases that have been without a checkpoint for an interval. At most `limit`.
  std::vector<LeaseRecord> TakeCheckpoints(TimePoint now, std::size_t limit);
  // The lease's last checkpoint that is not taken back, as a number; 0: there is none. To take it
  // back, the caller proposes one of 0 behind it, and when that is applied tells the number: if
  // there has been no other since, none is on its way any more.
  std::uint32_t PendingCheckpoint(LeaseId id) const;
  void CheckpointTakenBack(LeaseId id, std::uint32_t number);

  // ---- to be told to clients ----

  struct TimeLeft {
    std::int64_t ttl_s = 0;  // whole seconds that are left; 0 once it is expired
    std::int64_t granted_s = 0;
  };
  // Nullopt without such a lease. Of the primary.
  std::optional<TimeLeft> TimeToLive(LeaseId id, TimePoint now) const;

  struct Listed {
    TimePoint deadline;  // the latest there is where this is not the primary
    LeaseId id = kNoLease;
    friend auto operator<=>(const Listed&, const Listed&) = default;
  };
  // Adds the leases of one part of the table, in no order: the caller sorts them where it holds
  // nobody up.
  void List(std::size_t part, std::vector<Listed>& listed) const;

  // Aborts with what is broken. O(n).
  void CheckInvariants() const;

 private:
  struct DueCheckpoint {
    TimePoint when;
    LeaseId id = kNoLease;
  };
  bool IsCheckpointed(const Lease& lease) const;
  void ScheduleCheckpoint(const Lease& lease, TimePoint now);

  const Options options_;
  LeaseTable table_;
  bool is_primary_ = false;
  DeadlineHeap heap_;                      // all leases on the primary, empty elsewhere
  std::deque<DueCheckpoint> checkpoints_;  // in order of time; of leases that may be gone
  std::uint32_t last_checkpoint_ = 0;
};

}  // namespace kvorum::lease
