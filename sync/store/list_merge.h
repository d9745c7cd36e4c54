// Makes a new map out of an old one and a list that comes in pages: what the list has unchanged
// stays the object that it is, so that the difference of the two maps is what has changed.
//
// For one executor. Cost: O(n) for the list, and a copy of the map's nodes.
#pragma once

#include <functional>
#include <string_view>

#include "sync/store/object_map.h"
#include "sync/store/store.h"

namespace kvorum::sync {

class ListMerge {
 public:
  // Makes the object of a key whose revision is another one than before; null: it is not kept.
  using Make = std::function<ObjectRef(KeyValue&& kv)>;

  ListMerge(const ObjectMap& before, Make make) : place_(before.Begin()), make_(std::move(make)) {}
  // The next key of the list, in order.
  void Add(KeyValue&& kv) {
    while (place_.get() != nullptr && place_.get()->key() < kv.key) place_.Next();
    const Object* known = place_.get();
    if (known != nullptr && known->key() == kv.key && known->mod_revision() == kv.mod_revision) {
      after_.Put(ObjectRef::Share(known));
    } else if (ObjectRef object = make_(std::move(kv))) {
      after_.Put(std::move(object));
    }
  }
  // The list is at its end.
  ObjectMap Take() { return std::move(after_); }

 private:
  ObjectMap::Cursor place_;
  const Make make_;
  ObjectMap after_;
};

}  // namespace kvorum::sync
