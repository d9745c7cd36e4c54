#include "server/state/auth_states.h"

#include <utility>

namespace kvorum::server {

std::uint64_t AuthStates::Add(State state, std::uint64_t shown) {
  const std::uint64_t version = next_ - 1 > shown ? next_ - 1 : Reserve();
  Fill(version, std::move(state));
  return version;
}

std::uint64_t AuthStates::Reserve() {
  State forgotten;
  std::lock_guard lock(mutex_);
  kept_.push_back(nullptr);
  if (kept_.size() > kKept) {
    forgotten = std::move(kept_.front());
    kept_.pop_front();
  }
  return next_++;
}

void AuthStates::Fill(std::uint64_t version, State state) {
  if (state->enabled()) may_be_on_.store(true, std::memory_order_release);
  const State replaced = Put(version, std::move(state));
}

AuthStates::State AuthStates::Put(std::uint64_t version, State state) {
  std::lock_guard lock(mutex_);
  newest_ = state;
  newest_version_ = version;
  changes_.fetch_add(1, std::memory_order_release);
  return std::exchange(kept_[kept_.size() - (next_ - version)], std::move(state));
}

AuthStates::State AuthStates::Newest() const {
  std::lock_guard lock(mutex_);
  return newest_;
}

void AuthStates::Renew(Held& held) const {
  if (held.state != nullptr && IsNewest(held.changes)) return;
  State replaced;
  std::lock_guard lock(mutex_);
  replaced = std::exchange(held.state, newest_);
  held.version = newest_version_;
  held.changes = changes_.load(std::memory_order_relaxed);
}

AuthStates::State AuthStates::At(std::uint64_t version) const {
  std::lock_guard lock(mutex_);
  const std::uint64_t age = next_ - version;
  if (version >= next_ || age > kept_.size()) return nullptr;
  return kept_[kept_.size() - age];
}

}  // namespace kvorum::server
