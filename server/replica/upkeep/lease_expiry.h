// The leader's own proposals about leases: becomes their primary, proposes the revocation of
// expired ones, and checkpoints of long ones.
//
// This member becomes primary in the term in which it leads once an entry of that term is applied:
// then everything that earlier leaders had committed is applied, revocations too. It stops as soon
// as it knows that it no longer leads. All its proposals are bound to that term
// (Proposal::only_in_term): a stalled leader that resumes can put entries into its own log, but
// they are never committed. In addition, revocations wait until a quorum has confirmed the
// leadership after the lease was found expired, or at most an election time-out ago.
//
// Works on the apply executor; LeadershipChanged and TakeCheckpointBack may be called by any
// thread. The owner stops the replica and Stop, then the executors, then destroys it. Bounds: a
// limited number of revocations is proposed and not applied (Options), so that a crowd of leases
// that expire at once goes through the log beside the writes of clients and not in front of them.
// None is proposed while it would be refused: after a refusal for a pause, and under a CORRUPT
// alarm.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "api/lease_messages.h"
#include "base/clock.h"
#include "base/task.h"
#include "lease/lease_record.h"
#include "proto/raft_types.h"
#include "server/apply/read_task.h"
#include "server/replica/drive/proposal.h"

namespace kvorum::server {

class Alarms;
class Leases;
class RaftStatus;
class RequestIdSource;

class LeaseExpiry {
 public:
  // The bound of revocations that are not applied yet.
  static constexpr std::size_t kMostInFlight = 512;
  struct Options {
    Duration tick = std::chrono::milliseconds(100);
    Duration election_timeout = std::chrono::seconds(1);
    Duration request_timeout = std::chrono::seconds(7);
    std::size_t max_in_flight = kMostInFlight;
  };
  // Implemented by the replica and the applier.
  struct Hooks {
    std::function<void(std::vector<Proposal> proposals)> propose;
    // Runs the task when a quorum has confirmed the current leader.
    std::function<void(ReadTask task)> confirm;
    // The term of the last entry applied.
    std::function<raft::Term()> applied_term;
  };

  LeaseExpiry(Leases& leases, const RaftStatus& status, const Alarms& alarms, RequestIdSource& ids,
              Executor& apply, const Options& options, Hooks hooks);
  LeaseExpiry(const LeaseExpiry&) = delete;
  LeaseExpiry& operator=(const LeaseExpiry&) = delete;

  void Start();
  void Stop();
  void LeadershipChanged();
  // Called by the apply executor after each batch.
  void OnApplied();
  // Revocations that are not applied yet; any thread.
  std::size_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  // Removes the checkpoint of a lease through this term's log, after every checkpoint of it that
  // was proposed before. `done` runs on the apply or the raft executor.
  using TakenBack = std::move_only_function<void(bool is_taken_back)>;
  void TakeCheckpointBack(raft::Term term, lease::LeaseId id, TakenBack done);

 private:
  class RevokeWaiter;
  class TakeBackWaiter;

  void ArmTick();
  void OnTick();
  // Follows Raft: becomes primary of the term in which it leads, or stops being it.
  void FollowLeadership();
  bool IsConfirmed() const;
  void Confirm();
  void Expire();
  void Revoke(const std::vector<lease::LeaseId>& ids);
  void Revoked(lease::LeaseId id, bool applied);
  void Checkpoint();
  void ProposeCheckpoints(raft::Term term, std::span<const LeaseCheckpoint> checkpoints,
                          std::unique_ptr<Waiter> waiter);

  Leases& leases_;
  const RaftStatus& status_;
  const Alarms& alarms_;
  RequestIdSource& ids_;
  Executor& apply_;
  const Options options_;
  const Hooks hooks_;

  bool stopped_ = false;
  std::atomic<std::size_t> in_flight_ = 0;
  TimePoint not_before_;  // after a refused revocation: none is proposed before this
  bool expire_posted_ = false;
  bool confirming_ = false;
  raft::Term confirmed_term_ = 0;
  TimePoint confirmed_at_;  // when the last successful confirmation was requested
};

}  // namespace kvorum::server
