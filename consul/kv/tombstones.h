// The revisions at which keys were deleted: what moves the index of a prefix that has lost a key.
//
// Bounded in bytes: beyond them the oldest are forgotten, and the floor rises to what was
// forgotten, so that an index may be higher than needed, and never lower. For one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace kvorum::consul {

class Tombstones {
 public:
  explicit Tombstones(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Deletions up to the revision are not known.
  void Reset(std::int64_t floor) {
    by_key_.clear();
    in_order_.clear();
    bytes_ = 0;
    floor_ = floor;
    last_ = floor;
  }

  // In order of revisions.
  void Add(const std::string& key, std::int64_t revision) {
    by_key_.insert_or_assign(key, revision);
    in_order_.emplace_back(revision, key);
    bytes_ += BytesOf(key);
    last_ = std::max(last_, revision);
    while (bytes_ > max_bytes_) DropOldest();
  }

  std::int64_t floor() const { return floor_; }
  std::size_t size_bytes() const { return bytes_; }

  // The revision of the key's deletion, or the floor.
  std::int64_t OfKey(std::string_view key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? floor_ : found->second;
  }
  // The last of the deletions with that prefix, or the floor. O(their number), but for the empty
  // prefix.
  std::int64_t OfPrefix(std::string_view prefix) const {
    if (prefix.empty()) return last_;
    std::int64_t last = floor_;
    for (auto at = by_key_.lower_bound(prefix);
         at != by_key_.end() && at->first.starts_with(prefix); ++at)
      last = std::max(last, at->second);
    return last;
  }

 private:
  // A key stands twice.
  static std::size_t BytesOf(const std::string& key) { return 2 * key.size() + 160; }

  void DropOldest() {
    const auto& [revision, key] = in_order_.front();
    floor_ = std::max(floor_, revision);
    bytes_ -= BytesOf(key);
    // A key that was deleted again since has a younger place in the order.
    if (const auto found = by_key_.find(key); found != by_key_.end() && found->second == revision)
      by_key_.erase(found);
    in_order_.pop_front();
  }

  const std::size_t max_bytes_;
  std::map<std::string, std::int64_t, std::less<>> by_key_;
  std::deque<std::pair<std::int64_t, std::string>> in_order_;
  std::size_t bytes_ = 0;
  std::int64_t floor_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace kvorum::consul
