// Renewals and times to live of leases, wherever their primary is: here, if a quorum confirms after
// each request that this member leads, or at the leader's peer port. Both may be repeated, so that
// one which was handed to a leader that hangs is handed to the next leader once that is known: a
// short lease does not wait for the time-out. The first answer that says something counts.
//
// Thread-safe. Callbacks run once, on any thread, perhaps within the call, and must not block it.
// An answered renewal holds because a quorum confirmed the leader after the request came, so the
// next leader is elected later, and gives every lease its whole time then. A renewal delayed by a
// pause of this process asks for its confirmation again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "api/lease_messages.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/failpoint/failpoint.h"
#include "base/shared_bytes.h"
#include "base/task.h"
#include "lease/lease_record.h"
#include "proto/raft_types.h"

namespace kvorum::rpc {
class Loop;
}  // namespace kvorum::rpc

namespace kvorum::server {

// Paths of the peer port, and a leader's answer there for a lease that does not exist.
inline constexpr std::string_view kLeasesPath = "/leases";
inline constexpr std::string_view kLeasesInternalPath = "/leases/internal";
inline constexpr std::string_view kLeaseNotFoundText = "lease not found";

class LeaseExpiry;
class Leases;
class PeerPoster;
struct Reads;

class LeaseAccess {
 public:
  struct Parts {
    Leases& leases;
    LeaseExpiry& expiry;
    PeerPoster& poster;  // to the leader
  };
  // They outlive this and all its requests.
  LeaseAccess(const Reads& reads, const Parts& parts) : reads_(reads), parts_(parts) {}

  // The time to live of the lease from now on; kErrLeaseNotFound, kErrNotPrimary (this member leads
  // and has no quorum), kErrNoLeader, kErrTimeout (also for a lease that is expired and cannot be
  // revoked).
  using RenewCallback = std::move_only_function<void(Result<std::int64_t> ttl_s)>;
  // `loop` is the calling loop, or null.
  void Renew(rpc::Loop* loop, lease::LeaseId id, RenewCallback callback);
  // kErrLeaseNotFound, kErrLeaderChanged, kErrNoLeader, kErrTimeout, …
  using TimesCallback = std::move_only_function<void(Result<LeaseTimes> times)>;
  void TimeToLive(rpc::Loop* loop, LeaseTimeToLiveRequest request, TimesCallback callback);

  // For a follower's request: kErrNotPrimary unless this member leads.
  void RenewForMember(lease::LeaseId id, RenewCallback callback);
  void TimeToLiveForMember(LeaseTimeToLiveRequest request, TimesCallback callback);

  // At the end, when nothing runs any more and what the callbacks refer to is still there: what was
  // posted to a leader and not answered goes.
  void DropPosted();

 private:
  // Two failpoints of one place, which tools tell apart.
  enum class Asked : std::uint8_t { kByClient, kByMember };
  void RenewHere(rpc::Loop* loop, lease::LeaseId id, RenewCallback callback);
  void TimeToLiveHere(rpc::Loop* loop, LeaseTimeToLiveRequest request, Asked asked,
                      TimesCallback callback);
  void LookUpTimes(LeaseTimeToLiveRequest request, TimesCallback callback);
  // Runs the task when the point has acted: at once if it is not set. It may sleep, and the caller
  // is an I/O loop, which has others to serve.
  template <failpoint::Name name>
  void Pass(Task task);

  // One request to the primary, made here or there until it is answered.
  template <class Value>
  struct Query {
    std::function<void(rpc::Loop* loop, std::move_only_function<void(Result<Value>)> callback)>
        ask_here;
    std::string_view path;
    SharedBytes body;
    std::function<Result<Value>(std::string_view answer)> decode;
    TimePoint deadline;
    std::move_only_function<void(Result<Value>)> callback;
    bool is_told = false;  // guarded by mutex_
  };
  template <class Value>
  void Tell(Query<Value>& query, Result<Value> answer);
  template <class Value>
  bool IsTold(const Query<Value>& query);
  // A request that was posted to a member and is not answered yet.
  struct Posted {
    raft::MemberId leader = raft::kNone;
    Task ask_again;
  };
  // Returns its number. As many wait as the poster takes.
  std::uint64_t Remember(Posted posted);
  // False if it was handed to another member meanwhile.
  bool Forget(std::uint64_t number);
  // Hands on what was posted to a member that leads no more, and looks again after a pause.
  void FollowLeader();

  template <class Value>
  void Ask(rpc::Loop* loop, std::shared_ptr<Query<Value>> query);
  template <class Value>
  void AskLeader(std::shared_ptr<Query<Value>> query);
  template <class Value>
  void AskAgain(std::shared_ptr<Query<Value>> query);

  // A renewal at a member that led in `term` when the request came.
  struct Renewing {
    raft::Term term = 0;
    lease::LeaseId id = lease::kNoLease;
    TimePoint asked;
    TimePoint deadline;        // for waiting for the end of the lease
    bool was_held_up = false;  // at the failpoint
    RenewCallback callback;
  };
  void ConfirmThenRenew(rpc::Loop* loop, std::unique_ptr<Renewing> renewing);
  void RenewConfirmed(std::unique_ptr<Renewing> renewing);
  // Returns true if it continues later, by itself.
  bool IsHeldUp(std::unique_ptr<Renewing>& renewing);
  // Removes the lease's checkpoint through the log, then renews.
  void TakeCheckpointBack(std::unique_ptr<Renewing> renewing);
  bool IsPrimaryIn(raft::Term term) const;
  TimePoint Now() const;

  const Reads& reads_;
  const Parts parts_;
  std::mutex mutex_;  // guards the following
  std::map<std::uint64_t, Posted> posted_;
  std::uint64_t next_number_ = 0;
  bool is_following_ = false;  // while something is posted
};

}  // namespace kvorum::server
