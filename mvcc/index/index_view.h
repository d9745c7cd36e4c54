// Reads the key index: one state of the tree, which never changes under the reader.
//
// A view does not own the tree. It comes from an IndexSnapshot (any thread; valid while the
// snapshot lives) or from KeyIndex::working() (the apply thread; valid until the next change). The
// keys that it returns point into the index and live as long.
//
// `revision` in every call is a main revision: the state right after that transaction. <= 0, or
// anything from the newest revision on, means the newest. The store refuses revisions below the
// compacted one; here they find the revisions that are still known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/key_range.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

namespace index {
class EntryWalk;
struct Entry;
struct Inner;
struct Node;
// Every level but the lowest multiplies the keys, so that no memory could hold a higher tree.
inline constexpr int kMaxHeight = 24;
}  // namespace index

// The index's data about a key that lives at a revision.
struct IndexItem {
  std::string_view key;
  Revision modified;         // the record's key in the backend
  std::int64_t created = 0;  // the main revision that started the generation
  std::int64_t version = 0;  // puts since then, 1 for the first
};

// Decides whether a tombstone at exactly the compacted revision counts as kept (IndexView::IsKept).
enum class KeepRule {
  kCompaction,  // yes: the record stays in the backend (since etcd 3.5.16)
  kHash,        // no: HashKV equals that of members which delete it
};

// Walks the entries of a range in key order, upwards or downwards; O(log n) to start, O(1) a step.
// Tombstones and keys not alive at the revision are stepped over: at the newest revision O(log n)
// for however many, since subtrees without a live key are left out; at an older one those are whose
// keys are all newer, or were dead then and are still. O(1) for each of the others.
class IndexCursor {
 public:
  enum class Direction { kUp, kDown };

  bool valid() const { return valid_; }
  const IndexItem& item() const { return item_; }  // valid() only
  void Next();

 private:
  friend class IndexView;
  struct Level {
    const index::Node* node = nullptr;
    int slot = 0;
  };

  IndexCursor(const index::Node* root, int height, KeyRange range, std::int64_t revision,
              Direction direction);
  void SeekUp(const index::Node* root, int height);
  void SeekDown(const index::Node* root, int height);
  // To the neighbouring entry, leaves with nothing visible left out; false at the end.
  bool StepSlot();
  bool StepLeaf(int step);
  bool IsBeyond(const index::Inner& inner, int slot) const;
  void Settle();  // from the current entry to the first that is alive and in the range
  void EnterLeaf();

  KeyRange range_;
  std::int64_t revision_;
  Direction direction_;
  bool valid_ = false;
  int height_ = 0;  // levels_[0] is the leaf
  std::array<Level, index::kMaxHeight> levels_;
  IndexItem item_;
};

class IndexView {
 public:
  IndexView() = default;
  IndexView(const index::Node* root, int height) : root_(root), height_(height) {}

  // O(log n), no allocation; O(log history) more for an old revision.
  std::optional<IndexItem> Get(std::string_view key, std::int64_t revision) const;

  // Calls visit(const IndexItem&) -> bool for each live key of the range until it returns false.
  template <typename Visitor>
  void Visit(KeyRange range, std::int64_t revision, Visitor&& visit) const {
    for (auto cursor = Cursor(range, revision); cursor.valid(); cursor.Next()) {
      if (!visit(cursor.item())) return;
    }
  }
  // The range's memory must outlive the cursor.
  IndexCursor Cursor(KeyRange range, std::int64_t revision,
                     IndexCursor::Direction direction = IndexCursor::Direction::kUp) const {
    return IndexCursor(root_, height_, range, revision, direction);
  }

  // The number of live keys in the range. At the newest revision O(log n) for any range; at an
  // older one it also walks the nodes that have changed since.
  std::int64_t Count(KeyRange range, std::int64_t revision) const;

  // The entries that a walk over the range at the revision looks at, dead ones too; it stops
  // counting at `enough`. Subtrees that have not changed since count as many as live there.
  // O(log n + enough).
  std::int64_t CountExamined(KeyRange range, std::int64_t revision, std::int64_t enough) const;

  // True if the record of `key` at `revision` outlives a compaction at compact_revision: every
  // newer record does, and of the others only the newest of each key, if it is a put. The answer
  // does not depend on how far the index itself has been compacted at or below compact_revision.
  // For HashKV's keep set with KeepRule::kHash: the set is empty if and only if no key lives at
  // that revision, that is, Count(everything, compact_revision) == 0.
  bool IsKept(std::string_view key, Revision revision, std::int64_t compact_revision,
              KeepRule rule) const;

  // Looks several keys up at once, so that a Get of each finds what it reads in the processor's
  // cache. Writes the newest revisions of those that live, and returns how many; at most kMostAhead
  // keys.
  std::size_t LookAhead(std::span<const std::string_view> keys, std::span<Revision> newest) const;

  bool empty() const { return root_ == nullptr; }

 private:
  friend class index::EntryWalk;

  const index::Node* root_ = nullptr;
  int height_ = 0;  // number of levels; 0 for the empty tree
};

}  // namespace kvorum::mvcc
