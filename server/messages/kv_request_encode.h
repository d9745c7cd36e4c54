// Writing requests as clients write them, for requests that this process makes itself. Reading them
// is kv_decode.h's.
#pragma once

#include "base/shared_bytes.h"
#include "mvcc/requests.h"

namespace kvorum::server {

SharedBytes EncodeTxn(const mvcc::TxnRequest& request);
SharedBytes EncodeDeleteRange(const mvcc::DeleteRangeRequest& request);

}  // namespace kvorum::server
