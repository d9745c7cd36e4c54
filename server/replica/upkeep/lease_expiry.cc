#include "server/replica/upkeep/lease_expiry.h"

#include <memory>
#include <utility>

#include "api/entries/entry_kinds.h"
#include "api/entries/internal_request.h"
#include "auth/permission.h"
#include "base/log/logging.h"
#include "server/replica/drive/request_id.h"
#include "server/state/alarms.h"
#include "server/state/leases.h"
#include "server/state/raft_status.h"

namespace kvorum::server {
namespace {

// The batch size of etcd's members; due checkpoints beyond it go with the next tick.
constexpr std::size_t kMaxCheckpoints = 1'000;
// The pause before a refused revocation is proposed again.
constexpr Duration kRetryPause = std::chrono::milliseconds(500);

}  // namespace

// Called on the apply or the raft executor.
class LeaseExpiry::RevokeWaiter final : public Waiter {
 public:
  RevokeWaiter(LeaseExpiry& expiry, lease::LeaseId id) : expiry_(expiry), id_(id) {}
  void Applied(ApplyResult result) override { Tell(result.value.has_value()); }
  void Failed(const Error&) override { Tell(false); }

 private:
  void Tell(bool applied) {
    expiry_.apply_.Post([&expiry = expiry_, id = id_, applied] { expiry.Revoked(id, applied); });
  }

  LeaseExpiry& expiry_;
  const lease::LeaseId id_;
};

// Called on the apply executor when it is applied.
class LeaseExpiry::TakeBackWaiter final : public Waiter {
 public:
  TakeBackWaiter(Leases& leases, lease::LeaseId id, TakenBack done)
      : leases_(leases),
        id_(id),
        checkpoint_(leases.PendingCheckpoint(id)),
        done_(std::move(done)) {}
  void Applied(ApplyResult result) override {
    if (!result.value.has_value()) return done_(false);
    leases_.CheckpointTakenBack(id_, checkpoint_);
    done_(true);
  }
  void Failed(const Error&) override { done_(false); }

 private:
  Leases& leases_;
  const lease::LeaseId id_;
  const std::uint32_t checkpoint_;
  TakenBack done_;
};

LeaseExpiry::LeaseExpiry(Leases& leases, const RaftStatus& status, const Alarms& alarms,
                         RequestIdSource& ids, Executor& apply, const Options& options, Hooks hooks)
    : leases_(leases),
      status_(status),
      alarms_(alarms),
      ids_(ids),
      apply_(apply),
      options_(options),
      hooks_(std::move(hooks)) {}

void LeaseExpiry::Start() {
  apply_.Post([this] { ArmTick(); });
}

void LeaseExpiry::Stop() {
  apply_.Post([this] {
    stopped_ = true;
    leases_.Demote();
  });
}

void LeaseExpiry::LeadershipChanged() {
  apply_.Post([this] { FollowLeadership(); });
}

void LeaseExpiry::OnApplied() {
  if (leases_.primary_term() != status_.leading_term()) FollowLeadership();
}

void LeaseExpiry::ArmTick() {
  apply_.PostAt(apply_.clock().Now() + options_.tick, [this] {
    if (stopped_) return;
    OnTick();
    ArmTick();
  });
}

void LeaseExpiry::OnTick() {
  FollowLeadership();
  Checkpoint();
  Expire();
  leases_.EndLongWaits(options_.request_timeout);
}

void LeaseExpiry::FollowLeadership() {
  const raft::Term leading = stopped_ ? 0 : status_.leading_term();
  if (leases_.primary_term() == leading) return;
  if (leases_.primary_term() != 0) leases_.Demote();
  if (leading == 0 || hooks_.applied_term() != leading) return;
  leases_.Promote(leading, options_.election_timeout);
}

bool LeaseExpiry::IsConfirmed() const {
  return confirmed_term_ == leases_.primary_term() &&
         apply_.clock().Now() < confirmed_at_ + options_.election_timeout;
}

void LeaseExpiry::Confirm() {
  if (std::exchange(confirming_, true)) return;
  const raft::Term term = leases_.primary_term();
  const TimePoint asked = apply_.clock().Now();
  hooks_.confirm([this, term, asked](const Result<void>& confirmed) {
    apply_.Post([this, term, asked, is_confirmed = confirmed.has_value()] {
      confirming_ = false;
      // Another leader may have answered.
      if (!is_confirmed || status_.leading_term() != term) return;
      confirmed_term_ = term;
      confirmed_at_ = asked;
      Expire();
    });
  });
}

void LeaseExpiry::Expire() {
  if (in_flight_ >= options_.max_in_flight || apply_.clock().Now() < not_before_) return;
  // A revocation that would be refused where it is applied is not proposed.
  using Revocation = EntryKind<RequestKind::kLeaseRevoke>;
  if (!leases_.HasExpired() || !alarms_.Admit(Revocation::kUnderCorruptAlarm, 0).has_value())
    return;
  if (status_.leading_term() != leases_.primary_term()) return FollowLeadership();
  if (!IsConfirmed()) return Confirm();
  Revoke(leases_.TakeExpired(options_.max_in_flight - in_flight_));
}

void LeaseExpiry::Revoke(const std::vector<lease::LeaseId>& ids) {
  std::vector<Proposal> proposals;
  proposals.reserve(ids.size());
  const TimePoint deadline = apply_.clock().Now() + options_.request_timeout;
  for (const lease::LeaseId lease : ids) {
    const std::uint64_t id = ids_.Next();
    proposals.push_back({.id = id,
                         // Permissions on its keys do not matter: they end all the same.
                         .data = EncodeInternalRequest({.id = id,
                                                        .kind = RequestKind::kLeaseRevoke,
                                                        .body = EncodeLeaseId(lease),
                                                        .user = auth::kRootUser}),
                         .deadline = deadline,
                         .waiter = std::make_unique<RevokeWaiter>(*this, lease),
                         .only_in_term = leases_.primary_term()});
  }
  in_flight_ += proposals.size();
  hooks_.propose(std::move(proposals));
}

void LeaseExpiry::Revoked(lease::LeaseId id, bool applied) {
  --in_flight_;
  if (applied) {
    leases_.counters().expired.fetch_add(1, std::memory_order_relaxed);
  } else {
    not_before_ = apply_.clock().Now() + kRetryPause;
    leases_.RetryExpired(id, kRetryPause);
  }
  // Once for everything that one batch has revoked.
  if (std::exchange(expire_posted_, true)) return;
  apply_.Post([this] {
    expire_posted_ = false;
    if (!stopped_) Expire();
  });
}

void LeaseExpiry::Checkpoint() {
  if (leases_.primary_term() == 0) return;
  const std::vector<LeaseCheckpoint> due = leases_.TakeCheckpoints(kMaxCheckpoints);
  if (due.empty()) return;
  ProposeCheckpoints(leases_.primary_term(), due, nullptr);
}

// Here, so that it comes after the checkpoints in the log that this executor took before.
void LeaseExpiry::TakeCheckpointBack(raft::Term term, lease::LeaseId id, TakenBack done) {
  apply_.Post([this, term, id, done = std::move(done)]() mutable {
    const LeaseCheckpoint whole{.id = id, .remaining_s = 0};
    ProposeCheckpoints(term, {&whole, 1},
                       std::make_unique<TakeBackWaiter>(leases_, id, std::move(done)));
  });
}

void LeaseExpiry::ProposeCheckpoints(raft::Term term, std::span<const LeaseCheckpoint> checkpoints,
                                     std::unique_ptr<Waiter> waiter) {
  const std::uint64_t id = ids_.Next();
  std::vector<Proposal> proposals;
  proposals.push_back({.id = id,
                       .data = EncodeInternalRequest(id, RequestKind::kLeaseCheckpoint,
                                                     EncodeLeaseCheckpoints(checkpoints)),
                       .deadline = apply_.clock().Now() + options_.request_timeout,
                       .waiter = std::move(waiter),
                       .only_in_term = term});
  hooks_.propose(std::move(proposals));
}

}  // namespace kvorum::server
