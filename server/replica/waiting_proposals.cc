#include "server/replica/waiting_proposals.h"

#include <utility>

#include "base/api_errors.h"

namespace kvorum::server {

bool WaitingProposals::Admit(std::vector<Proposal>& proposals) {
  std::size_t bytes = 0;
  std::vector<PendingProposal> pending;
  pending.reserve(proposals.size());
  for (Proposal& proposal : proposals) {
    bytes += proposal.data.size();
    if (proposal.waiter == nullptr) continue;
    pending.push_back(
        {.id = proposal.id, .deadline = proposal.deadline, .waiter = std::move(proposal.waiter)});
  }
  if (waiters_.size() + pending.size() > bounds_.proposals ||
      bytes_.load(std::memory_order_relaxed) + bytes > bounds_.bytes) {
    for (PendingProposal& refused : pending) refused.waiter->Failed(kErrTooManyRequests.ToError());
    return false;
  }
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  waiters_.Register(std::move(pending));
  return true;
}

void WaitingProposals::Hold(std::vector<Proposal>& held, Proposal proposal) {
  bytes_.fetch_add(proposal.data.size(), std::memory_order_relaxed);
  held.push_back(std::move(proposal));
}

void WaitingProposals::Fail(std::uint64_t id, const Error& error) {
  for (auto& waiter : waiters_.Take({id})) {
    if (waiter != nullptr) waiter->Failed(error);
  }
  failed_.Add();
}

void WaitingProposals::FailExpired(TimePoint now, const std::function<Error()>& error) {
  if (auto expired = waiters_.TakeExpired(now); !expired.empty()) {
    const Error told = error();
    failed_.Add(expired.size());
    for (auto& waiter : expired) waiter->Failed(told);
  }
  DropExpired(for_leader_, now);
  DropExpired(for_change_, now);
}

void WaitingProposals::DropExpired(std::vector<Proposal>& held, TimePoint now) {
  std::erase_if(held, [&](const Proposal& proposal) {
    if (proposal.deadline > now) return false;
    Release(proposal.data.size());
    return true;
  });
}

void WaitingProposals::FailAll(const Error& error) {
  for (auto& waiter : waiters_.TakeAll()) {
    if (waiter != nullptr) waiter->Failed(error);
  }
  for_leader_.clear();
  for_change_.clear();
}

}  // namespace kvorum::server
