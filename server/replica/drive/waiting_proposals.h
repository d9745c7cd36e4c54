// Proposals from when clients hand them over until they are answered: their bound, their waiters,
// those that Raft cannot take yet, and those that are proposed again until they are answered.
//
// Threading: Admit is thread-safe, everything else belongs to the raft executor. Ownership: the
// wait table is shared with the apply executor, which answers. Bounds: of number and bytes, past
// which Admit refuses; proposals that wait here count as long as they do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/metric.h"
#include "server/apply/wait_table.h"
#include "server/replica/drive/proposal.h"

namespace kvorum::server {

class WaitingProposals {
 public:
  struct Bounds {
    std::size_t proposals = 0;
    std::size_t bytes = 0;
  };
  WaitingProposals(WaitTable& waiters, Bounds bounds) : waiters_(waiters), bounds_(bounds) {}

  // Registers the waiters. Returns false if there are too many: then they get that error.
  bool Admit(std::vector<Proposal>& proposals);
  // Raft has them, or they are gone: their bytes no longer count here.
  void Release(std::size_t size_bytes) { bytes_.fetch_sub(size_bytes, std::memory_order_relaxed); }

  // Keeps it until there is a leader to take it.
  void HoldForLeader(Proposal proposal) { Hold(for_leader_, std::move(proposal)); }
  // Keeps a configuration change until the previous one is applied.
  void HoldForChange(Proposal proposal) { Hold(for_change_, std::move(proposal)); }
  bool HasHeldForLeader() const { return !for_leader_.empty(); }
  bool HasHeldForChange() const { return !for_change_.empty(); }
  std::vector<Proposal> TakeHeldForLeader() { return std::exchange(for_leader_, {}); }
  std::vector<Proposal> TakeHeldForChange() { return std::exchange(for_change_, {}); }

  // Keeps one that is repeatable and that Raft has taken, as long as its waiter waits.
  void KeepToRepeat(Proposal proposal, TimePoint now);
  bool HasToRepeat() const { return !to_repeat_.empty(); }
  // Those that Raft has taken at that time or before; they are to be proposed again.
  std::vector<Proposal> TakeToRepeat(TimePoint taken);

  // Keeps a key write, which Raft has not been given yet, until watchers have caught up.
  void HoldForWatchers(Proposal proposal);
  bool HasHeldForWatchers() const { return !for_watchers_.empty(); }
  // Moves the first ones, `count` at most, to the end of `to`.
  void TakeHeldForWatchers(std::size_t count, std::vector<Proposal>& to);
  // The key writes that wait for their outcome, held or not.
  std::size_t key_writes() const { return waiters_.key_writes(); }

  void Fail(std::uint64_t id, const Error& error);
  // Fails those past their deadline with the error, which is made only if there are any, and drops
  // their proposals.
  void FailExpired(TimePoint now, const std::function<Error()>& error);
  void FailAll(const Error& error);

  // For the metrics; any thread.
  std::uint64_t failed() const { return failed_.value(); }
  std::size_t pending() const { return waiters_.size(); }
  std::size_t pending_bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::size_t held_for_watchers() const {
    return held_for_watchers_.load(std::memory_order_relaxed);
  }
  // Since the start.
  std::uint64_t ever_held_for_watchers() const { return ever_held_for_watchers_.value(); }

 private:
  struct Repeat {
    Proposal proposal;
    TimePoint taken;
  };

  void Hold(std::vector<Proposal>& held, Proposal proposal);
  template <class List>
  void DropExpired(List& held, TimePoint now);
  void DropAnswered();
  void CountHeldForWatchers() {
    held_for_watchers_.store(for_watchers_.size(), std::memory_order_relaxed);
  }

  WaitTable& waiters_;
  const Bounds bounds_;
  std::atomic<std::size_t> bytes_{0};
  Counter failed_;
  std::vector<Proposal> for_leader_;
  std::vector<Proposal> for_change_;
  std::vector<Repeat> to_repeat_;  // their bytes count like those of the others
  std::deque<Proposal> for_watchers_;
  std::atomic<std::size_t> held_for_watchers_{0};
  Counter ever_held_for_watchers_;
};

}  // namespace kvorum::server
