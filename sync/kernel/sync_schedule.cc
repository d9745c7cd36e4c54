#include "sync/kernel/sync_schedule.h"

#include <algorithm>
#include <utility>

namespace kvorum::sync {

void SyncSchedule::WantFull(TimePoint now, Rng& rng) {
  if (state_ != State::kFull && !triggered_.is_set())
    triggered_.Set(now + Stagger(rng, options_.trigger_stagger, scale_ * scale_));
}

void SyncSchedule::WantFullAfterBackoff(TimePoint now, Rng& rng) {
  state_ = State::kRetry;
  triggered_.Set(now + backoff_.Next(now, rng));
  periodic_.Clear();
}

Pass SyncSchedule::Take(TimePoint now, Pause& pause, Rng& rng) {
  if (triggered_.TakeDue(now) || periodic_.TakeDue(now)) state_ = State::kFull;
  switch (state_) {
    case State::kFull:
      triggered_.Clear();
      periodic_.Clear();
      if (pause.Admit(Pass::kFull)) return Pass::kFull;
      Retry(now, rng);
      return Pass::kNone;
    case State::kRetry:
      return Pass::kNone;
    case State::kPartial:
      if (held_.is_set() && !held_.TakeDue(now)) return Pass::kNone;
      if (!std::exchange(is_changed_, false)) return Pass::kNone;
      return pause.Admit(Pass::kChanges) ? Pass::kChanges : Pass::kNone;
  }
  return Pass::kNone;
}

void SyncSchedule::FullSucceeded(TimePoint now, std::uint64_t nodes, Rng& rng) {
  state_ = State::kPartial;
  held_.Clear();
  scale_ = ScaleFactor(nodes);
  periodic_.Set(now + options_.full_interval + Stagger(rng, options_.full_interval, scale_));
}

void SyncSchedule::PartialFailed(TimePoint now, Rng& rng) {
  is_changed_ = true;
  held_.Set(now + backoff_.Next(now, rng));
}

void SyncSchedule::Retry(TimePoint now, Rng& rng) {
  state_ = State::kRetry;
  triggered_.Clear();
  periodic_.Set(now + options_.retry_interval + Stagger(rng, options_.retry_interval, scale_));
}

TimePoint SyncSchedule::due() const {
  if (state_ == State::kFull) return TimePoint{};
  const TimePoint full = next_full();
  if (state_ != State::kPartial || !is_changed_) return full;
  return std::min(full, held_.is_set() ? held_.due() : TimePoint{});
}

TimePoint SyncSchedule::next_full() const { return std::min(triggered_.due(), periodic_.due()); }

}  // namespace kvorum::sync
