// One check: when it is probed, and what the results make of its status. Pure; for one thread at a
// time.
//
// A probed check is probed an interval after the last probe ended, for the first time at a random
// moment of the first interval. One that has not ended a second after its time-out has failed; the
// next waits for its end all the same. A threshold holds the status back, not the output. A ttl
// check takes reports as they are, and is critical once an interval has passed without a report,
// whether or not there was an agent in the meantime.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/rng.h"
#include "sync/agent/entry.h"
#include "sync/kernel/timer.h"

namespace kvorum::sync {

struct ProbeResult {
  Health health = Health::kCritical;
  std::string output = {};

  friend bool operator==(const ProbeResult&, const ProbeResult&) = default;
};

// The time that a ttl check which is not critical may still go without a report, by the time of
// day: at least zero, and at most its interval, for the clock may have been set back.
Duration TtlLeft(const Check& check, std::int64_t unix_ns);
// A ttl check whose time ran out while there was no agent becomes critical.
void ExpireTtl(Check& check, std::int64_t unix_ns);

class CheckMachine {
 public:
  CheckMachine(const Check& check, const Clock& clock, Rng& rng);

  const CheckDefinition& definition() const { return definition_; }
  // True if a probe is to begin now; then ProbeEnded follows.
  bool TakeProbe(TimePoint now);
  // Returns what the check says now.
  ProbeResult ProbeEnded(ProbeResult result, TimePoint now);
  // Somebody reported about a ttl check.
  void Reported(Health health, TimePoint now, std::string_view output = {});
  // Returns what the check says if its time to live has passed, or the time of the probe under way.
  std::optional<ProbeResult> TakeExpired(TimePoint now);
  TimePoint due() const { return timer_.due(); }

 private:
  ProbeResult Count(ProbeResult result);

  CheckDefinition definition_;
  Health health_;
  std::string last_output_;  // reported, if the check has details
  int successes_ = 0;        // in a row
  int failures_ = 0;
  bool is_probing_ = false;
  bool is_overdue_ = false;  // the probe under way, which has been counted
  Timer timer_;
};

}  // namespace kvorum::sync
