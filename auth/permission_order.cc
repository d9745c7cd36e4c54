#include "auth/permission_order.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

namespace kvorum::auth {
namespace {

using List = std::span<Permission>;

// Shorter lists are sorted by insertion; longer ones are recognised as sorted except for one
// element.
constexpr std::size_t kMaxInsertion = 12;
constexpr std::size_t kMinShifting = 50;

bool IsLess(const Permission& a, const Permission& b) { return a.key < b.key; }

void InsertionSort(List list) {
  for (std::size_t i = 1; i < list.size(); ++i) {
    for (std::size_t at = i; at > 0 && IsLess(list[at], list[at - 1]); --at)
      std::swap(list[at], list[at - 1]);
  }
}

// Pattern-defeating quicksort (arXiv:2106.05123) with the constants and the random numbers of Go's,
// as far as a sorted list with one new element at its end needs it. Parts are [from, to) of one
// list.
class QuickSort {
 public:
  explicit QuickSort(List list) : list_(list) {}

  void Sort() { Sort(0, list_.size(), static_cast<int>(std::bit_width(list_.size()))); }

 private:
  struct Pivot {
    std::size_t at;
    bool seems_sorted;
  };
  struct Split {
    std::size_t middle;
    bool was_partitioned;
  };

  void Sort(std::size_t from, std::size_t to, int bad_pivots_left) {
    bool was_balanced = true;
    bool was_partitioned = true;
    while (to - from > kMaxInsertion && bad_pivots_left > 0) {
      if (!was_balanced) {
        BreakPatterns(from, to);
        --bad_pivots_left;
      }
      const Pivot pivot = ChoosePivot(from, to);
      if (was_balanced && was_partitioned && pivot.seems_sorted &&
          std::ranges::is_sorted(list_.subspan(from, to - from), IsLess)) {
        return;
      }
      if (from > 0 && !IsLess(list_[from - 1], list_[pivot.at])) {
        from = PartitionEqual(from, to, pivot.at);
        continue;
      }
      const Split split = Partition(from, to, pivot.at);
      was_partitioned = split.was_partitioned;
      const std::size_t left = split.middle - from;
      const std::size_t right = to - split.middle;
      was_balanced = std::min(left, right) >= (to - from) / 8;
      if (left < right) {
        Sort(from, split.middle, bad_pivots_left);
        from = split.middle + 1;
      } else {
        Sort(split.middle + 1, to, bad_pivots_left);
        to = split.middle;
      }
    }
    InsertionSort(list_.subspan(from, to - from));
  }

  // The median of three.
  Pivot ChoosePivot(std::size_t from, std::size_t to) const {
    const std::size_t quarter = (to - from) / 4;
    std::size_t low = from + quarter;
    std::size_t middle = from + quarter * 2;
    std::size_t high = from + quarter * 3;
    bool seems_sorted = true;
    const auto order = [&](std::size_t& a, std::size_t& b) {
      if (!IsLess(list_[b], list_[a])) return;
      std::swap(a, b);
      seems_sorted = false;
    };
    order(low, middle);
    order(middle, high);
    order(low, middle);
    return {middle, seems_sorted};
  }

  void BreakPatterns(std::size_t from, std::size_t to) {
    const std::size_t length = to - from;
    const std::uint64_t mask = (std::uint64_t{1} << std::bit_width(length)) - 1;
    std::uint64_t random = length;
    for (std::size_t i = 0; i < 3; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      std::size_t other = random & mask;
      if (other >= length) other -= length;
      std::swap(list_[from + length / 4 * 2 - 1 + i], list_[from + other]);
    }
  }

  // Moves lesser elements before the pivot, the others after it.
  Split Partition(std::size_t from, std::size_t to, std::size_t pivot) {
    std::swap(list_[from], list_[pivot]);
    std::size_t i = from + 1;
    std::size_t j = to - 1;
    bool was_partitioned = true;
    while (true) {
      while (i <= j && IsLess(list_[i], list_[from])) ++i;
      while (i <= j && !IsLess(list_[j], list_[from])) --j;
      if (i > j) break;
      std::swap(list_[i++], list_[j--]);
      was_partitioned = false;
    }
    std::swap(list_[j], list_[from]);
    return {j, was_partitioned};
  }

  // Moves elements equal to the pivot, of which none is less, to the front; returns where the
  // others begin.
  std::size_t PartitionEqual(std::size_t from, std::size_t to, std::size_t pivot) {
    std::swap(list_[from], list_[pivot]);
    std::size_t i = from + 1;
    std::size_t j = to - 1;
    while (true) {
      while (i <= j && !IsLess(list_[from], list_[i])) ++i;
      while (i <= j && IsLess(list_[from], list_[j])) --j;
      if (i > j) return i;
      std::swap(list_[i++], list_[j--]);
    }
  }

  const List list_;
};

}  // namespace

void SetPermission(std::vector<Permission>& permissions, const Permission& permission) {
  const auto first = std::ranges::lower_bound(permissions, permission.key, {}, &Permission::key);
  if (first != permissions.end() && first->key == permission.key &&
      first->range_end == permission.range_end) {
    first->type = permission.type;
    return;
  }
  permissions.push_back(permission);
  if (permissions.size() > kMaxInsertion && permissions.size() < kMinShifting) {
    QuickSort(permissions).Sort();
  } else {
    InsertionSort(permissions);
  }
}

}  // namespace kvorum::auth
