// The keys that a user may read and write: the union of the permissions of its roles, as sorted
// disjoint ranges, with adjacent ones merged.
//
// Immutable after it is made; plain values. A grant without a key, one that ends at or before its
// key (it can be in a store that an old etcd wrote; none such is granted any more), and one of an
// unknown type grant nothing. Cost: making one O(n log n); a check O(log n), no allocation.
#pragma once

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
    std::string end;  // exclusive; meaningless if open
    bool open = false;

    friend bool operator==(const Range&, const Range&) = default;
  };

  GrantedRanges() = default;
  // Takes any ranges with begin < end or open.
  explicit GrantedRanges(std::vector<Range> ranges);

  // True if every key of the request is in the set. A request without a key: never. One that ends
  // at its key names no key, and is answered as one for the key, as in etcd. One that ends before
  // its key is a matter for InvertedRanges; here it is refused.
  bool Contains(std::string_view key, std::string_view range_end) const;

  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  using Iterator = std::vector<Range>::const_iterator;
  // The first range that begins after the key.
  Iterator FirstBehind(std::string_view key) const;

  std::vector<Range> ranges_;
  // For searches that touch few cache lines: the common prefix of all begins, and the next eight
  // bytes of each, as numbers in the order of the bytes.
  std::string common_;
  std::vector<std::uint64_t> heads_;
};

class PermissionSet {
 public:
  PermissionSet() = default;
  // The union of these; passed by pointer to avoid copies.
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
