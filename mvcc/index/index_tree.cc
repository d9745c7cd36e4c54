#include "mvcc/index/index_tree.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "mvcc/index/index_lookup.h"

namespace kvorum::mvcc::index {

// --- Changes ---

KeyIndex::PutResult Tree::Put(std::string_view key, Revision revision) {
  CheckAscends(revision);
  if (root_ == nullptr) {
    root_ = NewNode<Leaf>();
    height_ = 1;
  }
  Leaf* leaf = Descend(key);
  const Position position = Search(*leaf, key);
  if (!position.equal) {
    InsertNew(leaf, position.slot, NewEntry(arena_, Entry::kFirst, revision, false, key));
    return {.created = revision.main, .version = 1, .previous = std::nullopt};
  }
  const Entry& before = *leaf->entry(position.slot);
  std::optional<Revision> previous;
  if (!before.tombstone()) previous = before.revision();
  Replace(leaf, position.slot, revision, /*tombstone=*/false);
  const Entry& after = *leaf->entry(position.slot);
  return {.created = after.created(), .version = after.version(), .previous = previous};
}

std::optional<Revision> Tree::Tombstone(std::string_view key, Revision revision) {
  CheckAscends(revision);
  const Entry* before = FindEntry(root_, height_, key);
  if (before == nullptr || before->tombstone()) return std::nullopt;
  const Revision previous = before->revision();
  Leaf* leaf = Descend(key);
  Replace(leaf, Search(*leaf, key).slot, revision, /*tombstone=*/true);
  return previous;
}

void Tree::Replace(Leaf* leaf, int slot, Revision revision, bool tombstone) {
  Entry* before = leaf->entry(slot);
  const bool lived = !before->tombstone();
  Entry* after = Advance(before, revision, tombstone);
  leaf->entry(slot) = after;
  if (slot == 0 && after != before) FirstKeyChanged(after);
  AddToPath((tombstone ? 0 : 1) - (lived ? 1 : 0), *after);
}

void Tree::CheckAscends(Revision revision) {
  KV_CHECK(revision > newest_ && revision.main > 0 && revision.main < kNever - 1 &&
               revision.sub >= 0 && revision.sub <= std::numeric_limits<std::uint32_t>::max(),
           "a change of the key index has a revision that does not ascend");
  newest_ = revision;
}

void Tree::StartBatch(std::uint64_t birth) {
  birth_ = birth;
  published_newest_ = newest_.main;
}

void Tree::Adopt(Node* root, int height, const Summary& summary, Revision newest) {
  KV_CHECK(root_ == nullptr, "a key index is built into one that is not empty");
  root_ = root;
  height_ = height;
  summary_ = summary;
  newest_ = newest;
}

Entry* Tree::Restore(Entry* before, const RestoredRecord& record) {
  if (before != nullptr) {
    if (before->tombstone() && record.tombstone) return before;
    return Advance(before, record.revision, record.tombstone);
  }
  const bool first = record.tombstone ||
                     (record.origin.created == record.revision.main && record.origin.version == 1);
  Entry* entry = NewEntry(arena_, first ? Entry::kFirst : Entry::kContinued, record.revision,
                          record.tombstone, record.key);
  if (!first) entry->origin() = record.origin;
  return entry;
}

// --- Down to a leaf, and up again ---

Leaf* Tree::Descend(std::string_view key) {
  path_.clear();
  Node** link = &root_;
  for (int level = height_ - 1; level > 0; --level) {
    Inner* inner = MutableCopy(&AsInner(**link));
    *link = inner;
    const int slot = ChildSlot(*inner, key);
    path_.push_back({inner, slot});
    link = &inner->child(slot).node;
  }
  Leaf* leaf = MutableCopy(&AsLeaf(**link));
  *link = leaf;
  return leaf;
}

void Tree::FirstKeyChanged(Entry* entry) {
  for (auto step = path_.rbegin(); step != path_.rend(); ++step) {
    ReplaceKey(*step->node, step->slot, entry);
    if (step->slot != 0) return;
  }
}

void Tree::AddToPath(std::int64_t live, const Entry& entry) {
  const std::int64_t newest = entry.main();
  const std::int64_t lowest_compaction = LowestCompaction(entry);
  for (const Step& step : path_) {
    step.node->child(step.slot).summary.AddChange(live, newest, lowest_compaction);
  }
  summary_.AddChange(live, newest, lowest_compaction);
  summary_.oldest = std::min(summary_.oldest, newest);  // the first entry of all, if it is that
}

bool Tree::AtRightEdge() const {
  return std::all_of(path_.begin(), path_.end(),
                     [](const Step& step) { return step.slot == step.node->count() - 1; });
}

// --- New keys ---

void Tree::InsertNew(Leaf* leaf, int slot, Entry* entry) {
  if (leaf->count() < kFanOut) {
    InsertEntry(*leaf, slot, entry);
    if (slot == 0) FirstKeyChanged(entry);
    AddToPath(1, *entry);
    return;
  }
  if (slot == kFanOut && InsertIntoNext(entry)) return;
  InsertAndSplit(leaf, slot, entry);
}

// A key after the last one of a full leaf may as well be the first of the next leaf.
bool Tree::InsertIntoNext(Entry* entry) {
  if (path_.empty()) return false;
  Step& step = path_.back();
  if (step.slot + 1 == step.node->count()) return false;
  Node*& next = step.node->child(step.slot + 1).node;
  if (next->count() == kFanOut) return false;
  Leaf* leaf = MutableCopy(&AsLeaf(*next));
  next = leaf;
  InsertEntry(*leaf, 0, entry);
  ++step.slot;
  ReplaceKey(*step.node, step.slot, entry);
  AddToPath(1, *entry);
  return true;
}

// At the right edge of the tree the full leaf stays full, and the key starts a new one: ascending
// keys leave full leaves behind.
void Tree::InsertAndSplit(Leaf* leaf, int slot, Entry* entry) {
  const bool at_right_edge = slot == kFanOut && AtRightEdge();
  Leaf* sibling = NewNode<Leaf>();
  if (!at_right_edge) {
    AppendTail(*leaf, kFanOut / 2, *sibling);
    Truncate(*leaf, kFanOut / 2);
  }
  if (!at_right_edge && slot <= leaf->count()) {
    InsertEntry(*leaf, slot, entry);
    if (slot == 0) FirstKeyChanged(entry);
  } else {
    InsertEntry(*sibling, slot - leaf->count(), entry);
  }
  if (!path_.empty()) {
    path_.back().node->child(path_.back().slot).summary = Summarize(*leaf);
  }
  AddSibling({sibling, Summarize(*sibling)}, at_right_edge);
  summary_.Add(Summarize(*entry));
}

void Tree::AddSibling(Inner::Child sibling, bool at_right_edge) {
  for (std::size_t depth = path_.size(); depth-- > 0;) {
    const auto [inner, slot] = path_[depth];
    if (sibling.node != nullptr && inner->count() < kFanOut) {
      InsertChild(*inner, slot + 1, sibling);
      sibling.node = nullptr;
    } else if (sibling.node != nullptr) {
      Inner* right = SplitInner(inner, slot + 1, sibling, at_right_edge);
      sibling = {right, Summarize(*right)};
    }
    if (depth > 0) {
      const Step& parent = path_[depth - 1];
      parent.node->child(parent.slot).summary = Summarize(*inner);
    }
  }
  if (sibling.node == nullptr) return;
  const Summary old_root = height_ == 1 ? Summarize(AsLeaf(*root_)) : Summarize(AsInner(*root_));
  Inner* root = NewNode<Inner>();
  InsertChild(*root, 0, {root_, old_root});
  InsertChild(*root, 1, sibling);
  root_ = root;
  ++height_;
  KV_CHECK(height_ <= kMaxHeight, "the key index is too high");
}

// Splits a full node while inserting a child at the slot, which is not the first; returns the right
// part.
Inner* Tree::SplitInner(Inner* inner, int slot, Inner::Child child, bool at_right_edge) {
  Inner* right = NewNode<Inner>();
  if (!at_right_edge) {
    AppendTail(*inner, kFanOut / 2, *right);
    Truncate(*inner, kFanOut / 2);
  }
  if (!at_right_edge && slot <= inner->count()) {
    InsertChild(*inner, slot, child);
  } else {
    InsertChild(*right, slot - inner->count(), child);
  }
  return right;
}

// --- Changed keys ---

Entry* Tree::Advance(Entry* entry, Revision revision, bool tombstone) {
  Entry::Origin origin{.created = revision.main, .version = 1};
  if (!entry->tombstone()) origin = {.created = entry->created(), .version = entry->version() + 1};
  const Entry::Past past = ExtendPast(*entry);
  Entry* after = entry;
  if (Mutable(*entry) && entry->form() == Entry::kWithPast && entry->HasRoomFor(revision)) {
    entry->SetNewest(revision, tombstone);
  } else {
    after = NewEntry(arena_, Entry::kWithPast, revision, tombstone, entry->key());
    DropEntry(entry);
  }
  after->origin() = origin;
  after->past() = past;
  return after;
}

// The past of the entry's successor: the entry's own, and its newest revision.
Entry::Past Tree::ExtendPast(const Entry& entry) {
  constexpr std::uint32_t kFirstCapacity = 2;
  const std::uint32_t length = entry.past_length();
  KV_CHECK(length < HistoryRecord::kTombstoneBit - 1, "a key has too many uncompacted revisions");
  const HistoryRecord newest = NewestAsRecord(entry);
  History* history = length > 0 ? entry.past().history : nullptr;
  if (history == nullptr) {
    history = NewHistory(arena_, kFirstCapacity, birth_,
                         {.created = entry.created(), .version = entry.version()});
  } else if (length == history->capacity) {
    History* larger =
        NewHistory(arena_, 2 * length, birth_,
                   {.created = history->first_created, .version = history->first_version});
    std::copy_n(history->records(), length, larger->records());
    DropHistory(history);
    history = larger;
  }
  history->records()[length] = newest;
  return {.history = history, .length = length + 1, .unused = 0};
}

void Tree::DropEntry(Entry* entry) {
  if (Mutable(*entry)) {
    FreeEntry(arena_, entry);
  } else {
    retired_.emplace_back(entry);
  }
}

void Tree::DropHistory(History* history) {
  if (history->birth == birth_) {
    FreeHistory(arena_, history);
  } else {
    retired_.emplace_back(history);
  }
}

}  // namespace kvorum::mvcc::index
