#include "server/call/admitted_proposal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/api_errors.h"
#include "server/call/access.h"
#include "server/call/proposer.h"
#include "server/call/service_executors.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/request_id.h"

namespace kvorum::server {
namespace {

// At once the first time; with growing pauses where permissions change continuously.
Duration DelayBefore(int attempt) {
  constexpr int kLongest = 6;
  return attempt <= 1 ? Duration(0) : std::chrono::milliseconds(1 << std::min(attempt, kLongest));
}

}  // namespace

void AdmittedWaiter::Applied(ApplyResult result) {
  const bool is_outdated = !result.value.has_value() && attempt_.proposer != nullptr &&
                           result.value.error() == kErrAuthOldRevision;
  if (!is_outdated) return Outcome(std::move(result));
  Proposer& proposer = *attempt_.proposer;
  const int number = attempt_.number + 1;
  const TimePoint next = proposer.cluster().Now() + DelayBefore(number);
  if (next >= attempt_.deadline) return Outcome(std::move(result));
  auto again = [attempt = std::exchange(attempt_, {}), number, waiter = Successor()]() mutable {
    const SharedBytes entry = std::exchange(attempt.entry, {});
    const auto request = DecodeInternalRequest(entry.view());
    rpc::Caller caller;
    caller.name = SharedBytes::Copy(request->user);
    caller.is_identified = request->auth_revision != 0;
    caller.token = attempt.token;
    attempt.number = number;
    Propose(std::move(attempt), nullptr, caller, *request, std::move(waiter));
  };
  if (number == 1) return again();
  proposer.parts_.executors.timers->PostAt(next, std::move(again));
}

void AdmittedWaiter::Propose(Attempt attempt, rpc::Loop* loop, const rpc::Caller& caller,
                             InternalRequest request, std::unique_ptr<AdmittedWaiter> waiter) {
  Proposer& proposer = *attempt.proposer;
  const auto identity = proposer.parts_.access.IdentityNow(caller);
  if (!identity.has_value()) return waiter->Failed(identity.error());
  request.id = proposer.ids().Next();
  request.user = identity->username;
  request.auth_revision = identity->revision;
  attempt.entry = EncodeInternalRequest(request);
  waiter->attempt_ = std::move(attempt);
  const Attempt& kept = waiter->attempt_;
  proposer.SendEntry(loop, request.kind, request.id, kept.entry, std::move(waiter), kept.deadline);
}

void ProposeAdmitted(Proposer& proposer, rpc::Loop* loop, const rpc::Caller& caller,
                     InternalRequest request, std::unique_ptr<AdmittedWaiter> waiter,
                     TimePoint deadline) {
  AdmittedWaiter::Propose({.proposer = &proposer,
                           .entry = {},
                           .token = caller.token,
                           .deadline = deadline,
                           .number = 0},
                          loop, caller, request, std::move(waiter));
}

}  // namespace kvorum::server
