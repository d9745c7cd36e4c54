// Changes of keys that wait for something slow, one for each key: a key that changes while it waits
// keeps its place, with the value from before its first change and the one after its last.
//
// For one thread at a time. Bound: the keys of the copy that the changes come from, and
// kMaxGoneBytes of objects that only a deletion here still holds. Cost: O(1).
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sync/store/object_map.h"

namespace kvorum::ctl {

class ChangeQueue {
 public:
  static constexpr std::size_t kMaxGoneBytes = std::size_t{64} << 20U;

  // A key that is again as it was before its first change, because it did not exist, leaves the
  // queue. A change whose two sides are one object (a resync's) is one as well. False: it is a
  // deletion for which there is no room, and is forgotten.
  bool Put(const sync::Change& change);
  // A change that was taken, and has failed: it waits again, with what has come since. It is
  // unknown how much of it was done, so a key that has come and gone is then reported as deleted.
  bool Return(const sync::Change& change);
  bool Has(std::string_view key) const { return by_key_.contains(std::string(key)); }
  // That of this key; nothing if it has none.
  std::optional<sync::Change> TakeOf(const std::string& key);
  // The key that has waited longest; nothing if none does.
  std::optional<sync::Change> Take();
  std::size_t size() const { return order_.size(); }

 private:
  struct Waiting {
    sync::Change change;
    bool was_tried = false;
  };
  using Order = std::list<Waiting>;
  bool Keep(Order::iterator waiting);
  void Forget(Order::iterator waiting);

  Order order_;
  std::unordered_map<std::string, Order::iterator> by_key_;
  std::size_t gone_bytes_ = 0;
};

}  // namespace kvorum::ctl
