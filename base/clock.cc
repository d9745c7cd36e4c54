#include "base/clock.h"

namespace kvorum {
namespace {

class MachineClock final : public Clock {
 public:
  TimePoint Now() const override {
    return {std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1)};
  }
  std::int64_t WallNanos() const override {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }
};

}  // namespace

Clock& SystemClock() {
  static MachineClock clock;
  return clock;
}

}  // namespace kvorum
