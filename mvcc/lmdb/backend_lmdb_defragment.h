// Copies a database into a new file while it is written to. The copy walks the tree in key order in
// small pieces, each from a fresh snapshot, so no old page is pinned for long; each commit reports
// its changes to a ChangeLog, from which they are repeated in the copy.
//
// Copy runs on one thread, CatchUp on that of the commits, and never both at once.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/backend_lmdb_environment.h"
#include "mvcc/lmdb/backend_lmdb_write.h"
#include "mvcc/records/read_ahead.h"

namespace kvorum::mvcc {

// Committed changes that the copy may have passed. Appended revisions are always ahead of it.
// Bounded: the copy empties it once per piece. Thread-safe.
class ChangeLog {
 public:
  // Called after the commit of the batch is visible.
  void Record(const WriteBatch& batch);
  struct Changes {
    std::vector<Revision> deletions;
    std::set<std::string> tree_keys;  // put or removed in the small buckets
  };
  Changes Take();

 private:
  std::mutex mutex_;
  Changes changes_;
};

class LmdbDefragmentCopy final : public DefragmentCopy {
 public:
  using NewReader = std::function<Result<LmdbSnapshot*>()>;
  // The target is a new environment that is synced by hand. new_reader makes snapshots of the
  // source.
  LmdbDefragmentCopy(std::unique_ptr<LmdbEnvironment> target, std::shared_ptr<ChangeLog> changes,
                     NewReader new_reader)
      : target_(std::move(target)),
        changes_(std::move(changes)),
        new_reader_(std::move(new_reader)) {}
  ~LmdbDefragmentCopy() override;

  Result<void> Copy() override;
  // Copies the rest and syncs; called while nothing is committed. The copy then equals the source.
  Result<void> CatchUp();
  LmdbEnvironment& target() { return *target_; }
  // Returns the finished copy, which this object then does not remove.
  std::unique_ptr<LmdbEnvironment> TakeTarget() { return std::move(target_); }

 private:
  struct Piece {
    std::uint64_t records = 0;
    bool at_end = false;
  };
  Result<Piece> CopyPiece();
  Result<Piece> WritePiece(const ChangeLog::Changes& changes, LmdbSnapshot& source);
  // Repeats changes that were committed to keys already copied. Returns their number.
  Result<std::uint64_t> Redo(const ChangeLog::Changes& changes, LmdbWrite& write,
                             LmdbSnapshot& source);
  Result<Piece> CopyForward(LmdbWrite& write, LmdbSnapshot& source);
  // Waits until what was copied is on the disk, though not safe from a loss of power.
  Result<void> WriteBack();
  Result<std::uint64_t> SourceRecords();
  Error SourceError(int code) const;
  Error TargetError(int code) const;

  std::unique_ptr<LmdbEnvironment> target_;
  std::shared_ptr<ChangeLog> changes_;
  NewReader new_reader_;
  RecordReadAhead walk_;  // through the source
  std::string position_;  // the last tree key copied; empty before the first
};

}  // namespace kvorum::mvcc
