// Proposals in a caller's name while auth is enabled.
//
// An entry carries the auth revision at which its caller was admitted, and every member refuses one
// that is older than its auth state when it applies it, as etcd's members do: so all of them,
// theirs and ours, agree. A change to any user or role at the same moment would thus fail unrelated
// requests. So the member that proposed such an entry checks the caller again and proposes it once
// more, which changes nothing but the order of concurrent requests. The caller's token must still
// be valid by then.
#pragma once

#include <cstdint>
#include <memory>

#include "api/entries/internal_request.h"
#include "base/clock.h"
#include "base/shared_bytes.h"
#include "rpc/call/call_context.h"
#include "server/apply/wait_table.h"
#include "server/call/proposer.h"

namespace kvorum::server {

// Waits for such a proposal and learns only its final outcome; one thread at a time uses it. Keeps
// the data for the next attempt: one object in all, since there is one for every write.
class AdmittedWaiter : public Waiter {
 public:
  void Applied(ApplyResult result) final;

 protected:
  virtual void Outcome(ApplyResult&& result) = 0;
  // The waiter that replaces this one, which gets no further call.
  virtual std::unique_ptr<AdmittedWaiter> Successor() = 0;

 private:
  struct Attempt {
    Proposer* proposer = nullptr;  // null: there was no check, and there is no other attempt
    SharedBytes entry;             // which names its caller
    rpc::Caller::Token token;
    TimePoint deadline;
    int number = 0;
  };
  static void Propose(Attempt attempt, rpc::Loop* loop, const rpc::Caller& caller,
                      InternalRequest request, std::unique_ptr<AdmittedWaiter> waiter);
  friend void ProposeAdmitted(Proposer& proposer, rpc::Loop* loop, const rpc::Caller& caller,
                              InternalRequest request, std::unique_ptr<AdmittedWaiter> waiter,
                              TimePoint deadline);

  Attempt attempt_;
};

// Fills in the caller. `request` is used during the call only; the waiter as for ProposeFor.
void ProposeAdmitted(Proposer& proposer, rpc::Loop* loop, const rpc::Caller& caller,
                     InternalRequest request, std::unique_ptr<AdmittedWaiter> waiter,
                     TimePoint deadline);

}  // namespace kvorum::server
