// A txn's path through its branches: which of them run, decided before anything is written, and the
// check that nothing on this path can fail. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/txn.h"
#include "mvcc/store/range_query.h"

namespace kvorum::mvcc {

class TxnPlan {
 public:
  // Evaluates the compares of the txn and of the nested txns in the chosen branches, all in the
  // state of `scope`, then checks the operations on that path, in order: revisions of ranges (not
  // above the state's; QUIRK: a negative one is refused as compacted when it is below the compacted
  // revision, -1 on a store that was never compacted), existence of leases, existence of the key
  // for ignore_value and ignore_lease. The key counts as missing when an earlier delete of this txn
  // removes it (CheckTxn does not see those that are open to the end).
  //
  // `leases` may be null for a read-only txn.
  static Result<TxnPlan> Make(const RangeScope& scope, const TxnRequest& request,
                              const LeaseChecker* leases);

  // True if the compares of the n-th txn held: the outermost first, then nested ones in the order
  // of the branches that run.
  bool succeeded(std::size_t n) const { return path_[n]; }

 private:
  std::vector<bool> path_;
};

// The operations of a txn. In a writing implementation failures are a broken invariant.
class TxnOperations {
 public:
  virtual ~TxnOperations() = default;
  virtual Result<RangeResult> Range(const RangeRequest& request) = 0;
  virtual Result<PutResult> Put(const PutRequest& request) = 0;
  virtual Result<DeleteRangeResult> DeleteRange(const DeleteRangeRequest& request) = 0;
  // The store's revision including the operations so far.
  virtual std::int64_t revision() const = 0;
};

// Runs the operations of the branches that the plan chose.
Result<TxnResult> RunTxn(TxnOperations& operations, const TxnRequest& request, const TxnPlan& plan);

}  // namespace kvorum::mvcc
