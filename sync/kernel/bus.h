// Hands each published event to every subscriber that wants it, through a bounded queue per
// subscriber. A subscriber that does not keep up loses events and is notified: its next item is
// then an Overflow, which means "treat everything as changed".
//
// Thread-safe. The callbacks run on the publishing thread, outside all locks; inside of one a
// subscription may be closed, its own as well. Events of one publisher arrive in order. Cost of a
// Publish: a walk over the subscribers, and a copy of the event for each that wants it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "base/metric.h"
#include "sync/kernel/gate.h"

namespace kvorum::sync {

// Stands for the events that did not fit into a subscriber's queue.
struct Overflow {
  friend bool operator==(const Overflow&, const Overflow&) = default;
};

template <class Event>
class Bus {
 public:
  using Item = std::variant<Overflow, Event>;

  struct Options {
    std::size_t capacity = 1024;  // items; at least 1
    // Asked once about each event; null wants all.
    std::function<bool(const Event&)> wants = nullptr;
    // Called when there is something to take after there was nothing.
    std::function<void()> on_ready = nullptr;
    // Counts the overflows; null: they are not counted.
    std::shared_ptr<Counter> overflows = nullptr;
  };

 private:
  class Queue {
   public:
    explicit Queue(Options options) : options_(std::move(options)) {}

    void Offer(const Event& event) {
      const Gate::Visit visit(gate_);
      if (!visit.is_in()) return;
      if (options_.wants && !options_.wants(event)) return;
      if (gate_.is_closed()) return;  // by the predicate
      if (Push(event) && options_.on_ready) options_.on_ready();
    }
    std::vector<Item> Take() {
      const std::lock_guard lock(mutex_);
      std::vector<Item> items(std::make_move_iterator(items_.begin()),
                              std::make_move_iterator(items_.end()));
      items_.clear();
      return items;
    }
    void Close() { gate_.Close(); }
    bool is_closed() const { return gate_.is_closed(); }

   private:
    // True if the queue was empty.
    bool Push(const Event& event) {
      const std::lock_guard lock(mutex_);
      const bool was_empty = items_.empty();
      if (items_.size() < std::max<std::size_t>(options_.capacity, 1)) {
        items_.emplace_back(event);
        return was_empty;
      }
      items_.clear();
      items_.emplace_back(Overflow{});
      if (options_.overflows) options_.overflows->Add();
      return false;
    }

    const Options options_;
    Gate gate_;
    std::mutex mutex_;
    std::deque<Item> items_;
  };

 public:
  // A subscriber's place on the bus. Letting go of it closes it; it may outlive the bus.
  class Subscription {
   public:
    ~Subscription() { Close(); }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    // All items so far, in order.
    std::vector<Item> Take() { return queue_->Take(); }
    // Nothing is queued from now on, and no callback runs once this has returned, except the one
    // that called it.
    void Close() { queue_->Close(); }

   private:
    friend class Bus;
    explicit Subscription(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
    const std::shared_ptr<Queue> queue_;
  };

  std::unique_ptr<Subscription> Subscribe(Options options) {
    auto queue = std::make_shared<Queue>(std::move(options));
    const std::lock_guard lock(mutex_);
    std::erase_if(queues_, [](const auto& other) { return other->is_closed(); });
    queues_.push_back(queue);
    return std::unique_ptr<Subscription>(new Subscription(std::move(queue)));
  }

  void Publish(const Event& event) {
    for (const auto& queue : Open()) queue->Offer(event);
  }

 private:
  // The queues as they are now: a callback may add to them.
  std::vector<std::shared_ptr<Queue>> Open() {
    const std::lock_guard lock(mutex_);
    std::erase_if(queues_, [](const auto& queue) { return queue->is_closed(); });
    return queues_;
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Queue>> queues_;
};

}  // namespace kvorum::sync
