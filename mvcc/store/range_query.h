// Runs ranges and compares over one state of the store, a reader's or the one that the apply
// executor is working on. The home of all rules of ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "mvcc/index/index_view.h"
#include "mvcc/records/range.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

// Finds the records of a state. Used by one thread at a time.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // The encoded KeyValue put at a revision that the index of the same state names; stays valid
  // while the source lives. kDataLoss if it is missing or damaged.
  virtual Result<std::string_view> Find(Revision revision) = 0;
  // The same for the first of at most kMostAtOnce: returns for how many, at least one. A caller
  // that wants only some of them has then read little more than these.
  static constexpr std::size_t kMostAtOnce = 16;
  virtual Result<std::size_t> FindFirst(std::span<const Revision> revisions,
                                        std::span<std::string_view> found);
};

// The error for a record that the index names and the backend lacks.
Error MissingRecord(Revision revision);

// A state, borrowed for one call.
struct RangeScope {
  IndexView index;
  RecordSource* records;
  std::int64_t current_revision;  // the default revision; newer ones are refused
  std::int64_t compact_revision;  // older ones are refused
};

Result<RangeSummary> RunRange(const RangeScope& scope, const RangeRequest& request, RowSink& sink);

// The rows of a range in key order, without their count: to continue a range that was begun.
Result<void> RunRows(const RangeScope& scope, const RangeRequest& request, RowSink& sink);

// An estimate of the rows that RunRange examines: its cost grows with it. At an old revision these
// are dead keys too, and no limit makes them fewer; they are counted until there are `enough`.
// O(log n), at an old revision O(log n + enough).
std::int64_t EstimateRows(const RangeScope& scope, const RangeRequest& request,
                          std::int64_t enough);

// True if the compare holds for every key of its range at the scope's current revision. If there is
// none: if it holds for a pair of zero fields, except that a value compare is then false.
Result<bool> Holds(const RangeScope& scope, const Compare& compare);

}  // namespace kvorum::mvcc
