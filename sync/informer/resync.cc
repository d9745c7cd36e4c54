#include "sync/informer/resync.h"

#include <algorithm>

namespace kvorum::sync {

void ResyncSchedule::Start(TimePoint now) {
  is_started_ = true;
  if (check_ > Duration::zero()) next_check_ = now + check_;
  for (auto& [id, listener] : listeners_) Derive(listener, now);
}

void ResyncSchedule::Add(ListenerId id, Duration asked, bool is_default, TimePoint now) {
  Listener listener{.asked = std::max(asked, Duration::zero())};
  if (!is_default && listener.asked > Duration::zero() && listener.asked < kLeast) {
    on_warning_("a resync period below 1 s was raised to 1 s");
    listener.asked = kLeast;
  }
  if (listener.asked > Duration::zero() && listener.asked < check_) {
    if (is_started_) {
      on_warning_("a resync period below that of the informer's checks was raised to it");
      listener.asked = check_;
    } else {
      check_ = listener.asked;
      for (auto& [other_id, other] : listeners_) Derive(other, now);
    }
  }
  Derive(listener, now);
  listeners_[id] = listener;
}

void ResyncSchedule::Derive(Listener& listener, TimePoint now) const {
  listener.period = Duration::zero();
  listener.due = kNever;
  if (check_ == Duration::zero() || listener.asked == Duration::zero()) return;
  listener.period = check_ * ((listener.asked + check_ - Duration(1)) / check_);
  if (is_started_) listener.due = now + listener.period;
}

std::vector<ResyncSchedule::ListenerId> ResyncSchedule::TakeDue(TimePoint now) {
  std::vector<ListenerId> due;
  if (now < next_check_) return due;
  next_check_ = next_check_ + check_ * ((now - next_check_) / check_ + 1);
  for (auto& [id, listener] : listeners_) {
    if (listener.due > now) continue;
    listener.due = kNever;
    listener.round_begin = now;
    due.push_back(id);
  }
  return due;
}

void ResyncSchedule::EndRound(ListenerId id, TimePoint now) {
  const auto found = listeners_.find(id);
  if (found == listeners_.end() || found->second.round_begin == kNever) return;
  Listener& listener = found->second;
  listener.due = std::max(listener.round_begin + listener.period, now);
  listener.round_begin = kNever;
}

TimePoint ResyncSchedule::next_check() const {
  const bool anybody = std::ranges::any_of(
      listeners_, [](const auto& listener) { return listener.second.due != kNever; });
  return anybody ? next_check_ : kNever;
}

Duration ResyncSchedule::period(ListenerId id) const {
  const auto found = listeners_.find(id);
  return found == listeners_.end() ? Duration::zero() : found->second.period;
}

}  // namespace kvorum::sync
