// The states of users, roles and permissions that readers of the store may need: each view of the
// store has the number of the state that belongs to it (ReadView::side_version).
//
// Thread-safe. Add and Reserve belong to the apply executor. The number, rather than the newest
// state, is needed because a request that combined the permissions of one entry with the data of
// another could read what no user was ever allowed to.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "auth/auth_state.h"

namespace kvorum::server {

class AuthStates {
 public:
  using State = std::shared_ptr<const auth::AuthState>;

  explicit AuthStates(State first) { Fill(Reserve(), std::move(first)); }

  // Returns the number to be given to the store. `shown` is that of the newest view: a state added
  // since belongs to no view and never will, and is replaced under its number.
  std::uint64_t Add(State state, std::uint64_t shown);
  // The same in two steps, for a state that is prepared elsewhere: until Put it cannot be found,
  // and the previous one is the newest.
  std::uint64_t Reserve();
  void Fill(std::uint64_t version, State state);

  // False: no state so far had auth enabled, and no check is needed.
  bool may_be_on() const { return may_be_on_.load(std::memory_order_acquire); }
  State Newest() const;
  // One thread's copy, so that it need not contend with others at every look.
  struct Held {
    State state;
    std::uint64_t version = 0;
    std::uint64_t changes = 0;
  };
  // Updates it to the newest; costs a look at one word if it is. Starts as {}.
  void Renew(Held& held) const;
  // True if the copy with this many changes (Held) is still the newest.
  bool IsNewest(std::uint64_t changes) const {
    return changes == changes_.load(std::memory_order_acquire);
  }
  // The state of a view. Null if it is forgotten: newer views with other states have been shown.
  State At(std::uint64_t version) const;

 private:
  static constexpr std::size_t kKept = 8;

  // Replaces a state and returns the old one to be destroyed without the lock.
  State Put(std::uint64_t version, State state);

  std::atomic<bool> may_be_on_{false};
  std::atomic<std::uint64_t> changes_{0};
  mutable std::mutex mutex_;  // guards what follows
  std::deque<State> kept_;    // by their numbers, the last is next_ - 1; null: reserved
  std::uint64_t next_ = 0;
  State newest_;
  std::uint64_t newest_version_ = 0;
};

}  // namespace kvorum::server
