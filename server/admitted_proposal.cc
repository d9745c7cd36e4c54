#include "server/admitted_proposal.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "auth/errors.h"
#include "server/access.h"

namespace kvorum::server {
namespace {

// Once at once; where permissions change without pause, then later and later.
Duration DelayBefore(int attempt) {
  constexpr int kLongest = 6;
  return attempt <= 1 ? Duration(0) : std::chrono::milliseconds(1 << std::min(attempt, kLongest));
}

void ProposeAttempt(ServiceContext& context, rpc::Loop* loop, const rpc::Caller& caller,
                    InternalRequest request, std::unique_ptr<Waiter> waiter, TimePoint deadline,
                    int attempt);

class AgainIfOutdated final : public Waiter {
 public:
  // The entry names its caller.
  AgainIfOutdated(ServiceContext& context, SharedBytes entry, const rpc::Caller& caller,
                  std::unique_ptr<Waiter> waiter, TimePoint deadline, int attempt)
      : context_(context),
        entry_(std::move(entry)),
        token_{.name = {},
               .token_revision = caller.token_revision,
               .session_revision = caller.session_revision,
               .token_ends_s = caller.token_ends_s},
        waiter_(std::move(waiter)),
        deadline_(deadline),
        attempt_(attempt) {}

  void Applied(ApplyResult result) override {
    const bool is_outdated =
        !result.value.has_value() && result.value.error() == auth::kErrAuthOldRevision;
    const TimePoint next = context_.replica->clock().Now() + DelayBefore(attempt_ + 1);
    if (!is_outdated || next >= deadline_) return waiter_->Applied(std::move(result));
    auto again = [&context = context_, entry = entry_, token = token_, waiter = std::move(waiter_),
                  deadline = deadline_, attempt = attempt_ + 1]() mutable {
      const auto request = DecodeInternalRequest(entry.view());
      token.name = SharedBytes::Copy(request->user);
      ProposeAttempt(context, nullptr, token, *request, std::move(waiter), deadline, attempt);
    };
    if (attempt_ == 0) return again();
    context_.timers->PostAt(next, std::move(again));
  }
  void Failed(const Error& error) override { waiter_->Failed(error); }

 private:
  ServiceContext& context_;
  const SharedBytes entry_;
  const rpc::Caller token_;
  std::unique_ptr<Waiter> waiter_;
  const TimePoint deadline_;
  const int attempt_;
};

void ProposeAttempt(ServiceContext& context, rpc::Loop* loop, const rpc::Caller& caller,
                    InternalRequest request, std::unique_ptr<Waiter> waiter, TimePoint deadline,
                    int attempt) {
  const auto identity = context.access->IdentityNow(caller);
  if (!identity.has_value()) return waiter->Failed(identity.error());
  request.id = context.ids->Next();
  request.user = identity->username;
  request.auth_revision = identity->revision;
  SharedBytes entry = EncodeInternalRequest(request);
  auto again = std::make_unique<AgainIfOutdated>(context, entry, caller, std::move(waiter),
                                                 deadline, attempt);
  context.SendEntry(loop, request.id, std::move(entry), std::move(again), deadline);
}

}  // namespace

void ProposeAdmitted(ServiceContext& context, rpc::Loop* loop, const rpc::Caller& caller,
                     InternalRequest request, std::unique_ptr<Waiter> waiter, TimePoint deadline) {
  ProposeAttempt(context, loop, caller, request, std::move(waiter), deadline, 0);
}

}  // namespace kvorum::server
