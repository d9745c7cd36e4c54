// The key index: an in-memory copy-on-write B-tree from each key to its generations, that is, to
// the revisions at which it was put and deleted. The values are in the backend, by revision.
//
// Threading. One thread (apply) calls everything but Snapshot(), which any thread may call. A
// snapshot may be used, moved and destroyed on any thread, and neither it nor the writer ever waits
// for the other: taking one is one atomic add, releasing it another. Readers see changes only from
// the next Publish() on; the writer sees them in working().
//
// Memory. A key with one live revision costs its bytes and at most 64 (docs/decisions/0001); memory
// is taken from the system by the MiB. Nodes and entries made since the last Publish are changed in
// place, others are copied and the old ones retired; objects that no snapshot can see are freed at
// Publish and Reclaim, always by the writer, so that no reader ever pays for it. A long-lived
// snapshot keeps exactly what it sees, not objects created and dropped since.
//
// Invariants (CheckInvariants): keys strictly ascend across the tree; no node but an empty tree's
// root is empty, and none has more than the fan-out; each slot of an inner node carries the first
// key, the number of live keys, an upper bound of the main revisions and the lowest compaction
// revision that would find something to drop below it; in each key's history revisions ascend, and
// no two tombstones follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/key_range.h"
#include "mvcc/index/index_view.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

class SortedIndexBuilder;

namespace index {
struct Entry;
class Tree;
class VersionList;
struct Version;
}  // namespace index

// The store's marks for a state it publishes, which readers get together with the tree: the two
// never disagree.
struct IndexMark {
  std::int64_t current_revision = 1;   // the header revision of answers from this state
  std::int64_t compact_revision = -1;  // reads below are refused
  std::uint64_t side_version = 0;      // of the state that the store's owner keeps beside it
};

// A published state, kept alive. Move-only. Costs one atomic add to take and one to release.
class IndexSnapshot {
 public:
  IndexSnapshot() = default;  // an empty index
  IndexSnapshot(IndexSnapshot&& other) noexcept;
  IndexSnapshot& operator=(IndexSnapshot&& other) noexcept;
  ~IndexSnapshot();

  const IndexView& view() const { return view_; }
  const IndexView* operator->() const { return &view_; }
  const IndexMark& mark() const { return mark_; }

 private:
  friend class KeyIndex;
  explicit IndexSnapshot(index::Version* pinned);

  index::Version* pinned_ = nullptr;
  IndexView view_;
  IndexMark mark_;
};

class KeyIndex {
 public:
  KeyIndex();
  // There must be no snapshot left.
  ~KeyIndex();
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;

  // The state published last. Thread-safe.
  IndexSnapshot Snapshot() const;

  // Changes. Revisions must ascend over all calls. O(log n); the first change of a batch copies one
  // node per level.
  //
  // Put returns the fields to store with the value, and the location of the previous value.
  struct PutResult {
    std::int64_t created = 0;
    std::int64_t version = 0;
    std::optional<Revision> previous;  // none if the key did not live
  };
  PutResult Put(std::string_view key, Revision revision);
  // Returns the revision that the key had. nullopt, and no change, if it does not live.
  std::optional<Revision> Tombstone(std::string_view key, Revision revision);

  // The state with all changes so far. Valid until the next change, publish or compaction step.
  IndexView working() const;
  std::int64_t live_keys() const;

  // Makes the working state the one that Snapshot() returns, and frees some objects that no
  // snapshot can see any more: as many as this batch has retired and a few more, so that a publish
  // never takes long.
  void Publish(IndexMark mark);
  // Frees up to max_objects more; returns true if more could be freed. Examines each state that a
  // snapshot holds. To be called now and then when nothing is published.
  bool Reclaim(std::size_t max_objects = 4096);

  // The progress of a compaction.
  struct CompactProgress {
    std::string next_key;  // the next step begins here
    bool done = false;
    std::uint64_t keys_dropped = 0;
    std::uint64_t revisions_dropped = 0;
  };
  // Drops, for the next keys from progress.next_key on, revisions that cannot be read after a
  // compaction at `revision`: of each key's revisions up to it all but the newest, and that as well
  // if it is a tombstone below `revision`. Examines about max_entries entries or history records;
  // subtrees without anything to drop are skipped. Reads at or above `revision` answer the same
  // before, between and after the steps, and changes and publishes may come in between.
  void CompactStep(std::int64_t revision, std::size_t max_entries, CompactProgress& progress);

  struct Stats {
    std::size_t bytes_in_use = 0;    // entries, histories and nodes, retired ones included
    std::size_t bytes_reserved = 0;  // taken from the system for them
    std::size_t retired_objects = 0;
    std::size_t snapshots_seen =
        0;  // states that are kept for snapshots, the published one included
    int height = 0;
  };
  Stats stats() const;
  std::size_t reserved_bytes() const;  // of the same, alone

  // Aborts with the broken invariant. O(n): for tests and the simulation.
  void CheckInvariants() const;

 private:
  friend class SortedIndexBuilder;

  std::unique_ptr<index::Tree> tree_;
  std::unique_ptr<index::VersionList> versions_;
};

}  // namespace kvorum::mvcc
