// Leases by their deadline: a binary heap in one array, with each lease's place in the lease
// itself, so that a renewal moves it in O(log n) and allocates nothing.
//
// Not thread-safe. Borrows the leases: one is erased before it dies.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "lease/lease_table.h"

namespace kvorum::lease {

class DeadlineHeap {
 public:
  struct Item {
    TimePoint deadline;
    Lease* lease = nullptr;
  };

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  // The one that is due first.
  const Item& front() const { return items_.front(); }
  // All of them, in no order that means anything.
  const std::vector<Item>& items() const { return items_; }
  TimePoint DeadlineOf(const Lease& lease) const { return items_[lease.heap_position].deadline; }

  // Adds the lease, or moves it.
  void Set(Lease& lease, TimePoint deadline);
  void Erase(Lease& lease);
  // Takes these in the place of all; O(n).
  void Assign(std::vector<Item> items);
  void Clear() { items_.clear(); }

  // Aborts with what is broken. O(n).
  void CheckInvariants() const;

 private:
  void Place(std::size_t position, Item item);
  void SiftUp(std::size_t position, Item item);
  void SiftDown(std::size_t position, Item item);

  std::vector<Item> items_;
};

}  // namespace kvorum::lease
