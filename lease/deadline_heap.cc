#include "lease/deadline_heap.h"

#include <utility>

#include "base/check.h"

namespace kvorum::lease {

void DeadlineHeap::Place(std::size_t position, Item item) {
  item.lease->heap_position = static_cast<std::uint32_t>(position);
  items_[position] = item;
}

void DeadlineHeap::SiftUp(std::size_t position, Item item) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (items_[parent].deadline <= item.deadline) break;
    Place(position, items_[parent]);
    position = parent;
  }
  Place(position, item);
}

void DeadlineHeap::SiftDown(std::size_t position, Item item) {
  for (std::size_t child = 2 * position + 1; child < items_.size(); child = 2 * position + 1) {
    if (child + 1 < items_.size() && items_[child + 1].deadline < items_[child].deadline) ++child;
    if (item.deadline <= items_[child].deadline) break;
    Place(position, items_[child]);
    position = child;
  }
  Place(position, item);
}

void DeadlineHeap::Set(Lease& lease, TimePoint deadline) {
  const Item item{.deadline = deadline, .lease = &lease};
  if (lease.heap_position == Lease::kNotQueued) {
    items_.push_back(item);
    return SiftUp(items_.size() - 1, item);
  }
  const std::size_t position = lease.heap_position;
  if (deadline < items_[position].deadline) return SiftUp(position, item);
  SiftDown(position, item);
}

void DeadlineHeap::Erase(Lease& lease) {
  const std::size_t position = std::exchange(lease.heap_position, Lease::kNotQueued);
  const Item last = items_.back();
  items_.pop_back();
  if (position == items_.size()) return;
  const bool is_earlier = last.deadline < items_[position].deadline;
  is_earlier ? SiftUp(position, last) : SiftDown(position, last);
}

void DeadlineHeap::Assign(std::vector<Item> items) {
  items_ = std::move(items);
  for (std::size_t i = 0; i < items_.size(); ++i)
    items_[i].lease->heap_position = static_cast<std::uint32_t>(i);
  for (std::size_t i = items_.size() / 2; i-- > 0;) SiftDown(i, items_[i]);
}

void DeadlineHeap::CheckInvariants() const {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    KV_CHECK(items_[i].lease->heap_position == i, "a lease does not know its place in the heap");
    KV_CHECK(i == 0 || items_[(i - 1) / 2].deadline <= items_[i].deadline,
             "a later deadline stands in front of an earlier one");
  }
}

}  // namespace kvorum::lease
