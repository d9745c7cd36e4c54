#include "sync/kernel/jitter.h"

#include <algorithm>
#include <bit>

namespace kvorum::sync {

Duration Stagger(Rng& rng, Duration d, std::int64_t factor) {
  const Duration span = d * factor;
  if (span <= Duration::zero()) return Duration::zero();
  return Duration(static_cast<Duration::rep>(rng.Below(static_cast<std::uint64_t>(span.count()))));
}

std::int64_t ScaleFactor(std::uint64_t nodes) {
  constexpr std::uint64_t kUnscaled = 128;
  constexpr int kUnscaledLog = std::countr_zero(kUnscaled);
  if (nodes <= kUnscaled) return 1;
  // The bits of n - 1 are the logarithm of n, rounded up.
  return static_cast<std::int64_t>(std::bit_width(nodes - 1)) - kUnscaledLog + 1;
}

Duration Backoff::Next(TimePoint now, Rng& rng) {
  if (now - resumed_ >= options_.quiet) ceiling_ = options_.first;
  const Duration wait = Stagger(rng, ceiling_);
  ceiling_ = std::min(ceiling_ * 2, options_.cap);
  resumed_ = now + wait;
  return wait;
}

}  // namespace kvorum::sync
