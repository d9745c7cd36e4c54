// The working state of the key index: the tree that the writer changes. Nodes and entries that
// readers may see are copied first, those made since the last publish are changed in place.
//
// Used by the writer only; see mvcc/index/key_index.h. One thread at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "mvcc/index/index_arena.h"
#include "mvcc/index/index_node.h"
#include "mvcc/index/index_versions.h"
#include "mvcc/index/key_entry.h"
#include "mvcc/index/key_index.h"

namespace kvorum::mvcc::index {

// A record of the backend. created and version are used for the oldest record of a key only;
// tombstones have none.
struct RestoredRecord {
  std::string_view key;
  Revision revision;
  Entry::Origin origin;
  bool tombstone;
};

class Tree {
 public:
  KeyIndex::PutResult Put(std::string_view key, Revision revision);
  std::optional<Revision> Tombstone(std::string_view key, Revision revision);
  void CompactStep(std::int64_t revision, std::size_t max_entries,
                   KeyIndex::CompactProgress& progress);

  // For the builder, which makes the nodes itself. The tree must be empty and unpublished.
  template <typename T>
  T* NewNode();
  void Adopt(Node* root, int height, const Summary& summary, Revision newest);
  // The entry of a key after one more record; `before` is its entry so far, or null. A tombstone
  // after a tombstone adds nothing.
  Entry* Restore(Entry* before, const RestoredRecord& record);

  IndexView view() const { return {root_, height_}; }
  int height() const { return height_; }
  const Node* root() const { return root_; }
  std::int64_t live_keys() const { return summary_.live; }
  std::int64_t newest() const { return newest_.main; }
  std::uint64_t birth() const { return birth_; }
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }

  // Objects that older states show and this one no longer does; for VersionList::Publish, which
  // empties the list.
  std::vector<Retired>& retired() { return retired_; }
  // Readers may see everything that exists now.
  void StartBatch(std::uint64_t birth);

  void CheckInvariants() const;

 private:
  // The path from the root to a leaf: the inner nodes, all changeable, and the slot taken in each.
  struct Step {
    Inner* node;
    int slot;
  };
  using Path = std::vector<Step>;  // path_[0] is the root

  bool Mutable(const Node& node) const { return node.birth == birth_; }
  bool Mutable(const Entry& entry) const { return entry.main() > published_newest_; }
  template <typename T>
  T* MutableCopy(T* node);
  template <typename T>
  void DropNode(T* node);
  void DropEntry(Entry* entry);
  void DropHistory(History* history);

  // Walks to the leaf of the key, making everything on the path changeable. Fills path_.
  Leaf* Descend(std::string_view key);
  // Tells the nodes of path_, bottom up, that the first key below them is another entry.
  void FirstKeyChanged(Entry* entry);
  // Adds the effect of one changed entry to the summaries of path_: each has older revisions below.
  void AddToPath(std::int64_t live, const Entry& entry);

  void InsertNew(Leaf* leaf, int slot, Entry* entry);
  bool InsertIntoNext(Entry* entry);
  void InsertAndSplit(Leaf* leaf, int slot, Entry* entry);
  // Inserts a new node after the leaf of path_, splitting full inner nodes.
  void AddSibling(Inner::Child sibling, bool at_right_edge);
  Inner* SplitInner(Inner* inner, int slot, Inner::Child child, bool at_right_edge);
  bool AtRightEdge() const;
  // The entry's successor with a newer revision: the same block if it may be changed and has the
  // right form.
  Entry* Advance(Entry* entry, Revision revision, bool tombstone);
  Entry::Past ExtendPast(const Entry& entry);
  // Puts the entry's successor into its slot.
  void Replace(Leaf* leaf, int slot, Revision revision, bool tombstone);
  void CheckAscends(Revision revision);

  struct Compaction;
  // The compacted subtree, which replaces the given node; it may be empty.
  Node* CompactNode(Node* node, int level, Compaction& compaction);
  Leaf* CompactLeaf(Leaf* leaf, Compaction& compaction);
  Inner* CompactInner(Inner* inner, int level, Compaction& compaction);
  // The entry without its revisions before first_kept, which is one of them.
  Entry* CompactEntry(Entry* entry, std::uint32_t first_kept);
  Entry::Past CompactPast(const Entry& entry, std::uint32_t first_kept);
  // Merges the children at slot and slot + 1 if they fit into one node with room to spare.
  template <typename T>
  bool TryMerge(Inner& parent, int slot);
  void ShrinkRoot();

  Arena arena_;
  Node* root_ = nullptr;
  int height_ = 0;
  Summary summary_;  // of the whole tree
  Revision newest_{.main = 0, .sub = -1};
  std::uint64_t birth_ = 1;
  std::int64_t published_newest_ = 0;
  std::vector<Retired> retired_;
  Path path_;
};

template <typename T>
T* Tree::NewNode() {
  auto* node = static_cast<T*>(arena_.Allocate(sizeof(T)));
  node->birth = birth_;
  node->size = 0;
  node->prefix = 0;
  return node;
}

template <typename T>
T* Tree::MutableCopy(T* node) {
  if (Mutable(*node)) return node;
  auto* copy = static_cast<T*>(arena_.Allocate(sizeof(T)));
  std::memcpy(static_cast<void*>(copy), node, UsedBytes(*node));
  copy->birth = birth_;
  retired_.emplace_back(node);
  return copy;
}

template <typename T>
void Tree::DropNode(T* node) {
  if (Mutable(*node)) {
    arena_.Free(node, sizeof(T));
  } else {
    retired_.emplace_back(node);
  }
}

}  // namespace kvorum::mvcc::index
