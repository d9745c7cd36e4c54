// What the writing operations answer. All bytes are owned by the results, which are encoded later
// and on other threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "base/shared_bytes.h"
#include "mvcc/range.h"

namespace kvorum::mvcc {

struct PutResult {
  std::int64_t revision = 0;  // the header's
  SharedBytes prev_kv;        // mvccpb.KeyValue; empty if not asked for or the key is new
};

struct DeleteRangeResult {
  std::int64_t revision = 0;  // the header's
  std::int64_t deleted = 0;
  RowBuffer prev_kvs;  // empty unless asked for
};

struct TxnResult;
// monostate answers an operation that carried nothing.
using OpResult = std::variant<std::monostate, RangeResult, PutResult, DeleteRangeResult,
                              std::unique_ptr<TxnResult>>;

struct TxnResult {
  bool succeeded = false;
  std::int64_t revision = 0;        // the header's; 0 in a nested txn, whose header is empty
  std::vector<OpResult> responses;  // one for each operation of the branch that ran
};

// Which leases there are. Asked on the apply executor only, and by read-only txns not at all.
class LeaseChecker {
 public:
  virtual ~LeaseChecker() = default;
  virtual bool LeaseExists(std::int64_t lease) const = 0;
};

// Who keeps, beside the store, which key is attached to which lease.
class LeaseAttachments {
 public:
  virtual ~LeaseAttachments() = default;
  // The lease of a key that was put, 0 of one that has none or was deleted; once for each change.
  // Apply executor.
  virtual void Attach(std::string_view key, std::int64_t lease) = 0;
};

}  // namespace kvorum::mvcc
