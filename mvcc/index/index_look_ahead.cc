#include "mvcc/index/index_look_ahead.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/check.h"

namespace kvorum::mvcc::index {

void FindEntries(const Node* root, int height, std::span<const std::string_view> keys,
                 std::span<const Entry*> entries) {
  KV_CHECK(keys.size() <= kMostAhead && keys.size() <= entries.size(),
           "more keys than are looked up together");
  if (root == nullptr || root->size == 0) {
    std::ranges::fill(entries.first(keys.size()), nullptr);
    return;
  }
  std::array<const Node*, kMostAhead> nodes;
  std::array<std::size_t, kMostAhead> slots;
  nodes.fill(root);
  for (int level = height - 1; level > 0; --level) {
    for (std::size_t i = 0; i < keys.size(); ++i) __builtin_prefetch(nodes[i]->keys[0]);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Inner& inner = AsInner(*nodes[i]);
      slots[i] = static_cast<std::size_t>(FindChild(inner, keys[i]));
      __builtin_prefetch(&inner.children[slots[i]]);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      nodes[i] = AsInner(*nodes[i]).children[slots[i]].node;
      PrefetchSearch(*nodes[i]);
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    slots[i] = static_cast<std::size_t>(FirstLook(*nodes[i], keys[i]));
    __builtin_prefetch(static_cast<const void*>(&nodes[i]->keys[slots[i]]));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) __builtin_prefetch(nodes[i]->keys[slots[i]]);
  for (std::size_t i = 0; i < keys.size(); ++i) entries[i] = Find(AsLeaf(*nodes[i]), keys[i]);
}

}  // namespace kvorum::mvcc::index
