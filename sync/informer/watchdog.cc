#include "sync/informer/watchdog.h"

#include <algorithm>
#include <utility>

#include "sync/kernel/jitter.h"

namespace kvorum::sync {

std::string_view PassReasonName(PassReason reason) {
  switch (reason) {
    case PassReason::kEvent:
      return "event";
    case PassReason::kResync:
      return "resync";
    case PassReason::kEventAndResync:
      return "event_and_resync";
  }
  return "";
}

void Watchdog::Changes::Add(const Changes& more) {
  types.insert(more.types.begin(), more.types.end());
  by_event |= more.by_event;
  by_resync |= more.by_resync;
}

namespace {

TimePoint FirstFull(const WatchdogOptions& options, TimePoint now, Rng& rng) {
  if (options.full_interval <= Duration::zero()) return kNever;
  const Duration spread =
      options.spreads_first_full ? Stagger(rng, options.full_interval) : Duration::zero();
  return now + options.full_interval + spread;
}

}  // namespace

Watchdog::Watchdog(std::set<std::string> types, const WatchdogOptions& options, TimePoint now,
                   Rng& rng)
    : types_(std::move(types)),
      flush_(now, options.flush_interval),
      full_(FirstFull(options, now, rng), options.full_interval),
      changes_{.types = types_, .by_resync = true} {}

void Watchdog::SkipIdleTicks(TimePoint now) {
  if (changes_.types.empty()) flush_.TakeDue(now);
}

void Watchdog::Changed(const std::string& type, TimePoint now) {
  if (!types_.contains(type)) return;
  SkipIdleTicks(now);
  changes_.Add({.types = {type}, .by_event = true});
}

void Watchdog::AllChanged(TimePoint now) {
  SkipIdleTicks(now);
  changes_.Add({.types = types_, .by_event = true});
}

std::optional<Watchdog::Pass> Watchdog::Step(TimePoint now) {
  if (full_.due() <= now) {
    SkipIdleTicks(full_.due() - Duration(1));
    full_.TakeDue(now);
    changes_.Add({.types = types_, .by_resync = true});
  }
  if (!flush_.TakeDue(now) || changes_.types.empty() || under_way_) return std::nullopt;
  under_way_ = std::exchange(changes_, {});
  Pass pass{.types = under_way_->types};
  if (under_way_->by_resync)
    pass.reason = under_way_->by_event ? PassReason::kEventAndResync : PassReason::kResync;
  return pass;
}

void Watchdog::Finish(bool succeeded) {
  if (under_way_ && !succeeded) changes_.Add(*under_way_);
  under_way_.reset();
}

TimePoint Watchdog::due() const {
  if (changes_.types.empty() || under_way_) return full_.due();
  return std::min(flush_.due(), full_.due());
}

}  // namespace kvorum::sync
