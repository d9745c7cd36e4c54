// Builds a tree bottom up from entries in key order: every node is written once.
//
// Used by one thread at a time.
#pragma once

#include <vector>

#include "mvcc/index/index_tree.h"

namespace kvorum::mvcc::index {

class Loader {
 public:
  explicit Loader(Tree& tree) : tree_(tree) {}

  // Entries of the tree's arena, in the order of their keys.
  void Add(Entry* entry);
  // Gives the nodes to the tree. The loader is used up.
  void Finish(Revision newest);

 private:
  // The fill of nodes. Full ones would all split at the first key that comes between.
  static constexpr int kFill = kFanOut - kFanOut / 8;

  Inner::Child CloseLeaf();
  Inner::Child CloseInner(std::size_t level);
  void AddChild(std::size_t level, const Inner::Child& child);

  Tree& tree_;
  Leaf* leaf_ = nullptr;
  std::vector<Inner*> inner_;  // the open node of each level, from that above the leaves on
};

}  // namespace kvorum::mvcc::index
