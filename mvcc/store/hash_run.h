// HashKV over the whole history, a piece at a time. Each piece has its own view: one that stayed
// would keep freed pages from being reused, and the file would grow by all that is written
// meanwhile.
//
// A later view reads the same history: between two compactions records are only appended. A
// compaction that is asked for while it runs deletes records that count (Overtaken says what then),
// but none above the compacted revision, so that it changes nothing once the run is past it.
//
// Used by one thread; the store outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.h"
#include "mvcc/records/revision.h"
#include "mvcc/store/hash.h"
#include "mvcc/store/store_view.h"

namespace kvorum::mvcc {

class Store;
struct StoreState;

class HashRun {
 public:
  enum class Overtaken {
    // The run ends with kReaderMustEnd, if the next one could answer: it would hash what the
    // compaction leaves.
    kEnds,
    // The view that it has stays, with its pages, until the run is past the compaction: for the run
    // after one that ended, since compactions may be asked for more often than a run takes.
    kKeepsView,
  };
  struct Options {
    Overtaken overtaken = Overtaken::kEnds;
    std::size_t piece_records = 2'000;
    std::size_t piece_bytes = std::size_t{1} << 20;
  };

  // For a revision (0: the newest). kErrCompacted, kErrFutureRev.
  static Result<HashRun> Begin(Store& store, std::int64_t revision, const Options& options);

  // Hashes the next piece. Returns true if it was the last one. kReaderMustEnd: another run has to
  // begin.
  Result<bool> Step();
  // Once Step has returned true.
  KvHash Finish() const { return hasher_.Finish(); }

 private:
  HashRun(Store& store, std::int64_t revision, const Options& options, ReadView view,
          KvHasher hasher);
  Result<void> TakeView();
  bool IsOvertaken(std::int64_t compact_revision) const;

  Store& store_;
  const std::int64_t revision_;  // as asked for
  const Options options_;
  const std::shared_ptr<const StoreState> state_;  // the content that the run began with
  const std::int64_t compact_revision_;
  const Revision end_;
  std::optional<ReadView> view_;
  KvHasher hasher_;
  Revision next_;
};

}  // namespace kvorum::mvcc
