// Decodes the KV service's requests directly into the store's types. Views point into the given
// bytes.
//
// Accepts the same bytes as a proto3 parser, with the same result, as the log's other readers must:
// for example, a known field of another wire type is skipped. Refused bytes get the text that
// clients see for a request that cannot be parsed. Used by services before a proposal and by apply
// after it.
#pragma once

#include <string_view>

#include "base/error.h"
#include "mvcc/records/requests.h"

namespace kvorum::server {

Result<mvcc::RangeRequest> DecodeRange(std::string_view bytes);
Result<mvcc::PutRequest> DecodePut(std::string_view bytes);
Result<mvcc::DeleteRangeRequest> DecodeDeleteRange(std::string_view bytes);
// Transactions nested deeper than 1,000 are refused as malformed: max-txn-ops is far below that.
Result<mvcc::TxnRequest> DecodeTxn(std::string_view bytes);

struct CompactionRequest {
  std::int64_t revision = 0;
  bool physical = false;
};
Result<CompactionRequest> DecodeCompaction(std::string_view bytes);

// A request or an answer without fields, of any service; unknown fields are skipped.
struct EmptyMessage {};
Result<EmptyMessage> DecodeEmptyMessage(std::string_view bytes);

// The errors for a request that is not a message of its type, and for one with a string that is not
// UTF-8.
std::unexpected<Error> MalformedRequest();
std::unexpected<Error> InvalidUtf8Request();

}  // namespace kvorum::server
