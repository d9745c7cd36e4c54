#include "server/services/lease/lease_access.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/failpoint/failpoint.h"
#include "server/call/reads.h"
#include "server/call/request_batcher.h"
#include "server/peer/transport/peer_poster.h"
#include "server/replica/drive/replica.h"
#include "server/replica/upkeep/lease_expiry.h"
#include "server/state/leases.h"

namespace kvorum::server {
namespace {

// The pause between two attempts to find the primary, and between two looks whether it is the same.
constexpr Duration kRetryPause = std::chrono::milliseconds(50);
constexpr unsigned kOk = 200;
constexpr unsigned kNotFound = 404;

}  // namespace

TimePoint LeaseAccess::Now() const { return reads_.cluster.Now(); }

bool LeaseAccess::IsPrimaryIn(raft::Term term) const {
  return reads_.cluster.replica.leading_term() == term && parts_.leases.primary_term() == term;
}

template <failpoint::Name name>
void LeaseAccess::Pass(Task task) {
  if (!failpoint::kPoint<name>.IsArmed()) return task();
  reads_.executors.readers->Post([task = std::move(task)]() mutable {
    static_cast<void>(failpoint::kPoint<name>.Evaluate());
    task();
  });
}

// ---- as the leader ----

void LeaseAccess::RenewHere(rpc::Loop* loop, lease::LeaseId id, RenewCallback callback) {
  ConfirmThenRenew(
      loop, std::make_unique<Renewing>(Renewing{.term = reads_.cluster.replica.leading_term(),
                                                .id = id,
                                                .asked = {},
                                                .deadline = Now() + reads_.limits.request_timeout,
                                                .callback = std::move(callback)}));
}

void LeaseAccess::ConfirmThenRenew(rpc::Loop* loop, std::unique_ptr<Renewing> renewing) {
  if (renewing->term == 0) return renewing->callback(kErrNotPrimary.Fail());
  renewing->asked = Now();
  // Everything committed when the request came is applied then: a lease that is missing has been
  // revoked, or was never granted.
  reads_.batcher.Read(
      loop, [this, renewing = std::move(renewing)](const Result<void>& confirmed) mutable {
        if (!confirmed.has_value()) return renewing->callback(kErrNotPrimary.Fail());
        RenewConfirmed(std::move(renewing));
      });
}

// A failpoint passed by every renewal of a live lease. It may sleep, and this is an I/O loop, which
// has others to serve.
bool LeaseAccess::IsHeldUp(std::unique_ptr<Renewing>& renewing) {
  if (!KV_FAILPOINT_ARMED("beforeCheckpointInLeaseRenew") || renewing->was_held_up) return false;
  const auto times = parts_.leases.TimeToLive(renewing->id, /*keys=*/false);
  if (!times.has_value() || !times->has_value() || (*times)->ttl_s <= 0) return false;
  renewing->was_held_up = true;
  reads_.executors.readers->Post([this, renewing = std::move(renewing)]() mutable {
    KV_FAILPOINT("beforeCheckpointInLeaseRenew");
    RenewConfirmed(std::move(renewing));
  });
  return true;
}

void LeaseAccess::RenewConfirmed(std::unique_ptr<Renewing> renewing) {
  if (!IsPrimaryIn(renewing->term)) return renewing->callback(kErrNotPrimary.Fail());
  if (IsHeldUp(renewing)) return;
  if (Now() - renewing->asked >= reads_.limits.election_timeout)
    return ConfirmThenRenew(nullptr, std::move(renewing));
  auto shared = std::make_shared<std::unique_ptr<Renewing>>(std::move(renewing));
  const lease::LeaseId id = (*shared)->id;
  const bool waits = Now() < (*shared)->deadline;
  Task settled = [this, shared] {
    // Revoked, no longer this member's decision, or too late: another look at the table tells.
    RenewConfirmed(std::move(*shared));
  };
  const auto renewed = parts_.leases.Renew(id, waits ? std::move(settled) : nullptr);
  switch (renewed.outcome) {
    case Leases::Renewal::kRenewed:
      return (*shared)->callback(renewed.ttl_s);
    case Leases::Renewal::kNotFound:
      return (*shared)->callback(kErrLeaseNotFound.Fail());
    case Leases::Renewal::kNotPrimary:
      return (*shared)->callback(kErrNotPrimary.Fail());
    case Leases::Renewal::kExpired:
      if (!waits) (*shared)->callback(kErrTimeout.Fail());
      return;
    case Leases::Renewal::kNeedsCheckpoint:
      return TakeCheckpointBack(std::move(*shared));
  }
}

void LeaseAccess::TakeCheckpointBack(std::unique_ptr<Renewing> renewing) {
  const raft::Term term = renewing->term;
  const lease::LeaseId id = renewing->id;
  parts_.expiry.TakeCheckpointBack(
      term, id, [this, renewing = std::move(renewing)](bool is_taken_back) mutable {
        if (!is_taken_back) return renewing->callback(kErrNotPrimary.Fail());
        RenewConfirmed(std::move(renewing));
      });
}

void LeaseAccess::RenewForMember(lease::LeaseId id, RenewCallback callback) {
  Pass<"beforeServeHTTPLeaseRenew">([this, id, callback = std::move(callback)]() mutable {
    RenewHere(nullptr, id, std::move(callback));
  });
}

void LeaseAccess::TimeToLiveForMember(LeaseTimeToLiveRequest request, TimesCallback callback) {
  TimeToLiveHere(nullptr, request, Asked::kByMember, std::move(callback));
}

void LeaseAccess::TimeToLiveHere(rpc::Loop* loop, LeaseTimeToLiveRequest request, Asked asked,
                                 TimesCallback callback) {
  const raft::Term term = reads_.cluster.replica.leading_term();
  if (term == 0) return callback(kErrNotPrimary.Fail());
  reads_.batcher.Read(loop, [this, request, asked, callback = std::move(callback)](
                                const Result<void>& confirmed) mutable {
    if (!confirmed.has_value()) return callback(std::unexpected(confirmed.error()));
    Task look_up = [this, request, callback = std::move(callback)]() mutable {
      if (!request.keys) return LookUpTimes(request, std::move(callback));
      // Copying and sorting a million of them takes a while, and so does checking them.
      reads_.executors.readers->Post([this, request, callback = std::move(callback)]() mutable {
        LookUpTimes(request, std::move(callback));
      });
    };
    switch (asked) {
      case Asked::kByClient:
        return Pass<"beforeLookupWhenLeaseTimeToLive">(std::move(look_up));
      case Asked::kByMember:
        return Pass<"beforeLookupWhenForwardLeaseTimeToLive">(std::move(look_up));
    }
  });
}

void LeaseAccess::LookUpTimes(LeaseTimeToLiveRequest request, TimesCallback callback) {
  auto times = parts_.leases.TimeToLive(request.id, request.keys);
  if (!times.has_value()) return callback(std::unexpected(std::move(times).error()));
  if (!times->has_value()) return callback(kErrLeaseNotFound.Fail());
  callback(std::move(**times));
}

// ---- wherever the leader is ----

void LeaseAccess::Renew(rpc::Loop* loop, lease::LeaseId id, RenewCallback callback) {
  using Asking = Query<std::int64_t>;
  Ask(loop,
      std::make_shared<Asking>(Asking{
          .ask_here = [this, id](rpc::Loop* on, auto done) { RenewHere(on, id, std::move(done)); },
          .path = kLeasesPath,
          .body = SharedBytes::Own(EncodeLeaseId(id)),
          .decode = [id](std::string_view answer) { return DecodeForwardedKeepAlive(answer, id); },
          .deadline = Now() + reads_.limits.request_timeout,
          .callback = std::move(callback)}));
}

void LeaseAccess::TimeToLive(rpc::Loop* loop, LeaseTimeToLiveRequest request,
                             TimesCallback callback) {
  using Asking = Query<LeaseTimes>;
  Ask(loop, std::make_shared<Asking>(Asking{
                .ask_here =
                    [this, request](rpc::Loop* on, auto done) {
                      TimeToLiveHere(on, request, Asked::kByClient, std::move(done));
                    },
                .path = kLeasesInternalPath,
                .body = SharedBytes::Own(EncodeInternalTimeToLive(request)),
                .decode = [id = request.id](
                              std::string_view answer) { return DecodeInternalTimes(answer, id); },
                .deadline = Now() + reads_.limits.request_timeout,
                .callback = std::move(callback)}));
}

std::uint64_t LeaseAccess::Remember(Posted posted) {
  bool is_first = false;
  std::uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    number = next_number_++;
    posted_.emplace(number, std::move(posted));
    is_first = !std::exchange(is_following_, true);
  }
  if (is_first) reads_.executors.timers->PostAt(Now() + kRetryPause, [this] { FollowLeader(); });
  return number;
}

bool LeaseAccess::Forget(std::uint64_t number) {
  std::lock_guard lock(mutex_);
  return posted_.erase(number) > 0;
}

void LeaseAccess::DropPosted() {
  const auto dropped = [this] {
    std::lock_guard lock(mutex_);
    return std::exchange(posted_, {});
  }();
}

void LeaseAccess::FollowLeader() {
  std::vector<Task> elsewhere;
  bool goes_on = false;
  {
    std::lock_guard lock(mutex_);
    const raft::MemberId leader = reads_.cluster.replica.leader();
    for (auto each = posted_.begin(); leader != raft::kNone && each != posted_.end();) {
      if (each->second.leader == leader) {
        ++each;
      } else {
        elsewhere.push_back(std::move(each->second.ask_again));
        each = posted_.erase(each);
      }
    }
    goes_on = is_following_ = !posted_.empty();
  }
  if (goes_on) reads_.executors.timers->PostAt(Now() + kRetryPause, [this] { FollowLeader(); });
  for (Task& ask_again : elsewhere) ask_again();
}

template <class Value>
void LeaseAccess::Tell(Query<Value>& query, Result<Value> answer) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(query.is_told, true)) return;
  }
  query.callback(std::move(answer));
}

template <class Value>
bool LeaseAccess::IsTold(const Query<Value>& query) {
  std::lock_guard lock(mutex_);
  return query.is_told;
}

template <class Value>
void LeaseAccess::Ask(rpc::Loop* loop, std::shared_ptr<Query<Value>> query) {
  if (IsTold(*query)) return;
  if (reads_.cluster.replica.leading_term() == 0) return AskLeader(std::move(query));
  query->ask_here(loop, [this, query](Result<Value> answer) mutable {
    const bool is_elsewhere = !answer.has_value() && answer.error() == kErrNotPrimary.ToError() &&
                              Now() < query->deadline;
    if (is_elsewhere) return AskAgain(std::move(query));
    Tell<Value>(*query, std::move(answer));
  });
}

template <class Value>
void LeaseAccess::AskLeader(std::shared_ptr<Query<Value>> query) {
  const Duration left = query->deadline - Now();
  const raft::MemberId leader = reads_.cluster.replica.leader();
  if (left <= Duration::zero())
    return Tell<Value>(*query, leader == raft::kNone ? kErrNoLeader.Fail() : kErrTimeout.Fail());
  if (leader == raft::kNone || leader == reads_.cluster.member_id)
    return AskAgain(std::move(query));
  const std::uint64_t number =
      Remember({.leader = leader, .ask_again = [this, query] { Ask(nullptr, query); }});
  parts_.poster.Post(leader, std::string(query->path), query->body, left,
                     [this, query, number](Result<PeerPoster::Answer> answer) mutable {
                       const bool is_last = Forget(number);
                       if (answer.has_value() && answer->status == kOk) {
                         if (auto value = query->decode(answer->body); value.has_value())
                           return Tell<Value>(*query, std::move(value));
                       }
                       const bool is_not_found = answer.has_value() &&
                                                 answer->status == kNotFound &&
                                                 answer->body.starts_with(kLeaseNotFoundText);
                       if (is_not_found) return Tell<Value>(*query, kErrLeaseNotFound.Fail());
                       if (is_last) AskAgain(std::move(query));
                     });
}

// The leader is unknown, has just lost leadership, or cannot be reached.
template <class Value>
void LeaseAccess::AskAgain(std::shared_ptr<Query<Value>> query) {
  const TimePoint when = std::min(Now() + kRetryPause, query->deadline);
  reads_.executors.timers->PostAt(when, [this, query = std::move(query)]() mutable {
    if (Now() >= query->deadline) return AskLeader(std::move(query));
    Ask(nullptr, std::move(query));
  });
}

}  // namespace kvorum::server
