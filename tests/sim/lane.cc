#include "tests/sim/lane.h"

#include <algorithm>
#include <utility>

namespace kvorum::sim {
namespace {

constexpr std::uint64_t kStallOneIn = 500;

}  // namespace

void Lane::Post(Task task) {
  if (stopped_) return;
  queue_.push_back(std::move(task));
  Arm();
}

void Lane::PostAt(TimePoint when, Task task) {
  if (stopped_) return;
  scheduler_.At(clock_.TrueTime(when),
                [weak = weak_from_this(), when, task = std::move(task)]() mutable {
                  const auto lane = weak.lock();
                  if (lane == nullptr || lane->stopped_) return;
                  // The clock may have been slowed down since.
                  if (lane->clock_.Now() < when) return lane->PostAt(when, std::move(task));
                  lane->Post(std::move(task));
                });
}

void Lane::HoldUntil(TimePoint until) { held_until_ = std::max(held_until_, until); }

void Lane::Stop() {
  stopped_ = true;
  queue_.clear();
}

void Lane::Arm() {
  if (armed_ || queue_.empty()) return;
  armed_ = true;
  const bool stalls = scheduler_.rng().OneIn(kStallOneIn);
  const Duration takes =
      scheduler_.Between(options_.least, stalls ? options_.stalled : options_.most);
  scheduler_.At(std::max(scheduler_.Now(), held_until_) + takes, [weak = weak_from_this()] {
    if (const auto lane = weak.lock(); lane != nullptr) lane->RunNext();
  });
}

void Lane::RunNext() {
  armed_ = false;
  if (stopped_) return;
  if (held_until_ > scheduler_.Now()) return Arm();
  Task task = std::move(queue_.front());
  queue_.pop_front();
  task();
  task = {};  // what it holds goes while its process lives
  if (!stopped_) after_();
  if (!stopped_) Arm();
}

}  // namespace kvorum::sim
