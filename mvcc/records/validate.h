// Checks of a request before it is proposed or run, by the request alone. The services call them
// first; errors are those of base/api_errors.h, and of several violations the first in the order of
// the functions below (and within a txn of its lists) is reported.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "mvcc/records/requests.h"

namespace kvorum::mvcc {

// Refuses an empty key, then an unknown sort order or sort target.
Result<void> CheckRange(const RangeRequest& request);
// The same, then requests that RangeStream does not support: orders other than by key, revision
// filters.
Result<void> CheckRangeStream(const RangeRequest& request);
// Refuses an empty key, then a value together with ignore_value, then a lease together with
// ignore_lease.
Result<void> CheckPut(const PutRequest& request);
// Refuses an empty key.
Result<void> CheckDeleteRange(const DeleteRangeRequest& request);

// Refuses too many operations (the longest of the three lists counts; a nested txn may have the
// rest of its parent's limit), compares without a key, then each operation in order, the success
// list first; last, keys that one branch would change twice.
//
// Two puts of a key and a put inside a deleted interval are refused, in either order and across
// nested txns; the branches of one txn exclude each other and may share puts. Known gaps, as in
// etcd: a nested delete after an earlier sibling's put of its key, and a delete whose range_end is
// "\0" (to the end of the keyspace), are not seen; the store executes such txns one operation after
// the other.
Result<void> CheckTxn(const TxnRequest& request, std::size_t max_ops);

// True if every operation of both branches is a range: such a txn is not proposed. (A nested txn is
// not a range.)
bool IsReadOnly(const TxnRequest& request);
// True if every operation of both branches is a serializable range; also without any operation.
bool IsSerializable(const TxnRequest& request);

// Bytes that count against the space quota. 0 for a txn without puts in any branch: those stay
// allowed while the NOSPACE alarm is raised.
std::uint64_t QuotaCost(const PutRequest& request);
std::uint64_t QuotaCost(const TxnRequest& request);  // of the larger branch, nested txns included

}  // namespace kvorum::mvcc
