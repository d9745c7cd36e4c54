#include "consul/agent/view_waits.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kvorum::consul {

ViewWaits::ViewWaits(const sync::Syncer& syncer, Executor& executor, std::string node)
    : syncer_(syncer),
      executor_(executor),
      node_(std::move(node)),
      loop_(executor, [this](TimePoint now) { return Step(now); }) {}

ViewWaits::~ViewWaits() { loop_.Stop(); }

void ViewWaits::Wait(Duration interval, Duration longest, Look look) {
  if (look(LocalView(syncer_, node_), false)) return;
  const TimePoint now = executor_.clock().Now();
  Waiting waiting{.look = std::move(look),
                  .interval = interval,
                  .next = now + std::min(interval, longest),
                  .end = now + longest};
  std::unique_lock lock(mutex_);
  if (waits_.size() >= kMost) {
    lock.unlock();
    waiting.look(LocalView(syncer_, node_), true);
    return;
  }
  waits_.push_back(std::move(waiting));
  lock.unlock();
  loop_.Wake();
}

TimePoint ViewWaits::Step(TimePoint now) {
  std::vector<Waiting> due;
  {
    const std::lock_guard lock(mutex_);
    const auto later =
        std::ranges::partition(waits_, [&](const Waiting& waiting) { return waiting.next > now; });
    std::ranges::move(later, std::back_inserter(due));
    waits_.erase(later.begin(), later.end());
  }
  if (!due.empty()) {
    const LocalView view(syncer_, node_);
    std::erase_if(due, [&](Waiting& waiting) {
      const bool is_over = now >= waiting.end;
      return waiting.look(view, is_over) || is_over;
    });
  }
  const std::lock_guard lock(mutex_);
  for (Waiting& waiting : due) {
    waiting.next = std::min(now + waiting.interval, waiting.end);
    waits_.push_back(std::move(waiting));
  }
  const auto next = std::ranges::min_element(waits_, {}, &Waiting::next);
  return next == waits_.end() ? sync::kNever : next->next;
}

}  // namespace kvorum::consul
