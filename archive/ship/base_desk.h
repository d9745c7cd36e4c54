// Bases between the archiver's two threads: the log's orders one when it is due, the bases' makes
// it. Thread-safe; one order at a time, and no wake-up without one.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "archive/format/names.h"
#include "archive/ship/log_shipper.h"
#include "base/clock.h"
#include "proto/raft_types.h"

namespace kvorum::archive {

struct BaseOrder {
  HistoryId history = 0;
  UnixMillis time_ms = 0;  // the base has no earlier time
  raft::Index least = 0;   // and no earlier entry
};

class BaseDesk {
 public:
  // False while another one is under way.
  bool Order(const BaseOrder& order) {
    const std::lock_guard lock(mutex_);
    if (is_under_way_) return false;
    is_under_way_ = true;
    order_ = order;
    changed_.notify_one();
    return true;
  }
  // The next order, which is under way until it is done; nullopt once closed.
  std::optional<BaseOrder> Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_closed_ || order_.has_value(); });
    if (is_closed_) return std::nullopt;
    return std::exchange(order_, std::nullopt);
  }
  void Done() {
    const std::lock_guard lock(mutex_);
    is_under_way_ = false;
  }
  // The base that came of it, before Done: retention may take a while.
  void Made(HistoryId history, const BaseName& base) {
    const std::lock_guard lock(mutex_);
    made_history_ = history;
    made_ = base;
  }
  std::optional<BaseName> NewestMade(HistoryId history) const {
    const std::lock_guard lock(mutex_);
    return made_history_ == history ? made_ : std::nullopt;
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<BaseOrder> order_;
  bool is_under_way_ = false;
  bool is_closed_ = false;
  HistoryId made_history_ = 0;
  std::optional<BaseName> made_;
};

// Says when a base is due. Used by one thread.
class BaseSchedule {
 public:
  BaseSchedule(const Clock& clock, Duration interval) : clock_(clock), interval_(interval) {}

  // At once without a base, or with none from which the log leads on; else when the interval has
  // passed since the newest one and entries were applied since. A clock that was set back does not
  // make it later.
  bool IsDue(const LogShipper::Line& line, const std::optional<BaseName>& newest) {
    if (newest != newest_) {
      newest_ = newest;
      seen_ = clock_.Now();
    }
    if (!newest || newest->index < line.least_base) return true;
    if (line.applied <= newest->index) return false;
    const Duration by_name =
        std::chrono::milliseconds(clock_.WallNanos() / 1'000'000 - newest->time_ms);
    return std::max(by_name, clock_.Now() - seen_) >= interval_;
  }

 private:
  const Clock& clock_;
  const Duration interval_;
  std::optional<BaseName> newest_;
  TimePoint seen_;
};

}  // namespace kvorum::archive
