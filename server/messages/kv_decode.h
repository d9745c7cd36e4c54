// Reads the KV service's requests from the wire straight into the store's words. Views point into
// the given bytes.
//
// Accepts what a proto3 parser accepts, and sees the same in it, as the log's other readers must:
// a known field of another wire type is skipped, for one. What it refuses gets the text that
// clients see for a request that cannot be parsed. Used by services before a proposal and by apply
// after it.
#pragma once

#include <string_view>

#include "base/error.h"
#include "mvcc/requests.h"

namespace kvorum::server {

Result<mvcc::RangeRequest> DecodeRange(std::string_view bytes);
Result<mvcc::PutRequest> DecodePut(std::string_view bytes);
Result<mvcc::DeleteRangeRequest> DecodeDeleteRange(std::string_view bytes);
// Transactions nested deeper than 1,000 are refused as malformed: max-txn-ops stands far below
// that.
Result<mvcc::TxnRequest> DecodeTxn(std::string_view bytes);

struct CompactionRequest {
  std::int64_t revision = 0;
  bool physical = false;
};
Result<CompactionRequest> DecodeCompaction(std::string_view bytes);

// The answer to a request that is no message of its type, and to one with a string that is no
// UTF-8.
std::unexpected<Error> MalformedRequest();
std::unexpected<Error> InvalidUtf8Request();

}  // namespace kvorum::server
