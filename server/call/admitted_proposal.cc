#include "server/call/admitted_proposal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/api_errors.h"
#include "server/call/access.h"
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
  const bool is_outdated = !result.value.has_value() && attempt_.context != nullptr &&
                           result.value.error() == kErrAuthOldRevision;
  if (!is_outdated) return Outcome(std::move(result));
  ServiceContext& context = *attempt_.context;
  const int number = attempt_.number + 1;
  const TimePoint next = context.replica->clock().Now() + DelayBefore(number);
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
  context.executors.timers->PostAt(next, std::move(again));
}

void AdmittedWaiter::Propose(Attempt attempt, rpc::Loop* loop, const rpc::Caller& caller,
                             InternalRequest request, std::unique_ptr<AdmittedWaiter> waiter) {
  ServiceContext& context = *attempt.context;
  const auto identity = context.access->IdentityNow(caller);
  if (!identity.has_value()) return waiter->Failed(identity.error());
  request.id = context.ids->Next();
  request.user = identity->username;
  request.auth_revision = identity->revision;
  attempt.entry = EncodeInternalRequest(request);
  waiter->attempt_ = std::move(attempt);
  const Attempt& kept = waiter->attempt_;
  context.SendEntry(loop, request.kind, request.id, kept.entry, std::move(waiter), kept.deadline);
}

void ProposeAdmitted(ServiceContext& context, rpc::Loop* loop, const rpc::Caller& caller,
                     InternalRequest request, std::unique_ptr<AdmittedWaiter> waiter,
                     TimePoint deadline) {
  AdmittedWaiter::Propose(
      {.context = &context, .entry = {}, .token = caller.token, .deadline = deadline, .number = 0},
      loop, caller, request, std::move(waiter));
}

}  // namespace kvorum::server
