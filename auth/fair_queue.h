// A queue for a scarce resource in which heavy users cannot keep others out: addresses take
// turns, and so do the users that one address asks for (fair queueing, McKenney 1990: when the
// queue is full, the asker with the most entries loses its last one).
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string_view>
#include <utility>

namespace kvorum::auth {

// The queue in which an asker's entries wait. Digests: askers that collide share their turns.
struct QueueKey {
  std::uint64_t address = 0;
  std::uint64_t user = 0;
};

// The key for a connection from "host:port": its IPv4 address, or the first half of its IPv6
// address, since any host controls a whole second half.
QueueKey QueueKeyOf(std::string_view remote, std::string_view user);

// First come, first served.
template <class T>
class Line {
 public:
  std::size_t size() const { return waiting_.size(); }
  void Push(T value) { waiting_.push_back(std::move(value)); }
  // Pop and PopLast must not be called when it is empty.
  T Pop() {
    T first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }
  T PopLast() {
    T last = std::move(waiting_.back());
    waiting_.pop_back();
    return last;
  }

 private:
  std::deque<T> waiting_;
};

// Queues that take turns, each present as long as something waits in it.
template <class T, class Queue>
class Ring {
 public:
  std::size_t size() const { return size_; }
  template <class... Keys>
  void Push(T value, std::uint64_t key, Keys... keys_within) {
    auto lane = std::ranges::find(lanes_, key, &Lane::key);
    if (lane == lanes_.end()) lane = lanes_.insert(lanes_.end(), Lane{.key = key, .queue = {}});
    lane->queue.Push(std::move(value), keys_within...);
    ++size_;
  }
  T Pop() {
    T first = lanes_.front().queue.Pop();
    lanes_.splice(lanes_.end(), lanes_, lanes_.begin());
    Left(std::prev(lanes_.end()));
    return first;
  }
  // Removes the last entry of the longest queue; of equally long ones, that of the queue whose turn
  // comes last.
  T PopLast() {
    auto longest = lanes_.begin();
    for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane)
      if (lane->queue.size() >= longest->queue.size()) longest = lane;
    T last = longest->queue.PopLast();
    Left(longest);
    return last;
  }

 private:
  struct Lane {
    std::uint64_t key = 0;
    Queue queue;
  };

  void Left(typename std::list<Lane>::iterator lane) {
    --size_;
    if (lane->queue.size() == 0) lanes_.erase(lane);
  }

  std::list<Lane> lanes_;
  std::size_t size_ = 0;
};

template <class T>
class FairQueue {
 public:
  std::size_t size() const { return addresses_.size(); }
  bool empty() const { return size() == 0; }
  void Push(T value, const QueueKey& key) {
    addresses_.Push(std::move(value), key.address, key.user);
  }
  // Pop and PopLast must not be called when it is empty.
  T Pop() { return addresses_.Pop(); }
  // Removes, from the asker with the most entries, the one that would have come last.
  T PopLast() { return addresses_.PopLast(); }

 private:
  Ring<T, Ring<T, Line<T>>> addresses_;
};

}  // namespace kvorum::auth
