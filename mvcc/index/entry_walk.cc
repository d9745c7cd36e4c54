#include "mvcc/index/entry_walk.h"

#include "mvcc/index/index_node.h"
#include "mvcc/index/key_entry.h"

namespace kvorum::mvcc::index {
namespace {

// Entries lie anywhere in memory: those that come next are on their way.
constexpr std::size_t kEntriesAhead = 8;

}  // namespace

EntryWalk::EntryWalk(const IndexView& view) : height_(view.height_) {
  if (height_ > 0) Descend(view.root_, height_ - 1);
}

const Entry* EntryWalk::Next() {
  if (height_ == 0) return nullptr;
  if (levels_[0].slot == levels_[0].node->count() && !NextLeaf()) {
    height_ = 0;
    return nullptr;
  }
  const Leaf& leaf = AsLeaf(*levels_[0].node);
  const int slot = levels_[0].slot++;
  const std::size_t ahead = static_cast<std::size_t>(slot) + kEntriesAhead;
  if (ahead < static_cast<std::size_t>(leaf.count())) __builtin_prefetch(leaf.keys[ahead]);
  return &leaf.entry(slot);
}

void EntryWalk::Descend(const Node* node, int level) {
  for (; level > 0; --level) {
    levels_[static_cast<std::size_t>(level)] = {node, 0};
    node = AsInner(*node).child(0).node;
  }
  levels_[0] = {node, 0};
}

bool EntryWalk::NextLeaf() {
  for (int level = 1; level < height_; ++level) {
    Level& at = levels_[static_cast<std::size_t>(level)];
    if (++at.slot == at.node->count()) continue;
    Descend(AsInner(*at.node).child(at.slot).node, level - 1);
    return true;
  }
  return false;
}

}  // namespace kvorum::mvcc::index
