// When each listener of an informer is due for a resync: the periods that listeners ask for, fitted
// to the one period at which the informer looks. A pure state machine: time is passed in.
//
// | asked                        | what comes of it                                  |
// | ---------------------------- | ------------------------------------------------- |
// | in (0, 1 s)                  | 1 s, with a warning                               |
// | before the start, below P    | P becomes it, and all periods are derived anew    |
// | after the start, below P     | P, with a warning                                 |
// | 0, or P is 0                 | never                                             |
// | not a multiple of P          | the next multiple of it                           |
//
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "sync/kernel/timer.h"

namespace kvorum::sync {

class ResyncSchedule {
 public:
  using ListenerId = std::uint64_t;
  using OnWarning = std::function<void(std::string_view text)>;
  static constexpr Duration kLeast = std::chrono::seconds(1);

  // `check` is P; it may be below kLeast, as may be what the default of the informer gives.
  ResyncSchedule(Duration check, OnWarning on_warning)
      : check_(check), on_warning_(std::move(on_warning)) {}

  // Periods fitted from now on are raised to P. Checks come at now + P, now + 2 P ...
  void Start(TimePoint now);
  // `is_default`: the period is the informer's default, and may be short.
  void Add(ListenerId listener, Duration asked, bool is_default, TimePoint now);
  void Remove(ListenerId listener) { listeners_.erase(listener); }

  // The listeners of the round that begins now; none if there is none. They are in no other round
  // until it has ended for them.
  std::vector<ListenerId> TakeDue(TimePoint now);
  // The listener's round has ended. The listener is due again one period after the round began; if
  // that time has passed, at the next check.
  void EndRound(ListenerId listener, TimePoint now);

  // The next check; kNever if there is none.
  TimePoint next_check() const;
  Duration check() const { return check_; }
  // The real period of a listener; zero: never.
  Duration period(ListenerId listener) const;

 private:
  struct Listener {
    Duration asked{0};   // at least kLeast, unless it is a default
    Duration period{0};  // a multiple of P
    TimePoint due = kNever;
    TimePoint round_begin = kNever;  // of a round that has not ended
  };
  void Derive(Listener& listener, TimePoint now) const;

  Duration check_;
  const OnWarning on_warning_;
  bool is_started_ = false;
  TimePoint next_check_ = kNever;
  std::map<ListenerId, Listener> listeners_;
};

}  // namespace kvorum::sync
