#include "server/apply/apply_loop.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/api_errors.h"
#include "base/logging.h"

namespace kvorum::server {
namespace {

// Entries that are published together: enough to make a publish cheap, few enough that the first of
// them does not wait long for its answer.
constexpr std::size_t kBatchEntries = 1'000;

}  // namespace

ApplyLoop::ApplyLoop(mvcc::Store& store, Applier& applier, Executor& apply, raft::Index applied,
                     Duration slow_apply, AppliedHook on_applied, InstallHook install)
    : store_(store),
      applier_(applier),
      apply_(apply),
      slow_apply_(slow_apply),
      on_applied_(std::move(on_applied)),
      install_(std::move(install)),
      applied_(applied) {}

void ApplyLoop::Push(std::vector<raft::Entry> entries) {
  PushItem({.entries = std::move(entries), .snapshot = nullptr});
}

void ApplyLoop::PushSnapshot(std::shared_ptr<const raft::Snapshot> snapshot) {
  PushItem({.entries = {}, .snapshot = std::move(snapshot)});
}

void ApplyLoop::PushItem(Item item) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    queue_.push_back(std::move(item));
    if (std::exchange(drain_posted_, true)) return;
  }
  apply_.Post([this] { Drain(); });
}

// A batch of entries, or a snapshot, or nothing.
ApplyLoop::Item ApplyLoop::Take() {
  std::lock_guard lock(mutex_);
  if (queue_.empty()) {
    drain_posted_ = false;
    return {};
  }
  Item taken = std::move(queue_.front());
  queue_.pop_front();
  while (taken.snapshot == nullptr && !queue_.empty() && queue_.front().snapshot == nullptr &&
         taken.entries.size() + queue_.front().entries.size() <= kBatchEntries) {
    std::ranges::move(queue_.front().entries, std::back_inserter(taken.entries));
    queue_.pop_front();
  }
  return taken;
}

ApplyLoop::Item ApplyLoop::Next() {
  if (left_.empty()) return Take();
  return {.entries = std::exchange(left_, {}), .snapshot = nullptr};
}

void ApplyLoop::Drain() {
  while (true) {
    if (!store_.HasRoom()) return store_.WhenRoom([this] { Drain(); });
    Item item = Next();
    if (item.snapshot != nullptr) {
      return install_(item.snapshot, [this, index = item.snapshot->metadata.index] {
        SetApplied(index);
        Drain();
      });
    }
    if (item.entries.empty()) return;
    const TimePoint begin = apply_.clock().Now();
    const std::size_t applied = applier_.Apply(item.entries);
    if (applier_.failed()) return Stop();
    WarnIfSlow(begin, item.entries);
    left_.assign(std::move_iterator(item.entries.begin() + static_cast<std::ptrdiff_t>(applied)),
                 std::move_iterator(item.entries.end()));
    SetApplied(applier_.applied_index());
  }
}

void ApplyLoop::SetApplied(raft::Index applied) {
  applied_.store(applied, std::memory_order_release);
  RunReady(applied);
  on_applied_(applied);
}

void ApplyLoop::WarnIfSlow(TimePoint begin, const std::vector<raft::Entry>& batch) const {
  const Duration took = apply_.clock().Now() - begin;
  if (slow_apply_ <= Duration::zero() || took <= slow_apply_) return;
  const auto millis = [](Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  };
  KV_WARN("apply request took too long", {"took-ms", millis(took)},
          {"expected-duration-ms", millis(slow_apply_)}, {"entries", batch.size()},
          {"first-index", batch.front().index});
}

void ApplyLoop::WaitApplied(raft::Index index, TimePoint deadline, ReadTask task) {
  bool stopped = false;
  {
    std::lock_guard lock(mutex_);
    stopped = stopped_;
    if (!stopped && applied_.load(std::memory_order_acquire) < index) {
      waiting_.emplace(index, WaitingRead{.deadline = deadline, .task = std::move(task)});
      return;
    }
  }
  task(stopped ? kErrStopped.Fail() : Result<void>());
}

void ApplyLoop::ExpireWaiting(TimePoint now) {
  std::vector<ReadTask> expired;
  {
    std::lock_guard lock(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (now < it->second.deadline) {
        ++it;
        continue;
      }
      expired.push_back(std::move(it->second.task));
      it = waiting_.erase(it);
    }
  }
  for (ReadTask& task : expired) task(kErrTimeoutWaitApplied.Fail());
}

void ApplyLoop::RunReady(raft::Index applied) {
  std::vector<ReadTask> ready;
  {
    std::lock_guard lock(mutex_);
    const auto end = waiting_.upper_bound(applied);
    for (auto it = waiting_.begin(); it != end; ++it) ready.push_back(std::move(it->second.task));
    waiting_.erase(waiting_.begin(), end);
  }
  for (ReadTask& task : ready) task({});
}

void ApplyLoop::Stop() {
  decltype(queue_) entries;
  decltype(waiting_) reads;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    queue_.swap(entries);
    waiting_.swap(reads);
  }
  for (auto& [index, read] : reads) read.task(kErrStopped.Fail());
}

}  // namespace kvorum::server
