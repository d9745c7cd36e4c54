#include "sync/agent/agent_session.h"

#include <algorithm>
#include <utility>

#include "sync/store/answer.h"

namespace kvorum::sync {

AgentSession::AgentSession(Store& store, const Clock& clock, Loop::Handle loop,
                           AgentSessionOptions options, std::uint64_t seed)
    : store_(store),
      clock_(clock),
      loop_(std::move(loop)),
      options_(std::move(options)),
      rng_(seed),
      backoff_(options_.backoff) {}

void AgentSession::Adopt(std::int64_t lease, std::int64_t last_revision) {
  lease_ = lease;
  last_revision_ = last_revision;
  is_adopted_ = lease != 0;
  if (!is_adopted_) return;
  renew_interval_ = Duration(std::chrono::seconds(options_.ttl_s)) / 3;
  renew_.Set(clock_.Now());
}

void AgentSession::Ensure(OnDone on_done) {
  on_done_ = std::move(on_done);
  if (!is_adopted_) return LookAtKey();
  is_waiting_for_renewal_ = true;
  if (!is_renewing_) Renew(clock_.Now());
}

void AgentSession::LookAtKey() {
  if (!options_.life_key.empty()) return LookAtBoth();
  store_.Range({.key = options_.key},
               OnLoop<RangeAnswer>(loop_, [this](Result<RangeAnswer> answer) {
                 if (!answer) return Finish(Fail(answer.error()));
                 Looked(answer->kvs.empty() ? nullptr : &answer->kvs.front(), true);
               }));
}

void AgentSession::LookAtBoth() {
  TxnRequest request;
  for (const std::string& key : {options_.key, options_.life_key})
    request.then.push_back({.kind = Operation::Kind::kRange, .key = key});
  store_.Txn(std::move(request), OnLoop<TxnAnswer>(loop_, [this](Result<TxnAnswer> answer) {
               if (!answer) return Finish(Fail(answer.error()));
               if (answer->ranges.size() != 2)
                 return Finish(Fail(Code::kInternal, "the store left out an answer"));
               const auto& holders = answer->ranges[0].kvs;
               const auto& lives = answer->ranges[1].kvs;
               const bool has_life = lease_ != 0 && !lives.empty() && lives.front().lease == lease_;
               Looked(holders.empty() ? nullptr : &holders.front(), has_life);
             }));
}

void AgentSession::Looked(const KeyValue* holder, bool has_life) {
  if (holder != nullptr) return Found(*holder, has_life);
  revision_ = 0;
  seen_revision_ = 0;
  PutKey();
}

// Another agent never writes over a key: one that was created by us is ours, even if others wrote
// to it since or put it on another lease.
void AgentSession::Found(const KeyValue& holder, bool has_life) {
  const bool is_on_our_lease = lease_ != 0 && holder.lease == lease_;
  if (!is_on_our_lease && holder.create_revision != last_revision_) return Refuse();
  if (is_on_our_lease && holder.value == options_.value && has_life)
    return Hold(holder.create_revision);
  seen_revision_ = holder.create_revision;
  PutKey();
}

void AgentSession::Grant() {
  store_.LeaseGrant(
      options_.ttl_s,
      OnLoop<LeaseAnswer>(loop_, [this, begun = clock_.Now()](Result<LeaseAnswer> answer) {
        if (!answer) return Finish(Fail(answer.error()));
        if (answer->id == 0) return Finish(Fail(Code::kInternal, "the store granted a lease 0"));
        lease_ = answer->id;
        RenewIn(begun, answer->ttl_s);
        PutKey();
      }));
}

void AgentSession::PutKey() {
  if (lease_ == 0) return Grant();
  TxnRequest request;
  request.compares.push_back(
      {.key = options_.key, .target = Compare::Target::kCreateRevision, .number = seen_revision_});
  request.then.push_back({.kind = Operation::Kind::kPut,
                          .key = options_.key,
                          .value = options_.value,
                          .lease = lease_});
  if (!options_.life_key.empty()) {
    request.then.push_back(
        {.kind = Operation::Kind::kPut, .key = options_.life_key, .value = {}, .lease = lease_});
  }
  store_.Txn(std::move(request),
             OnLoop<TxnAnswer>(loop_, [this](Result<TxnAnswer> answer) { KeyWritten(answer); }));
}

void AgentSession::KeyWritten(const Result<TxnAnswer>& answer) {
  if (!answer) {
    if (answer.error().code == Code::kNotFound) ForgetLease();
    return Finish(Fail(answer.error()));
  }
  // Somebody was faster.
  if (!answer->succeeded) return LookAtKey();
  Hold(seen_revision_ == 0 ? answer->revision : seen_revision_);
}

void AgentSession::Hold(std::int64_t revision) {
  // 0 would compare equal with a key that is not there.
  if (revision <= 0)
    return Finish(
        Fail(Code::kInternal, "the store returned no revision for node " + options_.node));
  revision_ = revision;
  last_revision_ = revision;
  is_held_by_another_ = false;
  Finish({});
}

// Revokes the lease, since keys that are still attached to it must not stand beside the other's.
void AgentSession::Refuse() {
  is_held_by_another_ = true;
  revision_ = 0;
  Revoke([this](const Result<void>&) {
    Finish(Fail(Code::kFailedPrecondition, "node " + options_.node + " is held by another agent"));
  });
}

void AgentSession::Revoke(OnDone on_done) {
  const std::int64_t lease = lease_;
  ForgetLease();
  if (lease == 0) return on_done({});
  store_.LeaseRevoke(lease, OnLoop<LeaseAnswer>(loop_, [on_done = std::move(on_done)](
                                                           Result<LeaseAnswer> answer) mutable {
                       if (answer || answer.error().code == Code::kNotFound) return on_done({});
                       on_done(Fail(answer.error()));
                     }));
}

void AgentSession::Finish(Result<void> result) {
  OnDone on_done = std::exchange(on_done_, nullptr);
  on_done(std::move(result));
}

TimePoint AgentSession::Step(TimePoint now) {
  if (is_renewing_) return kNever;
  if (!renew_.TakeDue(now)) return renew_.due();
  Renew(now);
  return kNever;
}

void AgentSession::Renew(TimePoint now) {
  is_renewing_ = true;
  renew_.Clear();
  store_.LeaseKeepAlive(
      lease_, OnLoop<LeaseAnswer>(loop_, [this, now, lease = lease_](Result<LeaseAnswer> answer) {
        is_renewing_ = false;
        if (lease == lease_) Renewed(now, answer);
      }));
}

void AgentSession::Renewed(TimePoint begun, const Result<LeaseAnswer>& answer) {
  const bool is_waited_for = std::exchange(is_waiting_for_renewal_, false);
  const bool is_gone = answer ? answer->ttl_s <= 0 : answer.error().code == Code::kNotFound;
  if (is_gone) {
    ForgetLease();
    if (is_waited_for) return LookAtKey();
    is_lease_lost_ = true;
    return;
  }
  if (!answer) {
    is_unreachable_ = true;
    const TimePoint now = clock_.Now();
    renew_.Set(now + std::min(renew_interval_, backoff_.Next(now, rng_)));
    if (is_waited_for) Finish(Fail(answer.error()));
    return;
  }
  is_adopted_ = false;
  if (std::exchange(is_unreachable_, false)) is_reachable_again_ = true;
  RenewIn(begun, answer->ttl_s);
  if (is_waited_for) LookAtKey();
}

void AgentSession::RenewIn(TimePoint begun, std::int64_t ttl_s) {
  renew_interval_ = Duration(std::chrono::seconds(std::min(ttl_s, kMaxTtl_s))) / 3;
  renew_.Set(begun + renew_interval_);
}

void AgentSession::ForgetLease() {
  lease_ = 0;
  revision_ = 0;
  is_adopted_ = false;
  renew_.Clear();
}

}  // namespace kvorum::sync
