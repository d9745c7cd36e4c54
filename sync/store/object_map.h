// Objects in order of their keys, in a persistent B+-tree: a copy of the map is a snapshot that
// costs one count, and later changes of either copy what they touch alone.
//
// One thread changes a map; any thread may read its own copy. Cost: Put and Erase are O(log n), and
// copy three nodes of 272 bytes for 100,000 objects if a snapshot shares them, none otherwise.
// Memory beside the objects: 9 to 17 bytes an object.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "sync/store/object.h"

namespace kvorum::sync {

class ObjectMap {
 public:
  ObjectMap();
  ObjectMap(const ObjectMap& other);
  ObjectMap(ObjectMap&& other) noexcept;
  ObjectMap& operator=(ObjectMap other) noexcept;
  ~ObjectMap();

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Null if there is none.
  ObjectRef Find(std::string_view key) const;
  // Both return what was there before.
  ObjectRef Put(ObjectRef object);
  ObjectRef Erase(std::string_view key);

  // A place in a map, which it keeps alive, or its end.
  class Cursor;
  Cursor Begin() const;
  // The first object whose key is not before this one.
  Cursor LowerBound(std::string_view key) const;

  // Aborts the process if the tree's shape is broken; for tests. O(n).
  void CheckInvariants() const;

 private:
  class Node;
  Ref<Node> root_;
  std::size_t size_ = 0;
};

class ObjectMap::Cursor {
 public:
  Cursor();
  Cursor(const Cursor& other);
  Cursor(Cursor&& other) noexcept;
  Cursor& operator=(Cursor other) noexcept;
  ~Cursor();

  // Null at the end.
  const Object* get() const;
  void Next();

 private:
  friend class ObjectMap;
  // Goes down to the first object of the node.
  void Descend(Node* node);

  struct Step {
    Node* node = nullptr;
    int index = 0;
  };
  Ref<Node> root_;
  std::vector<Step> path_;  // from the root to a leaf; empty at the end
};

// A key at which two maps differ.
struct Change {
  ObjectRef before = {};  // null: added
  ObjectRef after = {};   // null: removed
};

// Walks over two maps side by side. Objects are compared by identity, so that an unchanged one must
// be the same object in both.
class MapDifference {
 public:
  MapDifference(const ObjectMap& before, const ObjectMap& after)
      : before_(before.Begin()), after_(after.Begin()) {}
  // The next key of either map; both null at the end. Unchanged objects are there as well: a
  // change's before and after are then the same.
  Change Next();

 private:
  ObjectMap::Cursor before_;
  ObjectMap::Cursor after_;
};

}  // namespace kvorum::sync
