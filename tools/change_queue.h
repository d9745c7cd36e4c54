// Changes of keys that wait for something slow, one for each key: a key that changes while it waits
// keeps its place, with the value from before its first change and the one after its last.
//
// For one thread at a time. Bound: the keys of the copy that the changes come from. Cost: O(1).
#pragma once

#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "sync/object_map.h"

namespace kvorum::ctl {

class ChangeQueue {
 public:
  // A key that is again as it was before its first change, because it did not exist, leaves the
  // queue. A change whose two sides are one object (a resync's) is one as well.
  void Put(const sync::Change& change);
  // The key that has waited longest; nothing if none does.
  std::optional<sync::Change> Take();
  std::size_t size() const { return order_.size(); }

 private:
  std::list<sync::Change> order_;
  std::unordered_map<std::string, std::list<sync::Change>::iterator> by_key_;
};

}  // namespace kvorum::ctl
