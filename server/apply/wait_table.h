// The waiters of proposals: passed from the proposer, on any thread, to the apply executor that
// knows the outcome.
//
// Thread-safe. One short lock per batch on either side; waiters are called outside of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "server/apply/apply_result.h"

namespace kvorum::server {

// The proposer's side of one log entry. Exactly one of the calls is made, once, from any thread;
// neither may block.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void Applied(ApplyResult result) = 0;
  // The outcome is unknown or the entry was refused; it may still be applied later.
  virtual void Failed(const Error& error) = 0;
};

struct PendingProposal {
  std::uint64_t id = 0;
  TimePoint deadline;
  std::unique_ptr<Waiter> waiter;
  bool is_key_write = false;
};

class WaitTable {
 public:
  void Register(std::vector<PendingProposal> proposals);
  // Removes and returns the waiters of these ids; null where there is no waiter (any more). The
  // result is parallel to the ids.
  std::vector<std::unique_ptr<Waiter>> Take(const std::vector<std::uint64_t>& ids);
  // True if this proposal still has a waiter.
  bool Waits(std::uint64_t id) const;
  // Removes and returns all waiters past their deadline.
  std::vector<std::unique_ptr<Waiter>> TakeExpired(TimePoint now);
  std::vector<std::unique_ptr<Waiter>> TakeAll();
  std::size_t size() const;
  // Those that write keys.
  std::size_t key_writes() const;

 private:
  struct Waiting {
    TimePoint deadline;
    std::unique_ptr<Waiter> waiter;
    bool is_key_write = false;
  };
  // Removes it; the lock is held.
  using Map = std::unordered_map<std::uint64_t, Waiting>;
  std::unique_ptr<Waiter> TakeOut(Map::iterator& it);

  mutable std::mutex mutex_;
  Map waiting_;
  std::size_t key_writes_ = 0;
};

}  // namespace kvorum::server
