// Leases ordered by deadline. Each lease stores its position, so that a renewal moves it in O(log
// n) without an allocation.
//
// Not thread-safe. Borrows the leases: erase a lease before it is destroyed.
#pragma once

#include "base/clock.h"
#include "base/indexed_heap.h"
#include "lease/lease_table.h"

namespace kvorum::lease {

struct LeaseDeadline {
  TimePoint deadline;
  Lease* lease = nullptr;

  static bool IsBefore(const LeaseDeadline& a, const LeaseDeadline& b) {
    return a.deadline < b.deadline;
  }
  static HeapPlace& PlaceOf(const LeaseDeadline& item) { return item.lease->heap_place; }
};

class DeadlineHeap : public IndexedHeap<LeaseDeadline, LeaseDeadline> {
 public:
  TimePoint DeadlineOf(const Lease& lease) const { return (*this)[lease.heap_place].deadline; }

  // Adds the lease, or moves it.
  void Set(Lease& lease, TimePoint deadline) {
    const LeaseDeadline item{.deadline = deadline, .lease = &lease};
    lease.heap_place == kNotInHeap ? Push(item) : Replace(lease.heap_place, item);
  }
};

}  // namespace kvorum::lease
