// One state of the store, to be read without any lock: an index snapshot, the write buffer's view
// right after it, and a backend reader taken last, so that no record is missed between them.
//
// Threads: used by one thread at a time, may be moved to another. Writes, commits and compactions
// go on beside it and never change its answers: a view pinned before a compaction keeps the
// revisions that it could read then. Lifetime: short, and one per thread at a time: while it lives
// the backend cannot reuse freed pages. Never held while waiting for a client. Errors: those of
// base/api_errors.h; kDataLoss names a record that is damaged on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "base/error.h"
#include "mvcc/index/key_index.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/write_buffer.h"
#include "mvcc/records/range.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/txn.h"
#include "mvcc/store/hash.h"
#include "mvcc/store/range_query.h"

namespace kvorum::mvcc {

class StoreCounters;
struct StoreState;

class ReadView final : private RecordSource {
 public:
  ReadView(ReadView&&) noexcept = default;
  ReadView& operator=(ReadView&&) = delete;
  ~ReadView() override = default;

  // The header revision of answers from this view.
  std::int64_t revision() const { return index_.mark().current_revision; }
  // Reads below are refused. -1 until the first compaction.
  std::int64_t compact_revision() const { return index_.mark().compact_revision; }
  // The number set by Store::SetSideVersion before this state was published.
  std::uint64_t side_version() const { return index_.mark().side_version; }

  // These keys' newest values are read next: their look-ups wait for memory together, here, instead
  // of one after the other. Like a read it may wait for the disk. At most kMostAhead.
  void LookAhead(std::span<const std::string_view> keys);

  // Gives the rows to the sink in the order of the answer. A plain range (key order, no filters)
  // streams: O(log n) for the count, then one look-up per row, some rows together, no allocation; a
  // descending page by key as well. Other orders collect the range's rows first (72 bytes each,
  // which are reported to the sink; values stay in place). count_only and keys_only never touch the
  // records, unless to sort by value. CheckRange refuses unknown enum values, not this.
  Result<RangeSummary> Range(const RangeRequest& request, RowSink& sink);
  Result<RangeResult> Range(const RangeRequest& request);
  // The rows alone, in key order, to continue a range that was begun: without the count, which is
  // not cheap at an old revision.
  Result<void> Rows(const RangeRequest& request, RowSink& sink);

  // An estimate of the rows that Range examines (range_query.h): its cost grows with it. No I/O.
  // For a txn the sum over its compares and operations.
  std::int64_t EstimateRows(const RangeRequest& request, std::int64_t enough);
  std::int64_t EstimateRows(const TxnRequest& request, std::int64_t enough);

  // For a txn for which IsReadOnly holds. The state before and after is this view.
  Result<TxnResult> Txn(const TxnRequest& request);

  // Returns whether the compares of such a txn hold, if all of the branch's operations can be run;
  // otherwise their first error.
  Result<bool> Succeeds(const TxnRequest& request);

  // The value of a key at a revision as an encoded KeyValue, valid while the view lives; empty if
  // it had none, or if that is compacted. A search in the index and a look-up.
  Result<std::string_view> Get(std::string_view key, std::int64_t revision);
  // Visits all records, tombstones too, from a revision up to the view's own, in order, until the
  // visitor returns false. From the compacted revision on none is missing; below it some are. A
  // record is good during its visit. About 0.05 µs a record.
  using VisitRecord = std::function<bool(const RevisionRecord& record)>;
  Result<void> ScanRecords(Revision from, const VisitRecord& visit);

  // HashKV for a revision (0: the newest) of this view. Reads the whole history, and so pins pages
  // for long: Store::HashKv does it in pieces (HashRun). kReaderMustEnd.
  Result<KvHash> HashKv(std::int64_t revision);
  // CRC-32C over all buckets of the backend, as it was durable when the view was made.
  // kReaderMustEnd.
  Result<std::uint32_t> HashBackend();

 private:
  friend class HashRun;
  friend class Store;
  ReadView(std::shared_ptr<const StoreState> state, IndexSnapshot index, WriteBuffer::View buffer,
           Reader reader, StoreCounters& counters)
      : state_(std::move(state)),
        index_(std::move(index)),
        buffer_(std::move(buffer)),
        reader_(std::move(reader)),
        counters_(&counters) {}

  Result<std::string_view> Find(Revision revision) override;
  Result<std::size_t> FindFirst(std::span<const Revision> revisions,
                                std::span<std::string_view> found) override;
  RangeScope Scope();
  // The checks of a hash's revision (0: the newest), and the hasher to be fed. kErrCompacted,
  // kErrFutureRev.
  Result<KvHasher> BeginHash(std::int64_t revision) const;
  IndexView index() const { return index_.view(); }
  bool MustEnd() const { return reader_->MustEnd(); }
  Result<void> ScanRecords(Revision from, Revision end, const VisitRecord& visit);

  std::shared_ptr<const StoreState> state_;  // outlives the others
  IndexSnapshot index_;
  WriteBuffer::View buffer_;
  Reader reader_;
  StoreCounters* counters_;
};

}  // namespace kvorum::mvcc
