// A binary heap in one array whose items know their position in it, so that an item in the middle
// can be moved or removed: O(log n) each, with no allocation except for the array's growth.
//
// Not thread-safe. Traits has `static bool IsBefore(const Item&, const Item&)` and `static
// HeapPlace& PlaceOf(const Item&)`, which starts as kNotInHeap and is written by the heap alone. If
// an item's rank changes, Replace must be the next call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace kvorum {

using HeapPlace = std::uint32_t;
inline constexpr HeapPlace kNotInHeap = UINT32_MAX;

template <class Item, class Traits>
class IndexedHeap {
 public:
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  // The first item in the order.
  const Item& front() const { return items_.front(); }
  const Item& operator[](HeapPlace place) const { return items_[place]; }
  // All items, in no useful order.
  const std::vector<Item>& items() const { return items_; }

  void Push(const Item& item) {
    items_.push_back(item);
    SiftUp(items_.size() - 1, item);
  }

  // Puts the item, which may be the present one with another rank, at this place.
  void Replace(HeapPlace place, const Item& item) {
    const bool rises = place > 0 && Traits::IsBefore(item, items_[Parent(place)]);
    rises ? SiftUp(place, item) : SiftDown(place, item);
  }

  void Erase(HeapPlace place) {
    Traits::PlaceOf(items_[place]) = kNotInHeap;
    const Item last = items_.back();
    items_.pop_back();
    if (place < items_.size()) Replace(place, last);
  }

  // Fills the empty heap with these items. O(n).
  void Assign(std::vector<Item> items) {
    items_ = std::move(items);
    for (std::size_t i = 0; i < items_.size(); ++i) Set(i, items_[i]);
    for (std::size_t i = items_.size() / 2; i-- > 0;) SiftDown(i, items_[i]);
  }

  void Clear() {
    for (const Item& item : items_) Traits::PlaceOf(item) = kNotInHeap;
    items_.clear();
  }

  // Aborts with the broken invariant. O(n).
  void CheckInvariants() const {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      KV_CHECK(Traits::PlaceOf(items_[i]) == i, "an item does not know its place in the heap");
      KV_CHECK(i == 0 || !Traits::IsBefore(items_[i], items_[Parent(i)]),
               "a later item stands in front of an earlier one");
    }
  }

 private:
  static std::size_t Parent(std::size_t place) { return (place - 1) / 2; }

  void Set(std::size_t place, const Item& item) {
    items_[place] = item;
    Traits::PlaceOf(item) = static_cast<HeapPlace>(place);
  }

  void SiftUp(std::size_t place, const Item item) {
    for (; place > 0 && Traits::IsBefore(item, items_[Parent(place)]); place = Parent(place))
      Set(place, items_[Parent(place)]);
    Set(place, item);
  }

  void SiftDown(std::size_t place, const Item item) {
    for (std::size_t child = 2 * place + 1; child < items_.size(); child = 2 * place + 1) {
      if (child + 1 < items_.size() && Traits::IsBefore(items_[child + 1], items_[child])) ++child;
      if (!Traits::IsBefore(items_[child], item)) break;
      Set(place, items_[child]);
      place = child;
    }
    Set(place, item);
  }

  std::vector<Item> items_;
};

}  // namespace kvorum
