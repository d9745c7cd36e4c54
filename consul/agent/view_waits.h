// Requests that wait until the agent's list has become something: that a registration stands in
// the store, that a service has another hash.
//
// Thread-safe. While anybody waits the list is taken every few milliseconds, once for all of them.
// Those that wait when this ends are dropped. Syncer and executor outlive it.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "consul/agent/local_view.h"
#include "sync/agent/syncer.h"
#include "sync/kernel/loop.h"

namespace kvorum::consul {

class ViewWaits {
 public:
  ViewWaits(const sync::Syncer& syncer, Executor& executor, std::string node);
  ~ViewWaits();
  ViewWaits(const ViewWaits&) = delete;
  ViewWaits& operator=(const ViewWaits&) = delete;

  // Looks at the list; true ends the wait. Called once more with `is_over` at its end. On the
  // executor, which must not be blocked.
  using Look = std::move_only_function<bool(const LocalView& view, bool is_over)>;
  // Looks at once (on this thread), then every `interval`. More than kMost that wait: it is over at
  // once.
  void Wait(Duration interval, Duration longest, Look look);

  static constexpr std::size_t kMost = 4096;

 private:
  struct Waiting {
    Look look;
    Duration interval{};
    TimePoint next;
    TimePoint end;
  };
  // Returns when somebody is to look again.
  TimePoint Step(TimePoint now);

  const sync::Syncer& syncer_;
  Executor& executor_;
  const std::string node_;
  std::mutex mutex_;  // guards the waits
  std::vector<Waiting> waits_;
  sync::Loop loop_;
};

}  // namespace kvorum::consul
