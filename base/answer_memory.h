// Bounds the memory of answers that clients have not read yet, and of incomplete requests, over all
// connections of a server.
//
// A connection accounts for its memory in steps of kStepBytes, so that small answers touch nothing
// shared; the maker of a large answer reserves memory before it reads on. Past the bound
// reservations fail, connections that hold a step or more start no further requests, and of the
// connections whose clients have read nothing for a while the one that holds the most is cut off,
// until the rest fits again. Half as much past it incomplete requests of a step or more are refused
// when they grow.
//
// Thread-safe; a Share belongs to its connection's loop, a Reservation to its holder. Outlives
// both. The lock is held while the connections that hold something are searched, past the bound
// only; within it only a loop's mailbox is locked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/task.h"

namespace kvorum {

// The error of a unary answer that is larger than gRPC may carry.
Error AnswerSizeError(std::size_t size_bytes, std::size_t max_bytes);

class AnswerMemory {
 public:
  static constexpr std::size_t kStepBytes = std::size_t{64} << 10;
  static constexpr Duration kPatience = std::chrono::seconds(1);

  // `patience`: a client that has read nothing for so long may be cut off.
  explicit AnswerMemory(std::size_t limit_bytes = SIZE_MAX, Duration patience = kPatience)
      : limit_bytes_(limit_bytes), patience_(patience) {}
  AnswerMemory(const AnswerMemory&) = delete;
  AnswerMemory& operator=(const AnswerMemory&) = delete;

  // A connection that can be cut off.
  class Holder {
   public:
    virtual ~Holder() = default;
    // On the holder's loop: releases everything that it holds.
    virtual void OnCut(std::size_t held_bytes) = 0;
  };

 private:
  struct Entry;

 public:
  // The part that one connection holds.
  class Share {
   public:
    Share(AnswerMemory& memory, Executor& loop, Holder& holder)
        : memory_(memory), loop_(loop), holder_(holder) {}
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Sets how much it holds now. Less than before means that the client has read something.
    void Set(std::size_t held_bytes) {
      const std::size_t steps = held_bytes / kStepBytes;
      if (steps != steps_) Move(steps);
    }

   private:
    friend class AnswerMemory;
    void Move(std::size_t steps);

    AnswerMemory& memory_;
    Executor& loop_;
    Holder& holder_;
    std::size_t steps_ = 0;
    std::shared_ptr<Entry> entry_;  // from the first step on
  };

  // Room for an answer that is being made. One that was moved from holds nothing, and may grow
  // again.
  class Reservation {
   public:
    Reservation() = default;
    // Null: nothing is counted.
    explicit Reservation(AnswerMemory* memory) : memory_(memory) {}
    Reservation(Reservation&& other) noexcept
        : memory_(other.memory_), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      if (this == &other) return *this;
      Release();
      memory_ = other.memory_;
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    ~Reservation() { Release(); }

    // Returns false, and reserves nothing more, if it does not fit.
    [[nodiscard]] bool Grow(std::size_t bytes);
    void Release();
    std::size_t bytes() const { return bytes_; }

   private:
    AnswerMemory* memory_ = nullptr;
    std::size_t bytes_ = 0;
  };

  // True if nothing more fits.
  bool full() const { return used_bytes() >= limit_bytes_; }
  // True if it is so full that requests that grow are refused: more may have come in the time that
  // is left to clients that take nothing than there is memory for.
  bool exhausted() const {
    const std::size_t used = used_bytes();
    return used > limit_bytes_ && used - limit_bytes_ > limit_bytes_ / 2;
  }
  std::size_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  std::size_t limit_bytes() const { return limit_bytes_; }
  // The most that was used since the last call.
  std::size_t TakePeakBytes() { return peak_bytes_.exchange(used_bytes()); }
  std::uint64_t cut_connections() const { return cuts_.load(std::memory_order_relaxed); }

 private:
  void Add(std::size_t bytes);
  void Subtract(std::size_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  // Cuts off connections until this much fits, as far as there are any to cut off.
  void MakeRoom(std::size_t bytes);

  const std::size_t limit_bytes_;
  const Duration patience_;
  std::atomic<std::size_t> used_bytes_{0};
  std::atomic<std::size_t> peak_bytes_{0};
  std::atomic<std::uint64_t> cuts_{0};
  std::mutex mutex_;  // guards what follows
  std::vector<std::shared_ptr<Entry>> entries_;
};

}  // namespace kvorum
