// What waits for a scarce good, such that nobody who asks for much of it keeps others out:
// addresses take turns, and so do the users that one address asks for (fair queueing, McKenney
// 1990: who has the most in the queue loses his last one when it is full).
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

// Who asks. Digests: those that collide share their turns.
struct Asker {
  std::uint64_t address = 0;
  std::uint64_t user = 0;
};

// Of a connection from "host:port": its IPv4 address, or the first half of its IPv6 address, of
// which any host has the other half to itself.
Asker AskerOf(std::string_view remote, std::string_view user);

// First come, first served.
template <class T>
class Line {
 public:
  std::size_t size() const { return waiting_.size(); }
  void Push(T value) { waiting_.push_back(std::move(value)); }
  // Of these two, neither when it is empty.
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

// Queues that take turns, each there as long as something waits in it.
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
  // The last of the longest, and of those the one whose turn is last.
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
  void Push(T value, const Asker& asker) {
    addresses_.Push(std::move(value), asker.address, asker.user);
  }
  // Of these two, neither when it is empty.
  T Pop() { return addresses_.Pop(); }
  // Of who has the most: the one that would have come last.
  T PopLast() { return addresses_.PopLast(); }

 private:
  Ring<T, Ring<T, Line<T>>> addresses_;
};

}  // namespace kvorum::auth
