// Appends records to the log's segment files and makes them durable. Used by one executor only (the
// wal thread); SpaceLow may be called from anywhere. Made by wal::Create and wal::Open (wal/wal.h).
//
// Everything handed to Append before a Sync that returned ok survives a power cut; of the rest, a
// prefix of the records may. wal/format.h has the format of a record.
//
// Errors are final: after one, every later call gives the same error again, and the process should
// end (a second try at a failed fsync lies, since the kernel drops the data it could not write).
// The exception is kResourceExhausted, which is never final: no segment can be made on the full
// disk, nothing of the call was written, and it may be repeated.
//
// Disk full: the current segment's space is reserved; at half of it the next one is prepared, with
// a small file "reserve" as a last resort. When either cannot be made, SpaceLow turns true while
// there is still room for half a segment and the reserve: then refuse the clients' writes, and go
// on appending what the cluster itself needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/metric.h"
#include "base/task.h"
#include "proto/raft_types.h"
#include "wal/batch.h"
#include "wal/marker.h"
#include "wal/segment_name.h"
#include "wal/spare_segments.h"

namespace kvorum::wal {

struct Options {
  std::uint64_t segment_size_bytes = 64'000'000;
  // The size of the last resort when the disk is full; 0 for none.
  std::uint64_t reserve_size_bytes = 8'000'000;
  // Write zeros over a segment before it is used, instead of only reserving its space: the disk is
  // written twice, and the fdatasync of a batch of some KiB costs a third less, as it has no
  // metadata to commit (docs/decisions/0002-segments-of-zeros.md).
  bool zero_segments = true;
  // Called before a torn tail is cut off: the entry up to which the log is known to have been
  // durable, because the state contains it. If that is past the new end, the tail is damage. Empty:
  // unknown.
  std::function<Result<raft::Index>()> durable_index;
  // Prepares the next segment. It must exist during the Writer's calls and be stopped before the
  // file system is destroyed. Without it the Append that passes the middle of a segment does the
  // work.
  Executor* background = nullptr;
};

class Writer {
 public:
  // The end of the records, as the reader found it.
  struct Position {
    std::vector<SegmentName> segments;  // oldest first; the last one is written to
    std::uint64_t offset = 0;           // the end of the last one's records
    Checksums checksums;
    bool sealed = false;  // the last record is the seal of a Close
    raft::Index last_index = 0;
    raft::HardState hard_state;
  };
  // Everything up to the position must be durable already.
  Writer(FileSystem& fs, std::string dir, Metadata metadata, const Options& options,
         std::unique_ptr<FileLock> lock, std::unique_ptr<File> tail, std::uint64_t capacity_bytes,
         Position position);
  // Does not sync. See Close.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Entries in the order of their indexes, without gaps, the first at most one past the log's last
  // (an existing index is replaced, and all later entries are gone); then the hard state, if not
  // null. One write; data of 1 KiB and more is taken by reference, nothing is copied twice.
  Result<void> Append(std::span<const raft::Entry> entries, const raft::HardState* state);
  // fdatasync, if anything was written since the last one.
  Result<void> Sync();
  // Appends the marker of an entry that the log holds, and syncs. Its state must already be
  // durable.
  Result<void> SaveSnapshot(const SnapshotMarker& marker);
  // The same for a snapshot that a peer sent, past the log's end or in contradiction to it: the
  // log's entries are void from here on, and the next entry is the one after the marker. `state`,
  // whose commit index is at least the marker's, is written with it.
  Result<void> SaveReceivedSnapshot(const SnapshotMarker& marker, const raft::HardState& state);
  // Begins a new segment now; Append does so by itself when the current one is full.
  Result<void> Cut();

  // Entries up to the index will not be needed again: a durable state and a durable marker at or
  // past it exist.
  void ReleaseTo(raft::Index index);
  // Removes the oldest segments that hold only released entries, as long as `keep` segments stay.
  // Returns the number removed. An error here is not final.
  Result<std::size_t> Purge(std::size_t keep);

  // True if the disk cannot take another segment or the reserve. Thread-safe.
  bool SpaceLow() const { return spares_->SpaceLow(); }
  // Retries to make the missing segment or reserve; for a timer while SpaceLow is true.
  void RetrySpace();

  // Syncs and seals the log, so that at the next Open all of it is known to have been durable and a
  // damaged record cannot pass for a torn one. The Writer is unusable afterwards.
  Result<void> Close();

  // From now on `took` gets the time of each sync of these calls, those of a segment's beginning
  // included. The clock outlives the Writer.
  void TimeSyncs(const Clock& clock, std::function<void(Duration)> took);

  // Since it was opened; any thread.
  std::uint64_t written_bytes() const { return written_bytes_.value(); }

  raft::Index last_index() const { return position_.last_index; }
  // The last hard state appended.
  const raft::HardState& hard_state() const { return position_.hard_state; }
  const Metadata& metadata() const { return metadata_; }
  const std::string& dir() const { return dir_; }

 private:
  Result<void> WriteMarker(const SnapshotMarker& marker, const raft::HardState* state);
  Result<void> Poison(Result<void> result);
  Result<void> NameSegment(SpareSegments::Spare& spare, const std::string& path);
  Result<void> MakeRoom(std::uint64_t size_bytes);
  Result<void> CutFor(std::uint64_t size_bytes);
  Result<void> WriteBatch();
  Result<void> Timed(const std::function<Result<void>()>& sync) const;

  FileSystem& fs_;
  const std::string dir_;
  const Metadata metadata_;
  const Options options_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<File> tail_;
  std::uint64_t capacity_bytes_;  // of the tail; writes stay within it
  Position position_;
  std::uint64_t synced_offset_;  // of the tail
  Counter written_bytes_;
  raft::Index released_index_ = 0;
  Batch batch_;  // kept to reuse its memory
  std::shared_ptr<SpareSegments> spares_;
  std::optional<Error> poison_;
  const Clock* sync_clock_ = nullptr;  // null: syncs are not timed
  std::function<void(Duration)> on_sync_;
};

}  // namespace kvorum::wal
