// A txn's way through its branches: which of them run, decided before anything is written, and the
// check that nothing on this way can fail.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "mvcc/range_query.h"
#include "mvcc/requests.h"
#include "mvcc/txn.h"

namespace kvorum::mvcc {

class TxnPlan {
 public:
  // Evaluates the compares of the txn and of the nested txns in the branches chosen, all in the
  // state of `scope`, then checks the operations on that way, in order: revisions of ranges (not
  // above the state's; QUIRK: a negative one is refused as compacted when it is below the compacted
  // revision, -1 on a store that never was), existence of leases, existence of the key for
  // ignore_value and ignore_lease. The key counts as missing when an earlier delete of this txn
  // removes it (CheckTxn does not see those that are open to the end).
  //
  // `leases` may be null for a read-only txn.
  static Result<TxnPlan> Make(const RangeScope& scope, const TxnRequest& request,
                              const LeaseChecker* leases);

  // Whether the compares of the n-th txn held: the outermost first, then nested ones as they come
  // in the branches that run.
  bool succeeded(std::size_t n) const { return path_[n]; }

 private:
  std::vector<bool> path_;
};

// What a txn is made of. Failures are a broken invariant in a writing implementation.
class TxnOperations {
 public:
  virtual ~TxnOperations() = default;
  virtual Result<RangeResult> Range(const RangeRequest& request) = 0;
  virtual Result<PutResult> Put(const PutRequest& request) = 0;
  virtual Result<DeleteRangeResult> DeleteRange(const DeleteRangeRequest& request) = 0;
  // Of the store with what was done so far.
  virtual std::int64_t revision() const = 0;
};

// Runs the operations of the branches that the plan chose.
Result<TxnResult> RunTxn(TxnOperations& operations, const TxnRequest& request, const TxnPlan& plan);

}  // namespace kvorum::mvcc
