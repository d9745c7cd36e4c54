#include "tests/sim/world/lane.h"

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

void Lane::StartLending(std::function<void()> before, std::function<void()> after) {
  before_lent_ = std::move(before);
  after_lent_ = std::move(after);
}

void Lane::Lend(Task task) {
  const bool rests = !running_ && queue_.empty() && held_until_ <= scheduler_.Now();
  if (stopped_ || !rests || !before_lent_) return Post(std::move(task));
  before_lent_();
  running_ = true;
  task();
  task = {};
  running_ = false;
  after_lent_();
}

void Lane::PostAt(TimePoint when, Task task) {
  if (stopped_) return;
  const std::uint64_t number = ++last_timer_;
  timers_.emplace(number, Timer{.when = when, .task = std::move(task)});
  ArmTimer(number, when);
}

void Lane::ArmTimer(std::uint64_t number, TimePoint when) {
  scheduler_.At(clock_.TrueTime(when), [weak = weak_from_this(), number] {
    if (const auto lane = weak.lock(); lane != nullptr) lane->OnTimer(number);
  });
}

void Lane::OnTimer(std::uint64_t number) {
  const auto timer = timers_.find(number);
  if (timer == timers_.end()) return;
  const TimePoint when = timer->second.when;
  // The clock may have been slowed down since.
  if (clock_.Now() < when) return ArmTimer(number, when);
  Task task = std::move(timer->second.task);
  timers_.erase(timer);
  Post(std::move(task));
}

void Lane::HoldUntil(TimePoint until) { held_until_ = std::max(held_until_, until); }

void Lane::Stop() {
  stopped_ = true;
  const auto queue = std::exchange(queue_, {});
  const auto timers = std::exchange(timers_, {});
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
  running_ = true;
  task();
  running_ = false;
  task = {};  // its captures are destroyed while its process lives
  if (!stopped_) after_();
  if (!stopped_) Arm();
}

}  // namespace kvorum::sim
