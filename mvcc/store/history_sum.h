// The incremental hash of a store's history: the sum, modulo 2^64, of a hash of each record that
// HashKV counts at the newest revision: all that the last compaction has left and all since. The
// order of a sum does not matter, so that a change costs one hash of its record, and a compaction
// subtracts the records that it deletes.
//
// Two numbers make it up. `added` counts what was committed since the store was opened, and grows
// with each commit. A base stands for everything older; it is unknown before the backend was read
// once, and a base belongs to one compacted revision. Base plus added, at one revision and one
// compaction, is equal on all members whose histories are equal, also after restarts.
//
// A pass reads the backend in steps and adds up what is there. The first one gives the base, every
// later one must come to the same sum: otherwise this member's backend has lost or changed a
// record.
// A compaction, which reads all records up to its revision, makes a pass's steps there, and the
// pass those beyond, so that a pass ends however often the store is compacted.
//
// Threads: Add belongs to the backend executor; Begin to the opener of the store, or to the apply
// executor while no batch waits to be committed; the compaction's two to the apply executor; passes
// to one thread at a time; the rest is thread-safe. One mutex, a leaf.
// Memory: 64 KiB of points.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "mvcc/lmdb/write_batch.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

// The value's CRC-32C and the record's place, mixed to 64 bits.
std::uint64_t RecordHash(const RevisionRecord& record);

class HistorySum {
 public:
  // A point is kept at each multiple of this revision, and at each of the last few.
  static constexpr std::int64_t kInterval = 256;
  static constexpr std::size_t kMaxPoints = 4096;
  static constexpr std::size_t kMaxBases = 16;

  struct Base {
    std::int64_t compact_revision = -1;
    std::uint64_t sum = 0;
  };
  struct Point {
    std::int64_t revision = 0;
    std::uint64_t added = 0;
  };
  // Values to compare with another member's; without a base there is nothing to compare yet.
  struct History {
    std::vector<Base> bases;    // of the last compactions, the newest last
    std::vector<Point> points;  // ascending; the last one is the newest durable revision
  };

  // Starts over at a content of this revision. `is_compacted` is false while a compaction at
  // compact_revision has not deleted everything yet.
  void Begin(std::int64_t revision, std::int64_t compact_revision, bool is_compacted);
  // These records are durable.
  void Add(const WriteBatch& batch);

  // The records of a pass that it has not read yet; none by default.
  struct Unread {
    Revision from;
    std::int64_t to_revision = -1;
    bool empty() const { return from.main > to_revision; }
    bool Contains(const Revision& revision) const {
      return revision >= from && revision.main <= to_revision;
    }
  };
  // The sums that a compaction makes.
  struct Compacted {
    std::uint64_t dropped = 0;  // the sum of the deleted records
    // The sum of those that it reads for a pass and leaves, less that of what it deletes elsewhere.
    std::uint64_t pass_change = 0;
    void Keep(const Unread& for_pass, const RevisionRecord& record);
    void Drop(const Unread& for_pass, const RevisionRecord& record);
  };
  // Returns the records that it reads for a pass.
  Unread CompactionBegins(std::int64_t compact_revision);
  void CompactionEnds(std::int64_t compact_revision, const Compacted& compacted);

  // Begins a pass over everything up to the newest durable revision, now or when the compaction
  // that deletes has ended. It ends the one before.
  void BeginPass();
  struct Step {
    std::uint64_t epoch = 0;
    std::uint64_t compactions = 0;  // that have begun
    Unread unread;                  // read from its beginning on; empty: the pass is at its end
  };
  // Nothing while only a compaction has something to read.
  std::optional<Step> BeginStep() const;
  // The sum of the records from where the step began to before `next`. False if a compaction has
  // begun since, or another content is there: it does not count.
  bool EndStep(const Step& step, const Revision& next, std::uint64_t sum);
  enum class Outcome { kOvertaken, kFirst, kEqual, kDiffers };
  struct Verdict {
    Outcome outcome = Outcome::kOvertaken;  // by another content
    std::int64_t revision = 0;              // up to which the pass has read
  };
  // With nothing unread.
  Verdict EndPass();

  // The newest points, at most that many, and the newest durable revision.
  History Newest(std::size_t max_points) const;
  std::int64_t durable_revision() const;
  std::size_t points() const;
  // Another one after each Begin.
  std::uint64_t epoch() const;

 private:
  struct PassState {
    enum class Stage { kNone, kWanted, kUnderWay };
    Stage stage = Stage::kNone;
    Unread unread;            // by its own steps
    Unread owed;              // by the compaction that deletes
    std::uint64_t added = 0;  // at its revision
    std::uint64_t sum = 0;    // of the records read, less those deleted since
  };

  void Keep(Point point);
  void StartPass();

  mutable std::mutex mutex_;
  std::uint64_t epoch_ = 0;
  std::int64_t revision_ = 0;
  std::uint64_t added_ = 0;
  std::int64_t compact_revision_ = -1;
  bool is_compacting_ = false;
  std::uint64_t compactions_ = 0;  // that have begun
  std::vector<Base> bases_;        // the last one is of compact_revision_
  std::deque<Point> points_;
  PassState pass_;
};

}  // namespace kvorum::mvcc
