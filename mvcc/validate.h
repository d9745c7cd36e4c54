// What a request must satisfy before it is proposed or run: checks that look at the request alone.
// The services call them first; errors are those of mvcc/errors.h, and of several violations the
// first in the order of the functions below (and within a txn of its lists) is reported.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "mvcc/requests.h"

namespace kvorum::mvcc {

// Empty key, then an unknown sort order or sort target.
Result<void> CheckRange(const RangeRequest& request);
// The same, then what RangeStream does not offer: other orders than by key, revision filters.
Result<void> CheckRangeStream(const RangeRequest& request);
// Empty key, then a value beside ignore_value, then a lease beside ignore_lease.
Result<void> CheckPut(const PutRequest& request);
// Empty key.
Result<void> CheckDeleteRange(const DeleteRangeRequest& request);

// Too many operations (the longest of the three lists counts; a nested txn may have what its parent
// left over), compares without a key, then each operation in order, the success list first; last,
// keys that one branch would change twice.
//
// Two puts of a key and a put inside a deleted interval are refused, in either order and across
// nested txns; the branches of one txn exclude each other and may share puts. Known gaps, as in
// etcd: a nested delete after an earlier sibling's put of its key, and a delete whose range_end is
// "\0" (to the end of the keyspace), are not seen; the store executes such txns one operation after
// the other.
Result<void> CheckTxn(const TxnRequest& request, std::size_t max_ops);

// True if every operation of both branches is a range: such a txn is not proposed. (A nested txn is
// no range.)
bool IsReadOnly(const TxnRequest& request);
// True if every operation of both branches is a serializable range; also without any operation.
bool IsSerializable(const TxnRequest& request);

// Bytes that count against the space quota. 0 for a txn that puts nothing in any branch: those stay
// allowed while the NOSPACE alarm stands.
std::uint64_t QuotaCost(const PutRequest& request);
std::uint64_t QuotaCost(const TxnRequest& request);  // of the larger branch, nested txns included

}  // namespace kvorum::mvcc
