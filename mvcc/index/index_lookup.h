// The search from a root to one entry.
#pragma once

#include <string_view>

#include "mvcc/index/index_node.h"

namespace kvorum::mvcc::index {

// The key's entry, dead or alive, or null. height is the number of levels, 0 for the empty tree.
inline const Entry* FindEntry(const Node* root, int height, std::string_view key) {
  if (root == nullptr) return nullptr;
  for (int level = height - 1; level > 0; --level) {
    const Inner& inner = AsInner(*root);
    root = inner.child(ChildSlot(inner, key)).node;
  }
  return Find(AsLeaf(*root), key);
}

}  // namespace kvorum::mvcc::index
