// One listener of an informer: its queue, and the task that calls its handler.
//
// Thread-safe. The handler runs on the listener's executor, one call at a time, and may take its
// time: it delays no other listener, unless the listener blocks. What it throws is counted and
// reported.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/metric.h"
#include "sync/informer/listener_queue.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/metrics.h"

namespace kvorum::sync {

struct ListenerOptions {
  std::string name = {};  // in reports and metrics
  OverflowPolicy overflow = OverflowPolicy::kCoalesce;
  std::size_t capacity = 1024;  // changes
  std::size_t capacity_bytes = std::size_t{64} << 20U;
  // The time between two rounds of every object; zero: none, negative: the informer's default.
  Duration resync = Duration(-1);
  // Null: its own thread.
  Executor* executor = nullptr;
  // Called once, after the handler has returned from the last of the initial adds.
  std::function<void()> on_synced = nullptr;
};

class Listener {
 public:
  using Handler = std::function<void(const Notification& notification)>;
  // The listener's way to its informer; called on its executor.
  struct Owner {
    ListenerQueue::FindCurrent find_current;
    std::function<void()> on_room;
    std::function<void()> on_removed;  // also when the informer is gone
    std::function<void(std::uint64_t listener)> on_round_end;
    std::function<void(const std::string& text)> on_report;
  };

  Listener(std::uint64_t id, ListenerOptions options, Handler handler, Owner owner,
           Metrics* metrics);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint64_t id() const { return id_; }
  const ListenerOptions& options() const { return options_; }
  bool is_synced() const { return is_synced_; }
  std::uint64_t handler_errors() const { return handler_errors_.value(); }
  std::uint64_t overflows() const { return overflows_.value(); }
  bool blocks() const;

  // The changes of a revision; they are delivered after the next Wake, or with earlier changes.
  void Add(std::span<const Change> changes, const ObjectMap& before, const ObjectMap& after);
  void Wake() { loop_.Wake(); }
  // These wake it.
  void AddInitial(const ObjectMap& map);
  void AddDifference(const ObjectMap& before, const ObjectMap& after);
  void AddRound(ListenerQueue::RoundId round, const ObjectMap& map);

  // No handler begins any more. It waits for the one in progress, except inside a callback of the
  // library: two that stop each other would wait for ever. May be called again.
  void Stop();
  // Stops, and always waits.
  void StopAndWait() { loop_.Stop(); }
  // Stops, and lets the informer know.
  void Remove();
  bool is_stopped() const { return loop_.is_stopped(); }
  // Stopped, and no handler is running any more.
  bool has_ended() const { return loop_.has_ended(); }

 private:
  TimePoint Step(TimePoint now);
  bool TakeSome();
  void Deliver(const ListenerQueue::Next& next);
  template <class Callable>
  void Call(const Callable& call);
  template <class Change>
  void Enqueue(const Change& change);

  const std::uint64_t id_;
  const ListenerOptions options_;
  const Handler handler_;
  const Owner owner_;
  std::shared_ptr<Gauge> queue_length_;
  Counter handler_errors_;
  Counter overflows_;
  std::atomic<bool> is_synced_ = false;
  mutable std::mutex mutex_;
  ListenerQueue queue_;                     // guarded by the mutex
  std::vector<ListenerQueue::Next> taken_;  // by the step in progress
  std::unique_ptr<Executor> own_executor_;
  Loop loop_;
};

}  // namespace kvorum::sync
