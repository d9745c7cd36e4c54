// Finds the watchers of a key: groups of a single key by hash, groups of a range in an interval
// tree, so that a lookup costs by the number of groups found, not by the total.
//
// Not thread-safe. Groups do not move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/key_range.h"
#include "watch/interval_map.h"

namespace kvorum::watch {

// The bytes of a range, owned.
class WatchedRange {
 public:
  explicit WatchedRange(const KeyRange& range)
      : key_size_(range.begin().size()), single_(range.single()) {
    bytes_.reserve(range.begin().size() + range.end().size());
    bytes_.append(range.begin());
    if (!single_) bytes_.append(range.end());
  }
  // The result refers to this object's bytes.
  KeyRange view() const {
    const std::string_view all = bytes_;
    return {all.substr(0, key_size_), single_ ? std::string_view() : all.substr(key_size_)};
  }

 private:
  std::string bytes_;
  std::size_t key_size_;
  bool single_;
};

// Group is constructed from a KeyRange, and has `KeyRange range() const` into its own memory.
template <class Group>
class RangeIndex {
 public:
  explicit RangeIndex(std::uint64_t seed) : ranges_(seed) {}

  // Returns the group of exactly this range, creating it if necessary.
  Group& Add(const KeyRange& range) {
    if (!range.single()) {
      if (Group* found = ranges_.Find(range)) return *found;
      auto group = std::make_unique<Group>(range);
      Group& made = *group;
      ranges_.Insert(std::move(group));
      return made;
    }
    if (const auto found = keys_.find(range.begin()); found != keys_.end()) return *found->second;
    auto group = std::make_unique<Group>(range);
    Group& made = *group;
    keys_.emplace(made.range().begin(), std::move(group));
    return made;
  }
  // Destroys the group.
  void Remove(Group& group) {
    const KeyRange range = group.range();
    if (range.single()) {
      keys_.erase(range.begin());
    } else {
      ranges_.Erase(range);
    }
  }
  // Calls visit(Group&) for each group whose range has the key.
  template <class Visit>
  void Match(std::string_view key, Visit&& visit) const {
    if (!keys_.empty()) {
      if (const auto found = keys_.find(key); found != keys_.end()) visit(*found->second);
    }
    ranges_.Stab(key, visit);
  }
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [key, group] : keys_) visit(*group);
    ranges_.ForEach(visit);
  }
  std::size_t size() const { return keys_.size() + ranges_.size(); }

 private:
  std::unordered_map<std::string_view, std::unique_ptr<Group>> keys_;  // the keys refer to the
                                                                       // groups' bytes
  IntervalMap<Group> ranges_;
};

}  // namespace kvorum::watch
