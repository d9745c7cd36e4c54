// Decides when the subscribers' snapshots are made anew, and from which types: collects the types
// that changed, and hands them out as one pass at the next tick of a fixed rhythm. Now and then all
// types are a pass, so that a lost event does no lasting harm.
//
// A pure state machine: time is passed in, and nothing is called. For one executor. A pass that
// failed is handed out again, with what changed meanwhile, at the tick after it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/rng.h"
#include "sync/kernel/timer.h"

namespace kvorum::sync {

struct WatchdogOptions {
  // Zero: there is no pass after the first.
  Duration flush_interval = std::chrono::seconds(1);
  // Zero: only the first pass is full, unless events were lost.
  Duration full_interval = std::chrono::seconds(60);
  // The first full pass comes after the interval and a random part of it, so that many watchdogs
  // that were started together spread.
  bool spreads_first_full = false;
};

// Why there is a pass; a label of the metrics.
enum class PassReason : std::uint8_t { kEvent, kResync, kEventAndResync };
std::string_view PassReasonName(PassReason reason);

class Watchdog {
 public:
  struct Pass {
    std::set<std::string> types;
    PassReason reason = PassReason::kEvent;
  };

  // The first pass, of all types, is due at `now`.
  Watchdog(std::set<std::string> types, const WatchdogOptions& options, TimePoint now, Rng& rng);

  // A type that is not served is ignored.
  void Changed(const std::string& type, TimePoint now);
  // Events were lost: any type may have changed.
  void AllChanged(TimePoint now);
  // The pass to begin now, if one is due. No pass is due before the one under way has finished.
  std::optional<Pass> Step(TimePoint now);
  // Ends the pass under way; unless it succeeded, all of it is to be done again.
  void Finish(bool succeeded);
  // When Step has something to do if nothing changes until then.
  TimePoint due() const;
  const std::set<std::string>& types() const { return types_; }

 private:
  struct Changes {
    std::set<std::string> types;
    bool by_event = false;
    bool by_resync = false;
    void Add(const Changes& more);
  };
  // Ticks that pass while nothing has changed do not count: the next change waits for the next of
  // them.
  void SkipIdleTicks(TimePoint now);

  const std::set<std::string> types_;
  Ticker flush_;
  Ticker full_;
  Changes changes_;
  std::optional<Changes> under_way_;
};

}  // namespace kvorum::sync
