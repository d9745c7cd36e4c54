// Randomness in time, so that many copies do not ask one store at the same moment. The generator is
// passed in: a seed gives the same delays again.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/rng.h"

namespace kvorum::sync {

// Uniform in [0, factor * d); 0 if d is not positive.
Duration Stagger(Rng& rng, Duration d, std::int64_t factor = 1);

// By how much the intervals of a cluster of n nodes are stretched, so that its store is not asked
// more often the larger it is: 1 up to 128 nodes, then one more for each doubling begun.
std::int64_t ScaleFactor(std::uint64_t nodes);

struct BackoffOptions {
  Duration first = std::chrono::milliseconds(50);
  Duration cap = std::chrono::seconds(30);
  Duration quiet = std::chrono::minutes(2);
};

// The waiting times after a sequence of failures: uniform below a ceiling ("full jitter")
// that doubles from failure to failure. For one executor.
class Backoff {
 public:
  explicit Backoff(BackoffOptions options = {}) : options_(options), ceiling_(options.first) {}

  // The wait after a failure at `now`. The ceiling begins anew if nothing has failed for the quiet
  // time after the previous wait.
  Duration Next(TimePoint now, Rng& rng);
  // The next wait is below this, unless it comes after a quiet time.
  Duration ceiling() const { return ceiling_; }

 private:
  BackoffOptions options_;
  Duration ceiling_;
  TimePoint resumed_{0};  // the end of the previous wait
};

}  // namespace kvorum::sync
