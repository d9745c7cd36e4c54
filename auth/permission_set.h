// What a user may read and write: the union of the permissions of its roles, as sorted disjoint
// ranges, with those that touch each other merged.
//
// Immutable after it is made; plain values.
// A grant without a key, or that ends at or before its key, grants nothing (it can stand in a store
// that an old etcd wrote; none such is granted any more), and so does one of an unknown type.
// Cost: making one O(n log n); a check O(log n), no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/permission.h"

namespace kvorum::auth {

// Sorted disjoint ranges of keys, none touching the next.
class GrantedRanges {
 public:
  struct Range {
    std::string begin;
    std::string end;  // exclusive; of no meaning if open
    bool open = false;

    friend bool operator==(const Range&, const Range&) = default;
  };

  GrantedRanges() = default;
  // Takes any ranges with begin < end or open.
  explicit GrantedRanges(std::vector<Range> ranges);

  // Whether every key of the request is in the set. A request without a key: never. One that ends
  // at its key names no key at all, and is answered as one for the key, as etcd answers it. One
  // that ends before its key is for InvertedRanges to answer; here it is refused.
  bool Contains(std::string_view key, std::string_view range_end) const;

  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  using Iterator = std::vector<Range>::const_iterator;
  // The first range that begins behind the key.
  Iterator FirstBehind(std::string_view key) const;

  std::vector<Range> ranges_;
  // So that a search looks at few lines of memory: what all begins begin with, and the eight bytes
  // behind it of each, as numbers that are in order like the bytes.
  std::string common_;
  std::vector<std::uint64_t> heads_;
};

class PermissionSet {
 public:
  PermissionSet() = default;
  // The union of these; pointers only so that none is copied.
  explicit PermissionSet(std::span<const Permission* const> permissions);

  bool MayRead(std::string_view key, std::string_view range_end) const {
    return read_.Contains(key, range_end);
  }
  bool MayWrite(std::string_view key, std::string_view range_end) const {
    return write_.Contains(key, range_end);
  }

  const GrantedRanges& read() const { return read_; }
  const GrantedRanges& write() const { return write_; }

 private:
  GrantedRanges read_;
  GrantedRanges write_;
};

}  // namespace kvorum::auth
