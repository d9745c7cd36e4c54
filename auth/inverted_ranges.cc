#include "auth/inverted_ranges.h"

#include <utility>

namespace kvorum::auth {
namespace {

// Compares ends; an empty end is after every other.
std::strong_ordering CompareEnds(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();
  return a <=> b;
}

bool IsAtOrBehind(std::string_view key, std::string_view end) { return !end.empty() && key >= end; }

}  // namespace

InvertedRanges::InvertedRanges(std::span<const Permission* const> permissions) {
  for (const Permission* permission : permissions) {
    if (AllowsRead(permission->type)) read_.Insert(*permission);
    if (AllowsWrite(permission->type)) write_.Insert(*permission);
  }
}

void InvertedRanges::Tree::Insert(const Permission& permission) {
  const auto added = static_cast<Index>(nodes_.size());
  Node node{.begin = permission.key, .end = permission.range_end, .highest = added};
  if (permission.range_end.empty()) node.end = permission.key + '\0';
  if (IsOpenEnd(permission.range_end)) node.end.clear();
  bool is_left = false;
  for (Index at = root_; at != kNone; at = Child(at, is_left)) {
    node.parent = at;
    const auto order = node.begin <=> At(at).begin;
    is_left = order < 0 || (order == 0 && CompareEnds(node.end, At(at).end) < 0);
  }
  const Index parent = node.parent;
  nodes_.push_back(std::move(node));
  if (parent == kNone) {
    root_ = added;
  } else {
    Child(parent, is_left) = added;
    RaiseHighest(parent);
  }
  Balance(added);
}

// Corrects the highest end of a node and of its ancestors, as far up as it changes.
void InvertedRanges::Tree::RaiseHighest(Index from) {
  for (Index at = from; at != kNone; at = At(at).parent) {
    Index highest = at;
    for (const Index child : {At(at).left, At(at).right}) {
      if (child != kNone && CompareEnds(HighestEnd(child), At(highest).end) > 0)
        highest = At(child).highest;
    }
    if (CompareEnds(At(highest).end, HighestEnd(at)) == 0) return;
    At(at).highest = highest;
  }
}

void InvertedRanges::Tree::Replace(Index old_child, Index new_child) {
  const Index parent = At(old_child).parent;
  At(new_child).parent = parent;
  if (parent == kNone) {
    root_ = new_child;
  } else {
    Child(parent, old_child == At(parent).left) = new_child;
    RaiseHighest(parent);
  }
  At(old_child).parent = new_child;
}

// Moves a node below its child on the other side.
void InvertedRanges::Tree::Rotate(Index index, bool to_left) {
  const Index child = Child(index, !to_left);
  if (child == kNone) return;
  const Index between = Child(child, to_left);
  Child(index, !to_left) = between;
  if (between != kNone) At(between).parent = index;
  RaiseHighest(index);
  Replace(index, child);
  Child(child, to_left) = index;
  RaiseHighest(child);
}

void InvertedRanges::Tree::Balance(Index inserted) {
  Index at = inserted;
  while (IsRed(At(at).parent)) {
    Index parent = At(at).parent;
    const Index grandparent = At(parent).parent;
    const bool on_left = parent == At(grandparent).left;
    const Index uncle = Child(grandparent, !on_left);
    if (IsRed(uncle)) {
      At(uncle).is_red = false;
      At(parent).is_red = false;
      At(grandparent).is_red = true;
      at = grandparent;
      continue;
    }
    if (at == Child(parent, !on_left)) {
      at = std::exchange(parent, at);
      Rotate(at, on_left);
    }
    At(parent).is_red = false;
    At(grandparent).is_red = true;
    Rotate(grandparent, !on_left);
  }
  At(root_).is_red = false;
}

bool InvertedRanges::Tree::Reaches(std::string_view key, std::string_view range_end) const {
  return ReachesBelow(root_, key, range_end);
}

// The recursion is as deep as the tree, which is balanced.
bool InvertedRanges::Tree::ReachesBelow(Index index, std::string_view key,
                                        std::string_view range_end) const {
  if (index == kNone) return false;
  const Node& node = At(index);
  if (key < node.begin) return ReachesBelow(node.left, key, range_end);
  if (!IsAtOrBehind(key, node.end)) return true;
  // A range that ends at or before the key hides its children, unless the subtree seems to overlap
  // the request: it begins before the end, and ends after the key.
  const bool ends_before = node.begin < key && IsAtOrBehind(key, HighestEnd(index));
  if (ends_before || node.begin >= range_end) return false;
  return ReachesBelow(node.left, key, range_end) || ReachesBelow(node.right, key, range_end);
}

}  // namespace kvorum::auth
