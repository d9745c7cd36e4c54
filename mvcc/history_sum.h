// The incremental hash of a store's history: the sum, modulo 2^64, of a hash of each record that
// HashKV counts at the newest revision: all that the last compaction has left and all since. The
// order of a sum does not matter, so that a change costs one hash of its record, and a compaction
// subtracts the records that it deletes.
//
// Two numbers make it up. `added` counts what was committed since the store was opened, and grows
// with each commit. A base stands for everything older; nobody can know it before the backend was
// read once, and a base belongs to one compacted revision. Base plus added, at one revision and one
// compaction, is equal on all members whose histories are equal, whatever they have restarted.
//
// A pass reads the backend and adds up what is there. The first one gives the base, every later
// one must come to the same sum: otherwise this member's backend has lost or changed a record.
//
// Threads: Begin and Add belong to the backend executor, or to whoever opens the store; the
// compaction's two to the apply executor; the rest is thread-safe. One mutex, a leaf.
// Memory: 64 KiB of points.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "mvcc/write_batch.h"

namespace kvorum::mvcc {

// The value's CRC-32C and the record's place, mixed to 64 bits.
std::uint64_t RecordHash(const RevisionRecord& record);

class HistorySum {
 public:
  // A point is kept at each multiple of this revision, and at each of the last few.
  static constexpr std::int64_t kInterval = 256;
  static constexpr std::size_t kMaxPoints = 4096;
  static constexpr std::size_t kMaxBases = 4;

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
  void CompactionBegins();
  // `dropped` is the sum of the records that it has deleted.
  void CompactionEnds(std::int64_t compact_revision, std::uint64_t dropped);

  // A pass over everything up to a revision that is durable.
  struct Pass {
    std::uint64_t epoch = 0;
    std::int64_t compact_revision = -1;
    std::int64_t revision = 0;
    std::uint64_t added = 0;
  };
  // Nothing while a compaction deletes.
  std::optional<Pass> BeginPass() const;
  // False once a compaction or another content has overtaken it.
  bool IsCurrent(const Pass& pass) const;
  enum class Outcome { kOvertaken, kFirst, kEqual, kDiffers };
  Outcome EndPass(const Pass& pass, std::uint64_t sum);

  // The newest points, at most that many, and the newest durable revision.
  History Newest(std::size_t max_points) const;
  std::int64_t durable_revision() const;
  std::size_t points() const;
  // Another one after each Begin.
  std::uint64_t epoch() const;

 private:
  bool IsCurrentLocked(const Pass& pass) const;
  void Keep(Point point);

  mutable std::mutex mutex_;
  std::uint64_t epoch_ = 0;
  std::int64_t revision_ = 0;
  std::uint64_t added_ = 0;
  std::int64_t compact_revision_ = -1;
  bool is_compacting_ = false;
  bool has_base_ = false;  // of compact_revision_: the last of bases_
  std::vector<Base> bases_;
  std::deque<Point> points_;
};

}  // namespace kvorum::mvcc
