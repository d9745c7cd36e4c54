// The results of the writing operations. They own all their bytes, and are encoded later and on
// other threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "base/shared_bytes.h"
#include "mvcc/records/range.h"

namespace kvorum::mvcc {

struct PutResult {
  std::int64_t revision = 0;  // the header's
  SharedBytes prev_kv;        // mvccpb.KeyValue; empty if not asked for or the key is new
};

struct DeleteRangeResult {
  std::int64_t revision = 0;  // the header's
  std::int64_t deleted = 0;
  RowBuffer prev_kvs;  // empty unless requested
};

struct TxnResult;
// monostate is the result of an operation without content.
using OpResult = std::variant<std::monostate, RangeResult, PutResult, DeleteRangeResult,
                              std::unique_ptr<TxnResult>>;

struct TxnResult {
  bool succeeded = false;
  std::int64_t revision = 0;        // the header's; 0 in a nested txn, whose header is empty
  std::vector<OpResult> responses;  // one for each operation of the branch that ran
};

// Tells which leases exist. Asked on the apply executor only, and never by read-only txns.
class LeaseChecker {
 public:
  virtual ~LeaseChecker() = default;
  virtual bool LeaseExists(std::int64_t lease) const = 0;
};

// Keeps, beside the store, the lease of each key. Used by the apply executor only.
class LeaseAttachments {
 public:
  virtual ~LeaseAttachments() = default;
  // Reports the lease of a key that was put, 0 if it has none or was deleted; once for each change.
  // Apply executor.
  virtual void Attach(std::string_view key, std::int64_t lease) = 0;
};

}  // namespace kvorum::mvcc
