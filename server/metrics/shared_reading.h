// A value that several rows of the metrics show, read once for all of a scrape's: reading may be
// costly, as mallinfo2 is, which walks the heap's free lists under the locks that serving threads
// allocate under. Copies share the reading. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"

namespace kvorum::server {

template <class Value>
class SharedReading {
 public:
  explicit SharedReading(Value (*read)()) : state_(std::make_shared<State>(read)) {}
  Value operator()() const {
    const std::lock_guard lock(state_->mutex);
    const TimePoint now = SystemClock().Now();
    if (!state_->value.has_value() || now - state_->read_at > kScrape) {
      state_->value = state_->read();
      state_->read_at = now;
    }
    return *state_->value;
  }

 private:
  // Longer than a scrape takes, shorter than the time between two.
  static constexpr Duration kScrape = std::chrono::milliseconds(100);
  struct State {
    explicit State(Value (*function)()) : read(function) {}
    Value (*read)();
    std::mutex mutex;  // guards what follows; held for the reading
    std::optional<Value> value;
    TimePoint read_at;
  };
  std::shared_ptr<State> state_;
};

}  // namespace kvorum::server
