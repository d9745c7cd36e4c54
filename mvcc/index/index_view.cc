#include "mvcc/index/index_view.h"

#include <algorithm>
#include <array>
#include <limits>

#include "mvcc/index/index_look_ahead.h"
#include "mvcc/index/index_lookup.h"
#include "mvcc/index/index_node.h"
#include "mvcc/records/look_ahead.h"

namespace kvorum::mvcc {
namespace {

using index::Entry;
using index::Inner;
using index::Leaf;
using index::Node;

std::int64_t NewestIfNone(std::int64_t revision) {
  return revision > 0 ? revision : std::numeric_limits<std::int64_t>::max();
}

// Entries are scattered over the memory. Prefetching hides most of the latency.
void PrefetchEntry(const Node& node, int slot) {
  if (slot >= 0 && slot < node.count()) {
    __builtin_prefetch(node.keys[static_cast<std::size_t>(slot)]);
  }
}
constexpr int kPrefetchAhead = 8;

// --- Counting ---

// A part of the tree's keys: those from `begin` on and before `end`, each if given.
struct Bounds {
  std::optional<std::string_view> begin;
  std::optional<std::string_view> end;
  bool none() const { return !begin.has_value() && !end.has_value(); }
};

// `live` is the leaf's number of live keys at the newest revision, `newest` its highest revision.
std::int64_t CountInLeaf(const Leaf& leaf, const index::Summary& summary, const Bounds& bounds,
                         std::int64_t revision) {
  const int from = bounds.begin.has_value() ? index::Search(leaf, *bounds.begin).slot : 0;
  const int to = bounds.end.has_value() ? index::Search(leaf, *bounds.end).slot : leaf.count();
  if (from >= to) return 0;
  if (summary.newest <= revision && summary.live == leaf.count()) return to - from;
  for (int slot = from; slot < from + kPrefetchAhead; ++slot) PrefetchEntry(leaf, slot);
  std::int64_t count = 0;
  for (int slot = from; slot < to; ++slot) {
    PrefetchEntry(leaf, slot + kPrefetchAhead);
    count += index::LivesAt(leaf.entry(slot), revision) ? 1 : 0;
  }
  return count;
}

std::int64_t CountIn(const Node& node, int level, const index::Summary& summary,
                     const Bounds& bounds, std::int64_t revision) {
  if (level == 0) return CountInLeaf(index::AsLeaf(node), summary, bounds, revision);
  const Inner& inner = index::AsInner(node);
  const int first = bounds.begin.has_value() ? index::ChildSlot(inner, *bounds.begin) : 0;
  const int last =
      bounds.end.has_value() ? index::ChildSlot(inner, *bounds.end) : inner.count() - 1;
  std::int64_t count = 0;
  for (int slot = first; slot <= last; ++slot) {
    const Inner::Child& child = inner.child(slot);
    Bounds inside;
    if (slot == first) inside.begin = bounds.begin;
    if (slot == last) inside.end = bounds.end;
    if (child.summary.HidesAll(revision)) continue;
    count += inside.none() && child.summary.newest <= revision
                 ? child.summary.live
                 : CountIn(*child.node, level - 1, child.summary, inside, revision);
  }
  return count;
}

// Adds what a walk over a part of the tree looks at until it is `enough`.
void AddExamined(const Node& node, int level, const Bounds& bounds, std::int64_t revision,
                 std::int64_t enough, std::int64_t& examined) {
  if (level == 0) {
    const int from = bounds.begin.has_value() ? index::Search(node, *bounds.begin).slot : 0;
    const int to = bounds.end.has_value() ? index::Search(node, *bounds.end).slot : node.count();
    examined += std::max(to - from, 0);
    return;
  }
  const Inner& inner = index::AsInner(node);
  const int first = bounds.begin.has_value() ? index::ChildSlot(inner, *bounds.begin) : 0;
  const int last =
      bounds.end.has_value() ? index::ChildSlot(inner, *bounds.end) : inner.count() - 1;
  for (int slot = first; slot <= last && examined < enough; ++slot) {
    const Inner::Child& child = inner.child(slot);
    Bounds inside;
    if (slot == first) inside.begin = bounds.begin;
    if (slot == last) inside.end = bounds.end;
    if (child.summary.HidesAll(revision)) continue;
    if (inside.none() && child.summary.newest <= revision) {
      examined += child.summary.live;
    } else {
      AddExamined(*child.node, level - 1, inside, revision, enough, examined);
    }
  }
}

Bounds BoundsOf(KeyRange range) {
  Bounds bounds;
  if (!range.begin().empty()) bounds.begin = range.begin();
  if (!range.open()) bounds.end = range.end();
  return bounds;
}
bool HoldsNothing(KeyRange range) { return !range.open() && range.end() <= range.begin(); }

}  // namespace

std::size_t IndexView::LookAhead(std::span<const std::string_view> keys,
                                 std::span<Revision> newest) const {
  std::array<const Entry*, kMostAhead> entries;
  index::FindEntries(root_, height_, keys, entries);
  std::size_t count = 0;
  for (const Entry* entry : std::span(entries).first(keys.size())) {
    if (entry != nullptr && !entry->tombstone()) newest[count++] = entry->revision();
  }
  return count;
}

std::optional<IndexItem> IndexView::Get(std::string_view key, std::int64_t revision) const {
  const Entry* entry = index::FindEntry(root_, height_, key);
  IndexItem item;
  if (entry == nullptr || !index::LookUp(*entry, NewestIfNone(revision), item)) return std::nullopt;
  return item;
}

std::int64_t IndexView::Count(KeyRange range, std::int64_t revision) const {
  if (range.single()) return Get(range.begin(), revision).has_value() ? 1 : 0;
  if (root_ == nullptr || HoldsNothing(range)) return 0;
  // Nothing is known about the root, so it is examined.
  const index::Summary root{.live = -1};
  return CountIn(*root_, height_ - 1, root, BoundsOf(range), NewestIfNone(revision));
}

std::int64_t IndexView::CountExamined(KeyRange range, std::int64_t revision,
                                      std::int64_t enough) const {
  if (range.single()) return 1;
  std::int64_t examined = 0;
  if (root_ == nullptr || HoldsNothing(range)) return examined;
  AddExamined(*root_, height_ - 1, BoundsOf(range), NewestIfNone(revision), enough, examined);
  return examined;
}

bool IndexView::IsKept(std::string_view key, Revision revision, std::int64_t compact_revision,
                       KeepRule rule) const {
  if (revision.main > compact_revision) return true;
  const Entry* entry = index::FindEntry(root_, height_, key);
  if (entry == nullptr) return false;
  const auto number = index::FindAtOrBefore(*entry, compact_revision);
  if (!number.has_value()) return false;
  const index::EntryRevision newest = index::RevisionAt(*entry, *number);
  if (newest.revision != revision) return false;
  if (!newest.tombstone) return true;
  return rule == KeepRule::kCompaction && revision.main == compact_revision;
}

// --- Walking ---

IndexCursor::IndexCursor(const Node* root, int height, KeyRange range, std::int64_t revision,
                         Direction direction)
    : range_(range), revision_(NewestIfNone(revision)), direction_(direction), height_(height) {
  if (root == nullptr) return;
  if (range.single()) {
    const Entry* entry = index::FindEntry(root, height, range.begin());
    valid_ = entry != nullptr && index::LookUp(*entry, revision_, item_);
    height_ = 0;  // there is nowhere to step to
    return;
  }
  if (direction == Direction::kUp) {
    SeekUp(root, height);
  } else {
    SeekDown(root, height);
  }
}

void IndexCursor::Next() {
  if (StepSlot()) {
    Settle();
  } else {
    valid_ = false;
  }
}

// Moves to the first key that is not before the range.
void IndexCursor::SeekUp(const Node* node, int height) {
  for (int level = height - 1; level > 0; --level) {
    const Inner& inner = index::AsInner(*node);
    const int slot = index::ChildSlot(inner, range_.begin());
    levels_[static_cast<std::size_t>(level)] = {node, slot};
    node = inner.child(slot).node;
  }
  levels_[0] = {node, index::Search(*node, range_.begin()).slot};
  EnterLeaf();
  if (levels_[0].slot < node->count() || StepSlot()) Settle();
}

// Moves to the last key that is before the range's end.
void IndexCursor::SeekDown(const Node* node, int height) {
  for (int level = height - 1; level > 0; --level) {
    const Inner& inner = index::AsInner(*node);
    const int slot = range_.open() ? inner.count() - 1 : index::ChildSlot(inner, range_.end());
    levels_[static_cast<std::size_t>(level)] = {node, slot};
    node = inner.child(slot).node;
  }
  levels_[0] = {node, range_.open() ? node->count() : index::Search(*node, range_.end()).slot};
  if (StepSlot()) Settle();
}

bool IndexCursor::StepSlot() {
  const int step = direction_ == Direction::kUp ? 1 : -1;
  Level& leaf = levels_[0];
  if (height_ == 0) return false;
  leaf.slot += step;
  if (leaf.slot >= 0 && leaf.slot < leaf.node->count()) {
    PrefetchEntry(*leaf.node, leaf.slot + step * kPrefetchAhead);
    return true;
  }
  return StepLeaf(step);
}

// To the near end of the next leaf that may show something at the revision: up as far as needed,
// and down again where something is left. Every child of a subtree may hide its keys, each for
// another reason; then it goes up again.
bool IndexCursor::StepLeaf(int step) {
  for (int level = 1; level < height_;) {
    Level& at = levels_[static_cast<std::size_t>(level)];
    const Inner& inner = index::AsInner(*at.node);
    do {
      at.slot += step;
    } while (at.slot >= 0 && at.slot < inner.count() &&
             inner.child(at.slot).summary.HidesAll(revision_));
    if (at.slot < 0 || at.slot >= inner.count()) {
      ++level;
      continue;
    }
    if (level > 1 && IsBeyond(inner, at.slot)) return false;
    const Node* node = inner.child(at.slot).node;
    --level;
    const int before = step > 0 ? -1 : node->count();
    levels_[static_cast<std::size_t>(level)] = {node, before};
    if (level == 0) {
      levels_[0].slot += step;
      EnterLeaf();
      return true;
    }
  }
  return false;
}

// True if the range ends before this subtree.
bool IndexCursor::IsBeyond(const Inner& inner, int slot) const {
  if (direction_ == Direction::kUp) return !range_.BeforeEnd(inner.key(slot));
  return slot + 1 < inner.count() && inner.key(slot + 1) <= range_.begin();
}

void IndexCursor::EnterLeaf() {
  const auto [node, slot] = levels_[0];
  const int step = direction_ == Direction::kUp ? 1 : -1;
  for (int i = 0; i <= kPrefetchAhead; ++i) PrefetchEntry(*node, slot + step * i);
}

void IndexCursor::Settle() {
  do {
    const auto [node, slot] = levels_[0];
    const Entry& entry = *node->keys[static_cast<std::size_t>(slot)];
    const bool inside = direction_ == Direction::kUp ? range_.BeforeEnd(entry.key())
                                                     : entry.key() >= range_.begin();
    if (!inside) break;
    if (index::LookUp(entry, revision_, item_)) {
      valid_ = true;
      return;
    }
  } while (StepSlot());
  valid_ = false;
}

}  // namespace kvorum::mvcc
