// The field numbers of a txn around its operations: kv_decode.cc decodes it, kv_request_encode.cc
// encodes our own.
#pragma once

#include <cstdint>

#include "mvcc/requests.h"

namespace kvorum::server::txn_fields {

enum TxnRequest : std::uint8_t { kCompare = 1, kSuccess = 2, kFailure = 3 };

// An operation's number is its position in mvcc::RequestOp.
enum RequestOp : std::uint8_t { kRange = 1, kPut = 2, kDeleteRange = 3, kTxn = 4 };

enum Compare : std::uint8_t { kResult = 1, kTarget = 2, kKey = 3, kRangeEnd = 64 };
// The field of target_union that belongs to a target; none of them for an unknown target.
constexpr std::uint32_t UnionOf(mvcc::CompareTarget target) {
  return 4 + static_cast<std::uint32_t>(target);
}

}  // namespace kvorum::server::txn_fields
