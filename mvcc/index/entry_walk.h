// Walks all entries of one state of the key index, those of dead keys too, in the order of keys.
//
// Used by one thread at a time, any thread for a snapshot's view. O(1) a step; the state stays as
// long as its view's owner.
#pragma once

#include <array>
#include <cstddef>

#include "mvcc/index/index_view.h"

namespace kvorum::mvcc::index {

class EntryWalk {
 public:
  explicit EntryWalk(const IndexView& view);

  // Null after the last.
  const Entry* Next();

 private:
  struct Level {
    const Node* node = nullptr;
    int slot = 0;
  };
  // To the first entry below the node.
  void Descend(const Node* node, int level);
  bool NextLeaf();

  std::array<Level, kMaxHeight> levels_;  // [0] is the leaf
  int height_;
};

}  // namespace kvorum::mvcc::index
