#include "mvcc/index/index_loader.h"

#include "base/check.h"

namespace kvorum::mvcc::index {

void Loader::Add(Entry* entry) {
  if (leaf_ != nullptr && leaf_->count() == kFill) AddChild(0, CloseLeaf());
  if (leaf_ == nullptr) leaf_ = tree_.NewNode<Leaf>();
  leaf_->keys[leaf_->size++] = entry;
}

void Loader::Finish(Revision newest) {
  if (leaf_ == nullptr) {
    tree_.Adopt(nullptr, 0, {}, newest);
    return;
  }
  Inner::Child root = CloseLeaf();
  int height = 1;
  for (std::size_t level = 0; level < inner_.size(); ++level) {
    AddChild(level, root);
    root = CloseInner(level);
    ++height;
  }
  KV_CHECK(height <= kMaxHeight, "the key index is too high");
  tree_.Adopt(root.node, height, root.summary, newest);
}

Inner::Child Loader::CloseLeaf() {
  Leaf* leaf = leaf_;
  leaf_ = nullptr;
  SetHeads(*leaf);
  return {leaf, Summarize(*leaf)};
}

Inner::Child Loader::CloseInner(std::size_t level) {
  Inner* inner = inner_[level];
  inner_[level] = nullptr;
  SetHeads(*inner);
  return {inner, Summarize(*inner)};
}

void Loader::AddChild(std::size_t level, const Inner::Child& child) {
  if (level == inner_.size()) inner_.push_back(nullptr);
  if (inner_[level] != nullptr && inner_[level]->count() == kFill) {
    AddChild(level + 1, CloseInner(level));
  }
  if (inner_[level] == nullptr) inner_[level] = tree_.NewNode<Inner>();
  Inner* inner = inner_[level];
  inner->keys[inner->size] = child.node->keys[0];
  inner->children[inner->size] = child;
  ++inner->size;
}

}  // namespace kvorum::mvcc::index
