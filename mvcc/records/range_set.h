// A set of keys given as ranges: the keys that a list of deletes would remove. Borrows the ranges'
// memory. O(log n) to query, amortized O(log n) to add. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>

#include "base/key_range.h"

namespace kvorum::mvcc {

class RangeSet {
 public:
  void Add(KeyRange range);
  bool Contains(std::string_view key) const;
  // Moves the ranges of `other` here and leaves it empty.
  void Merge(RangeSet&& other);

  std::size_t size() const { return ranges_.size(); }

 private:
  // A range's end. The range of a single key ends at that key, inclusively.
  struct End {
    std::string_view key;
    bool inclusive = false;
    bool open = false;

    bool Before(std::string_view other) const {
      return !open && (inclusive ? key < other : key <= other);
    }
    // True if this end is after the other.
    bool Beyond(const End& other) const;
  };

  void Insert(std::string_view begin, const End& end);

  // Disjoint, by first key.
  std::map<std::string_view, End> ranges_;
};

}  // namespace kvorum::mvcc
