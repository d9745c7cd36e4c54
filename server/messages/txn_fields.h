// The field numbers of a txn around its operations: kv_decode.cc reads it, kv_request_encode.cc
// writes those of our own.
#pragma once

#include <cstdint>

#include "mvcc/requests.h"

namespace kvorum::server::txn_fields {

enum TxnRequest : std::uint8_t { kCompare = 1, kSuccess = 2, kFailure = 3 };

// The numbers of the operations are their places in mvcc::RequestOp.
enum RequestOp : std::uint8_t { kRange = 1, kPut = 2, kDeleteRange = 3, kTxn = 4 };

enum Compare : std::uint8_t { kResult = 1, kTarget = 2, kKey = 3, kRangeEnd = 64 };
// The field of target_union that goes with a target; none of them for a target that is not known.
constexpr std::uint32_t UnionOf(mvcc::CompareTarget target) {
  return 4 + static_cast<std::uint32_t>(target);
}

}  // namespace kvorum::server::txn_fields
