#include "base/thread_cells.h"

#include <bitset>
#include <mutex>
#include <new>

namespace kvorum {
namespace {

// A row begins on its own cache line and fills it, so that two threads' cells never share one.
constexpr std::size_t kLineBytes = 64;

struct Places {
  std::mutex mutex;
  std::bitset<ThreadPlace::kOwned> taken;
};
// Never destroyed: threads may end after static objects are gone.
Places& AllPlaces() {
  static Places* const places = new Places;
  return *places;
}

}  // namespace

// Gives the place back when its thread ends. What the thread adds after that is added as shared.
struct ThreadPlace::Holder {
  Holder() {
    Places& places = AllPlaces();
    const std::lock_guard lock(places.mutex);
    std::uint8_t free = 0;
    while (free < kOwned && places.taken[free]) ++free;
    if (free < kOwned) places.taken.set(free);
    place_ = free;
  }
  ~Holder() {
    const std::uint8_t place = place_;
    place_ = kShared;
    if (place == kShared) return;
    Places& places = AllPlaces();
    const std::lock_guard lock(places.mutex);
    places.taken.reset(place);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
};

std::uint8_t ThreadPlace::Take() {
  static thread_local const Holder holder;
  return place_;
}

ThreadCells::~ThreadCells() {
  for (const std::atomic<Cell*>& row : rows_)
    ::operator delete[](row.load(std::memory_order_relaxed), std::align_val_t(kLineBytes));
}

ThreadCells::Cell* ThreadCells::NewRow(std::uint8_t place) {
  constexpr std::size_t kCellsPerLine = kLineBytes / sizeof(Cell);
  const std::size_t size = (cells_ + kCellsPerLine - 1) / kCellsPerLine * kCellsPerLine;
  Cell* const row = new (std::align_val_t(kLineBytes)) Cell[size]();
  Cell* standing = nullptr;
  if (rows_[place].compare_exchange_strong(standing, row, std::memory_order_acq_rel)) return row;
  ::operator delete[](row, std::align_val_t(kLineBytes));  // another thread that shares the place
  return standing;
}

std::uint64_t ThreadCells::Sum(std::size_t cell) const {
  std::uint64_t sum = 0;
  for (const std::atomic<Cell*>& row : rows_) {
    if (const Cell* cells = row.load(std::memory_order_acquire); cells != nullptr)
      sum += cells[cell].load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace kvorum
