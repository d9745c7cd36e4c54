// Sums that many threads add to without contending: each thread has its own cells, and a reader
// adds them up. The numbers behind the metrics (base/metric.h).
//
// Thread-safe. A reading may miss additions that happen meanwhile, and none that happened before.
// An addition is a load and a store of the thread's own cell, no atomic read-modify-write; beyond
// kOwned threads at a time, the others share one place and add atomically. The cells of a thread
// that has ended go on with the next new one. Memory: a row of 8 bytes a cell for every thread that
// ever adds, made by its first addition.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kvorum {

// The place of the running thread: no two live threads have the same one, unless it is kShared.
class ThreadPlace {
 public:
  static constexpr std::uint8_t kOwned = 64;
  static constexpr std::uint8_t kShared = kOwned;

  static std::uint8_t Here() { return place_ == kNone ? Take() : place_; }

 private:
  static constexpr std::uint8_t kNone = 0xff;
  static std::uint8_t Take();
  struct Holder;

  static inline thread_local constinit std::uint8_t place_ = kNone;
};

class ThreadCells {
 public:
  explicit ThreadCells(std::size_t cells) : cells_(cells) {}
  ~ThreadCells();
  ThreadCells(const ThreadCells&) = delete;
  ThreadCells& operator=(const ThreadCells&) = delete;

  // The cells of the running thread, for several additions; not kept.
  class Mine {
   public:
    void Add(std::size_t cell, std::uint64_t n) {
      if (is_shared_) {
        row_[cell].fetch_add(n, std::memory_order_relaxed);
      } else {
        row_[cell].store(row_[cell].load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
      }
    }

   private:
    friend class ThreadCells;
    Mine(std::atomic<std::uint64_t>* row, bool is_shared) : row_(row), is_shared_(is_shared) {}
    std::atomic<std::uint64_t>* row_;
    bool is_shared_;
  };
  Mine Here() {
    const std::uint8_t place = ThreadPlace::Here();
    Cell* row = rows_[place].load(std::memory_order_acquire);
    if (row == nullptr) row = NewRow(place);
    return {row, place == ThreadPlace::kShared};
  }
  void Add(std::size_t cell, std::uint64_t n) { Here().Add(cell, n); }
  // The sum is modulo 2^64, so that one thread may subtract (add -n) what another has added.
  std::uint64_t Sum(std::size_t cell) const;

 private:
  using Cell = std::atomic<std::uint64_t>;
  Cell* NewRow(std::uint8_t place);

  const std::size_t cells_;
  std::array<std::atomic<Cell*>, ThreadPlace::kOwned + 1> rows_{};
};

}  // namespace kvorum
