// The objects of a store by what functions say about them: one object may have several values, and
// a value several objects.
//
// For one thread at a time, except that functions are called by IndexValuesOf and Index alone,
// which need no lock. Cost: O(log n) a value of the object that changes.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sync/store/object_map.h"

namespace kvorum::sync {

// Says the same of an object each time, and throws nothing.
using IndexFunction = std::function<std::vector<std::string>(const Object& object)>;
// By the names of the indexes.
using IndexFunctions = std::map<std::string, IndexFunction, std::less<>>;

// The values of a change's two objects.
struct IndexedChange {
  std::vector<std::string> before;
  std::vector<std::string> after;
};
IndexedChange IndexValuesOf(const IndexFunction& function, const Change& change);
// For each function, in order of the names, those of each change.
std::vector<std::vector<IndexedChange>> IndexValuesOf(const IndexFunctions& functions,
                                                      std::span<const Change> changes);

class Index {
 public:
  void Update(const Change& change, IndexedChange&& values);
  // In order of keys.
  std::vector<ObjectRef> Find(std::string_view value) const;
  // The values that objects have, in order.
  std::vector<std::string> Values() const;

 private:
  struct ByKey {
    bool operator()(const ObjectRef& a, const ObjectRef& b) const { return a->key() < b->key(); }
  };
  std::map<std::string, std::set<ObjectRef, ByKey>, std::less<>> objects_;
};

}  // namespace kvorum::sync
