// Compaction of the working tree, some keys at a time.
//
// A subtree records the first compaction revision at which it would have something to drop, so that
// keys that were not changed twice since the last compaction are skipped. Nodes that get small are
// merged with a neighbour.
#include <algorithm>

#include "base/check.h"
#include "mvcc/index/index_tree.h"

namespace kvorum::mvcc::index {

struct Tree::Compaction {
  std::int64_t revision;
  std::size_t budget;
  std::string from;  // a copy: progress.next_key is where the next step begins
  KeyIndex::CompactProgress& progress;
  bool stopped = false;

  void Spend(std::size_t cost) { budget -= std::min(budget, cost); }
};

void Tree::CompactStep(std::int64_t revision, std::size_t max_entries,
                       KeyIndex::CompactProgress& progress) {
  Compaction compaction{.revision = revision,
                        .budget = std::max<std::size_t>(max_entries, 1),
                        .from = std::move(progress.next_key),
                        .progress = progress};
  progress.next_key.clear();
  if (root_ != nullptr && summary_.lowest_compaction <= revision) {
    root_ = CompactNode(root_, height_ - 1, compaction);
    ShrinkRoot();
  }
  progress.done = !compaction.stopped;
}

Node* Tree::CompactNode(Node* node, int level, Compaction& compaction) {
  if (level == 0) return CompactLeaf(&AsLeaf(*node), compaction);
  return CompactInner(&AsInner(*node), level, compaction);
}

Leaf* Tree::CompactLeaf(Leaf* leaf, Compaction& compaction) {
  for (int slot = Search(*leaf, compaction.from).slot; slot < leaf->count(); ++slot) {
    Entry* entry = leaf->entry(slot);
    if (compaction.budget == 0) {
      compaction.progress.next_key = entry->key();
      compaction.stopped = true;
      break;
    }
    compaction.Spend(1);
    if (LowestCompaction(*entry) > compaction.revision) continue;
    const std::uint32_t first_kept = FirstKept(*entry, compaction.revision);
    const std::uint32_t revisions = RevisionCount(*entry);
    KV_CHECK(first_kept > 0, "a key says that it has something to compact, and has not");
    compaction.progress.revisions_dropped += first_kept;
    leaf = MutableCopy(leaf);
    if (first_kept < revisions) {
      compaction.Spend(revisions - first_kept);
      leaf->entry(slot) = CompactEntry(entry, first_kept);
    } else {
      ++compaction.progress.keys_dropped;
      if (entry->form() == Entry::kWithPast) DropHistory(entry->past().history);
      DropEntry(entry);
      RemoveSlots(*leaf, slot, 1);
      --slot;
    }
  }
  return leaf;
}

Inner* Tree::CompactInner(Inner* inner, int level, Compaction& compaction) {
  int slot = ChildSlot(*inner, compaction.from);
  while (slot < inner->count() && !compaction.stopped) {
    if (inner->child(slot).summary.lowest_compaction > compaction.revision) {
      ++slot;
      continue;
    }
    Node* child = CompactNode(inner->child(slot).node, level - 1, compaction);
    if (!Mutable(*child)) {  // nothing was changed in it
      ++slot;
      continue;
    }
    inner = MutableCopy(inner);
    if (child->count() == 0) {
      level == 1 ? DropNode(&AsLeaf(*child)) : DropNode(&AsInner(*child));
      RemoveSlots(*inner, slot, 1);
      continue;
    }
    const Summary summary = level == 1 ? Summarize(AsLeaf(*child)) : Summarize(AsInner(*child));
    inner->child(slot) = {child, summary};
    ReplaceKey(*inner, slot, child->keys[0]);
    const auto try_merge = [&](int left) {
      return level == 1 ? TryMerge<Leaf>(*inner, left) : TryMerge<Inner>(*inner, left);
    };
    if (slot > 0 && try_merge(slot - 1)) continue;  // the next child has moved to this slot
    // The next child does this itself if it is going to be changed.
    const bool next_is_done =
        slot + 1 < inner->count() &&
        inner->child(slot + 1).summary.lowest_compaction > compaction.revision;
    if (next_is_done) try_merge(slot);
    ++slot;
  }
  return inner;
}

template <typename T>
bool Tree::TryMerge(Inner& parent, int slot) {
  constexpr int kMostJoined = kFanOut - kFanOut / 8;
  Inner::Child& left = parent.child(slot);
  const Inner::Child right = parent.child(slot + 1);
  if (left.node->count() + right.node->count() > kMostJoined) return false;
  T* joined = MutableCopy(static_cast<T*>(left.node));
  AppendTail(static_cast<const T&>(*right.node), 0, *joined);
  left.node = joined;
  left.summary.Add(right.summary);
  DropNode(static_cast<T*>(right.node));
  RemoveSlots(parent, slot + 1, 1);
  return true;
}

void Tree::ShrinkRoot() {
  while (height_ > 1 && root_->count() == 1) {
    Inner* root = &AsInner(*root_);
    root_ = root->child(0).node;
    --height_;
    DropNode(root);
  }
  summary_ = height_ == 1 ? Summarize(AsLeaf(*root_)) : Summarize(AsInner(*root_));
  if (root_->count() > 0) return;
  height_ == 1 ? DropNode(&AsLeaf(*root_)) : DropNode(&AsInner(*root_));
  root_ = nullptr;
  height_ = 0;
}

Entry* Tree::CompactEntry(Entry* entry, std::uint32_t first_kept) {
  const bool past_remains = first_kept < entry->past_length();
  const bool first =
      entry->tombstone() || (entry->created() == entry->main() && entry->version() == 1);
  const Entry::Form form =
      past_remains ? Entry::kWithPast : (first ? Entry::kFirst : Entry::kContinued);
  Entry* after = NewEntry(arena_, form, entry->revision(), entry->tombstone(), entry->key());
  if (form != Entry::kFirst) after->origin() = entry->origin();
  if (past_remains) after->past() = CompactPast(*entry, first_kept);
  DropHistory(entry->past().history);
  DropEntry(entry);
  return after;
}

Entry::Past Tree::CompactPast(const Entry& entry, std::uint32_t first_kept) {
  const std::uint32_t length = entry.past_length() - first_kept;
  History* history = NewHistory(arena_, std::max(length, 2U), birth_, OriginOf(entry, first_kept));
  HistoryRecord* records = history->records();
  std::copy_n(entry.past().history->records() + first_kept, length, records);
  // The first generation now begins with the first record, as far as its position allows: otherwise
  // the positions of a key that is changed and compacted for ever would grow for ever.
  for (std::uint32_t i = 0; i < length && records[i].position() >= i; ++i) {
    records[i].place = i | (records[i].place & HistoryRecord::kTombstoneBit);
  }
  return {.history = history, .length = length, .unused = 0};
}

}  // namespace kvorum::mvcc::index
