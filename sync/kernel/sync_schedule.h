// When an agent syncs: the states full, retry and partial of anti-entropy (HashiCorp Consul,
// agent/ae), with a pause that a full pass is remembered over, and a backoff of partial passes that
// fail. Pure; for one thread at a time. At most one pass runs at a time.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/rng.h"
#include "sync/kernel/jitter.h"
#include "sync/kernel/pause.h"
#include "sync/kernel/timer.h"

namespace kvorum::sync {

// All jitter grows with the nodes that the store held when they were last counted (ScaleFactor), so
// that agents that hear of one reason together do not come together. The triggers', whose time is
// short, grows with the square: 128 agents come in 3 s, 1,000 in 48 s, which are 43 and 21 a
// second.
struct SyncScheduleOptions {
  Duration full_interval = std::chrono::seconds(60);   // plus stagger of the same
  Duration retry_interval = std::chrono::seconds(15);  // plus stagger of the same
  Duration trigger_stagger = std::chrono::seconds(3);
  BackoffOptions backoff = {};
};

class SyncSchedule {
 public:
  enum class State : std::uint8_t { kFull, kRetry, kPartial };

  explicit SyncSchedule(const SyncScheduleOptions& options)
      : options_(options), backoff_(options.backoff) {}

  // The full trigger: within the trigger's stagger.
  void WantFull(TimePoint now, Rng& rng);
  void WantFullNow() { state_ = State::kFull; }
  // After something that a full pass repairs, but not for ever at once.
  void WantFullAfterBackoff(TimePoint now, Rng& rng);
  void WantPartial() { is_changed_ = true; }

  // The pass to run now, kNone for none. The caller says how it ended before it asks again.
  Pass Take(TimePoint now, Pause& pause, Rng& rng);
  // The store holds so many nodes.
  void FullSucceeded(TimePoint now, std::uint64_t nodes, Rng& rng);
  void FullFailed(TimePoint now, Rng& rng) { Retry(now, rng); }
  void PartialSucceeded() {}
  void PartialFailed(TimePoint now, Rng& rng);

  State state() const { return state_; }
  // The next time at which Take may have something.
  TimePoint due() const;
  // When the next full pass begins unless a trigger comes first; kNever while it is due.
  TimePoint next_full() const;

 private:
  void Retry(TimePoint now, Rng& rng);

  SyncScheduleOptions options_;
  std::int64_t scale_ = 1;
  State state_ = State::kFull;
  Timer triggered_;  // a full pass, after a trigger
  Timer periodic_;   // a full pass, at the latest
  Timer held_;       // no partial pass before this
  bool is_changed_ = false;
  Backoff backoff_;
};

}  // namespace kvorum::sync
