#include "server/replica/drive/waiting_proposals.h"

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
    pending.push_back({.id = proposal.id,
                       .deadline = proposal.deadline,
                       .waiter = std::move(proposal.waiter),
                       .is_key_write = proposal.is_key_write});
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

void WaitingProposals::KeepToRepeat(Proposal proposal, TimePoint now) {
  bytes_.fetch_add(proposal.data.size(), std::memory_order_relaxed);
  to_repeat_.push_back({.proposal = std::move(proposal), .taken = now});
}

std::vector<Proposal> WaitingProposals::TakeToRepeat(TimePoint taken) {
  DropAnswered();
  std::vector<Proposal> due;
  std::erase_if(to_repeat_, [&](Repeat& repeat) {
    if (repeat.taken > taken) return false;
    due.push_back(std::move(repeat.proposal));
    return true;
  });
  return due;
}

void WaitingProposals::DropAnswered() {
  std::erase_if(to_repeat_, [&](const Repeat& repeat) {
    if (waiters_.Waits(repeat.proposal.id)) return false;
    Release(repeat.proposal.data.size());
    return true;
  });
}

void WaitingProposals::HoldForWatchers(Proposal proposal) {
  ever_held_for_watchers_.Add();
  for_watchers_.push_back(std::move(proposal));
  CountHeldForWatchers();
}

void WaitingProposals::TakeHeldForWatchers(std::size_t count, std::vector<Proposal>& to) {
  for (; count > 0 && !for_watchers_.empty(); --count) {
    to.push_back(std::move(for_watchers_.front()));
    for_watchers_.pop_front();
  }
  CountHeldForWatchers();
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
  DropAnswered();
  if (for_watchers_.empty()) return;
  DropExpired(for_watchers_, now);
  CountHeldForWatchers();
}

template <class List>
void WaitingProposals::DropExpired(List& held, TimePoint now) {
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
  to_repeat_.clear();
  for_watchers_.clear();
  CountHeldForWatchers();
}

}  // namespace kvorum::server
