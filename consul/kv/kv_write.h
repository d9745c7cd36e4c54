// The operations' decisions as one transaction of the store: it compares everything that the
// decision leans on, so that it is done on the keys as they were read or not at all.
//
// Pure.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "consul/kv/kv_operation.h"
#include "sync/store/store.h"

namespace kvorum::consul {

// The store's own bound on compares, and on operations (--max-txn-ops).
inline constexpr std::size_t kMaxStoreOperations = 128;

// kResourceExhausted, with the API's text: beyond kMaxStoreOperations.
Result<sync::TxnRequest> WriteOf(const KvOutcome& outcome, const KvBase& base, const KvKeys& keys);

}  // namespace kvorum::consul
