// Encodes requests as clients do, for requests that this process makes itself or writes anew.
// kv_decode.h decodes them.
#pragma once

#include "base/shared_bytes.h"
#include "mvcc/records/requests.h"

namespace kvorum::server {

struct CompactionRequest;

SharedBytes EncodeTxn(const mvcc::TxnRequest& request);
SharedBytes EncodePut(const mvcc::PutRequest& request);
SharedBytes EncodeDeleteRange(const mvcc::DeleteRangeRequest& request);
SharedBytes EncodeCompaction(const CompactionRequest& request);

}  // namespace kvorum::server
